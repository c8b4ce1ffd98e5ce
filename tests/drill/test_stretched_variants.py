"""Two sites in other ways than the examples have them, each lost under load. Minutes each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.simulation.cases import EXIT_STATUS, cases_of
from orchestrator.topology.loading import load_topology
from tests.drill.rehearsal import ROOT, rehearse

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]

KRAFT, ZOOKEEPER = (ROOT / "topologies" / f"stretched-2dc{mode}.yaml" for mode in ("-kraft", ""))


def _read(file: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(file.read_text(encoding="utf-8")))


def _uneven() -> Mapping[str, Any]:
    """Without the smaller side all goes on; without the larger one the newest metadata may be gone."""
    data = _read(KRAFT)
    main = data["clusters"]["main"]
    main["nodes"] = [
        {"dc": "dc1", "brokers": 1, "controllers": 2},
        {"dc": "dc2", "brokers": 2, "controllers": 3},
    ]
    main["internal_topics"] = {
        name: {"replicas": 3, "min_insync_replicas": 2} for name in main["internal_topics"]
    }
    for topic in data["topics"]:
        topic.update({"replicas": 3, "min_insync_replicas": 2, "replicas_per_dc": {"dc1": 1, "dc2": 2}})
    return data


def _combined() -> Mapping[str, Any]:
    """Whatever is lost, nobody can go on: controllers are brokers as well."""
    data = _read(KRAFT)
    data["clusters"]["main"]["combined"] = True
    for row in data["clusters"]["main"]["nodes"]:
        row["controllers"] = 2
    return data


def _majority() -> Mapping[str, Any]:
    """A plain majority of ZooKeeper servers; one topic prefers availability, one producer waits for leaders alone."""
    data = _read(ZOOKEEPER)
    data["clusters"]["main"]["quorum"] = "majority"
    data["topics"][1]["prefer"] = "availability"
    data["producers"][1]["acks"] = "1"
    data["failover"]["max_loss"]["records"] = 10_000
    return data


def _reconfigurable() -> Mapping[str, Any]:
    """Nobody has tried to form a quorum of such voters: a rehearsal does."""
    data = _read(ZOOKEEPER)
    data["clusters"]["main"].update({"quorum": "majority", "voters": "dynamic"})
    return data


VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "kraft-2-and-3": _uneven(),
    "kraft-combined": _combined(),
    "zookeeper-majority": _majority(),
    "zookeeper-reconfigurable": _reconfigurable(),
}


def _cases() -> Iterator[tuple[str, str]]:
    for name in VARIANTS:
        yield from ((name, f"{kind}-{dc}") for dc in ("dc1", "dc2") for kind in ("site-lost", "waits"))


@pytest.mark.parametrize(("variant", "name"), tuple(_cases()), ids=map("-".join, _cases()))
def test_what_explain_says_is_what_happens(tmp_path: Path, variant: str, name: str) -> None:
    """A refusal that was predicted is one; otherwise the others go on, and in the end all is as before."""
    file = tmp_path / f"{variant}.yaml"
    file.write_text(yaml.safe_dump(VARIANTS[variant], sort_keys=False), encoding="utf-8")
    (case,) = (case for case in cases_of(load_topology(file)) if case.name == name)
    found = rehearse(tmp_path, "--scenario", name, "--load", "tiny", file=file, load=None, timeout_s=850)
    told = found.report.get("reasons") or found.stderr
    assert found.status == EXIT_STATUS[case.expected], told
    assert found.report["verdict"] == case.expected, told
    stated = {row["subject"]: row["is_as_stated"] for row in found.report["statements"]}
    assert stated
    assert False not in stated.values()
