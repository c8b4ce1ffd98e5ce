"""Each layout on real servers: applied once, nothing left to do, changed by hand, noticed, mended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.adapters.kafka.java_admin_jvm import end_shared_jvm
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology
from tests.drill.rehearsal import ROOT, processes_of
from tests.layouts.estate import Estate
from tests.layouts.internal_topics import as_explained, as_running

EXAMPLES = sorted(path.stem for path in (ROOT / "topologies").glob("*.yaml"))
QUICK = ("one-location",)


@pytest.fixture
def estate(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Estate]:
    """One example, up; nothing of it is left afterwards."""
    found = Estate(tmp_path, ROOT / "topologies" / f"{request.param}.yaml")
    yield found
    found.dcctl("sim", "down", "--all", "--yes")
    assert processes_of(found.state) == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "estate",
    [
        pytest.param(name, marks=pytest.mark.integration if name in QUICK else pytest.mark.drills)
        for name in EXAMPLES
    ],
    indirect=True,
)
def test_a_layout_is_applied_once_and_drift_is_mended(estate: Estate) -> None:
    """`apply` twice: the second has nothing to do. A change by hand is named, and mended by `apply`."""
    file = str(estate.file)
    estate.dcctl("apply", file, "--yes")
    estate.dcctl("plan", file)
    assert estate.dcctl("apply", file, "--yes")["outcome"] == "nothing-to-do"
    estate.dcctl("drift", file)
    topic = estate.topology["topics"][0]
    estate.change_by_hand(topic["cluster"], topic["name"], "min.insync.replicas=1")
    (drift,) = estate.dcctl("drift", file, status=3)["drift"]
    assert topic["name"] in json.dumps(drift)
    assert "min.insync.replicas" in json.dumps(drift)
    estate.dcctl("apply", file, "--yes")
    estate.dcctl("drift", file)
    _assert_internal_topics_are_as_explained(load_topology(estate.file))


def _assert_internal_topics_are_as_explained(topology: Topology) -> None:
    """Kafka's own topics have the durability that the analysis calculates with."""
    try:
        for cluster in topology.clusters:
            assert as_running(topology, cluster) == as_explained(topology, cluster), cluster
    finally:
        end_shared_jvm()
