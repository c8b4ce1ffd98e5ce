"""What a canary is told at each of its places, and in which words it is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orchestrator.errors import DcctlError, UsageError
from orchestrator.evidence.clients.canary import canary_consumer, canary_producer
from orchestrator.evidence.clients.config import in_its_life, properties_text, read_properties
from orchestrator.topology.loading import load_topology
from tests.drill.rehearsal import ROOT

TOPOLOGY = load_topology(ROOT / "tests" / "faults" / "canary.yaml")
GIVEN = {"ledgers": "/third", "properties": {"bootstrap.servers": "x:1"}, "rate_records_per_s": 10.0}


def test_it_reads_at_each_side_what_a_move_leaves_it_there() -> None:
    """Only its first life may begin anywhere: later ones from nothing but given positions."""
    at_west = canary_consumer(TOPOLOGY, "canary-reader", "west", **GIVEN)
    at_east = canary_consumer(TOPOLOGY, "canary-reader", "east", **GIVEN)
    assert (at_west.life, at_west.topics, at_west.offset_reset) == (1, ["canary"], "earliest")
    assert (at_east.life, at_east.topics, at_east.offset_reset) == (2, ["west.canary", "canary"], "error")
    back = in_its_life(at_west, [1, 2])
    assert (back.life, back.topics, back.offset_reset) == (3, ["east.canary", "canary"], "error")


def test_one_that_lags_does_so_at_its_own_cluster_alone() -> None:
    """At the standby it has to come to the end: a report waits for it."""
    at_west = canary_consumer(TOPOLOGY, "canary-reader", "west", **GIVEN, behind_records=50)
    at_east = canary_consumer(TOPOLOGY, "canary-reader", "east", **GIVEN, behind_records=50)
    assert (at_west.hold_lag_records, at_east.hold_lag_records) == (50, 0)


def test_it_writes_the_same_topic_at_each_side_at_the_rate_that_was_asked_for() -> None:
    """And its ledger goes back for hours at that rate."""
    slow = canary_producer(TOPOLOGY, "canary-writer", "west", **GIVEN)
    fast = canary_producer(TOPOLOGY, "canary-writer", "east", **{**GIVEN, "rate_records_per_s": 100.0})
    assert (slow.life, slow.topics, slow.acks) == (1, ["canary"], "all")
    assert (fast.life, fast.topics, fast.rate_records_per_s) == (2, ["canary"], 100.0)
    assert slow.keep_bytes is not None
    assert fast.keep_bytes == 10 * slow.keep_bytes


@pytest.mark.parametrize(
    ("name", "cluster", "words"),
    [
        ("checkout", "west", "is no canary of this topology.*canary-writer"),
        ("nobody", "west", "is no canary"),
        ("canary-writer", "north", "never works there.*west or east"),
    ],
)
def test_what_is_no_canary_there_is_refused_by_name(name: str, cluster: str, words: str) -> None:
    """An application must not be run as a canary by mistake."""
    with pytest.raises(UsageError) as refused:
        canary_producer(TOPOLOGY, name, cluster, **GIVEN)
    assert re.search(words, f"{refused.value.problem} {refused.value.hint}")


def test_a_login_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    """`=` may be in a password."""
    path = tmp_path / "canary.properties"
    login = {"sasl.username": "canary", "sasl.password": "a=b#c"}
    path.write_text(properties_text(login))
    assert read_properties(path) == login
    path.write_text("# ours\n\nsasl.username = canary\nsecret-without-a-name\n")
    with pytest.raises(DcctlError, match=r"canary\.properties:4") as wrong:
        read_properties(path)
    assert "secret" not in str(wrong.value)
