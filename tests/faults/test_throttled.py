"""A mirror with max_bytes_per_s catches up no faster than that, and a move that has to wait for it says so."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from orchestrator.adapters.kafka import KafkaCluster, produce_records
from orchestrator.adapters.kafka.java_admin_jvm import end_shared_jvm
from orchestrator.replication.copying_time import QUOTA_WINDOW_S
from orchestrator.values import PRODUCER_BYTE_RATE, QuotaOwner
from tests.drill.rehearsal import processes_of
from tests.faults.estate import SMALL
from tests.layouts.estate import Estate

pytestmark = [pytest.mark.drills, pytest.mark.timeout(600)]

_LIMIT = 150_000
_RECORDS = 9_000
# What does not compress, so that as many bytes come to the target as there are records.
_VALUE_BYTES = 1_000
_ALLOWED_ABOVE = 1.2
_COPIED_WITHIN_S = 240.0
_MIRROR = QuotaOwner("mirror", "west-to-east-source")


@pytest.fixture
def estate(tmp_path: Path) -> Iterator[Estate]:
    """Two clusters of one broker, the mirror between them limited; no application works."""
    told = yaml.safe_load(SMALL.read_text(encoding="utf-8"))
    told["replication"][0]["max_bytes_per_s"] = _LIMIT
    file = tmp_path / "throttled.yaml"
    file.write_text(yaml.safe_dump(told), encoding="utf-8")
    found = Estate(tmp_path, file)
    try:
        yield found
    finally:
        found.dcctl("sim", "down", "--all", "--yes")
        end_shared_jvm()
    assert processes_of(found.state) == []


def test_a_backlog_is_copied_no_faster_than_the_limit(estate: Estate, tmp_path: Path) -> None:
    """By the bytes in the target's logs. Before that the switchover says that its drain cannot end in time."""
    file = str(estate.file)
    estate.dcctl("apply", file, "--yes")
    west, east = (_cluster(estate, name) for name in ("west", "east"))
    with west, east:
        assert east.quotas()[_MIRROR] == {PRODUCER_BYTE_RATE: _LIMIT}
        begun_s, before = time.monotonic(), _copied_bytes(east)
        _write_backlog(west)
        written = _RECORDS * _VALUE_BYTES
        said = estate.run("switchover", file, "--to", "east", "--timeout-s", "2", "--dry-run", "--json")[1]
        (gate,) = (row for row in yaml.safe_load(said)["plan"]["gates"] if row["id"] == "mirror-lag")
        assert (
            gate["outcome"],
            "with max_bytes_per_s 150,000 the mirror west → east copies" in gate["reason"],
        ) == (
            "refused",
            True,
        )
        rates = []
        while (copied := _copied_bytes(east) - before) < written:
            rates.append(copied / (time.monotonic() - begun_s))
            assert time.monotonic() - begun_s < _COPIED_WITHIN_S, (copied, rates[-5:])
            time.sleep(1.0)
        # A mirror that was idle may write at once what the quota's window allows.
        took_s = time.monotonic() - begun_s
        rate = copied / (took_s + QUOTA_WINDOW_S)
        assert rate <= _ALLOWED_ABOVE * _LIMIT, (copied, took_s, rates)
    estate.dcctl("drift", file)
    assert estate.dcctl("apply", file, "--yes")["outcome"] == "nothing-to-do"
    free = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    del free["replication"][0]["max_bytes_per_s"]
    without = tmp_path / "free.yaml"
    without.write_text(yaml.safe_dump(free), encoding="utf-8")
    estate.dcctl("apply", str(without), "--yes")
    with east:
        assert east.quotas() == {}
    estate.dcctl("drift", str(without))


def _cluster(estate: Estate, name: str) -> KafkaCluster:
    described = estate.topology["clusters"][name]
    return KafkaCluster(name, described["bootstrap"], described["client"])


def _write_backlog(west: KafkaCluster) -> None:
    records = ((str(n).encode(), os.urandom(_VALUE_BYTES)) for n in range(_RECORDS))
    produce_records(west.name, west.properties, "orders", records)


def _copied_bytes(east: KafkaCluster) -> int:
    """Of the copies of `orders`."""
    sizes = east.replica_sizes(east.brokers())
    return sum(size for tp, size in sizes.items() if tp.topic == "west.orders")
