"""What the examples under topologies/ promise: the words that rehearsals with real servers are held against."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.topology.durability.analysis import explain_topology
from orchestrator.topology.durability.losses import single_losses
from orchestrator.topology.loading import load_topology
from tests.topology.durability.topologies import words

TOPOLOGIES = Path(__file__).parents[3] / "topologies"

WAITS = ("safe", "need-procedure", "zero", "procedure")
ELECTS = ("safe", "continue", "zero", "leader-election")
UNTOUCHED = ("safe", "continue", "zero", "zero")
GONE = ("lost", "stop", "total", "site-return")
SWITCHES = ("at-risk", "need-procedure", "replication-lag", "switch-clients")

CASES = {
    "one-location": {"north": ("lost", GONE)},
    "stretched-2dc": dict.fromkeys(("dc1", "dc2"), ("needs-procedure", WAITS)),
    "stretched-2dc-kraft": dict.fromkeys(("dc1", "dc2"), ("needs-procedure", WAITS)),
    "stretched-2.5dc": {
        "dc1": ("continues", WAITS),
        "dc2": ("continues", WAITS),
        "witness": ("continues", UNTOUCHED),
    },
    "stretched-2.5dc-kraft": {
        "dc1": ("continues", WAITS),
        "dc2": ("continues", WAITS),
        "witness": ("continues", UNTOUCHED),
    },
    "stretched-3dc": dict.fromkeys(("dc1", "dc2", "dc3"), ("continues", ELECTS)),
    "stretched-3dc-kraft": dict.fromkeys(("dc1", "dc2", "dc3"), ("continues", ELECTS)),
    "active-passive": {"west": ("lost", SWITCHES), "east": ("continues", UNTOUCHED)},
    "active-active": {"west": ("lost", SWITCHES), "east": ("continues", UNTOUCHED)},
    "aggregation": {
        "dc1": ("lost", SWITCHES),
        "dc2": ("continues", UNTOUCHED),
        "centre": ("continues", UNTOUCHED),
    },
}


@pytest.mark.parametrize("example", CASES)
def test_an_example_keeps_what_its_layout_is_known_for(example: str) -> None:
    """`orders` of the first cluster that produces it, for the loss of each data centre."""
    topology = load_topology(TOPOLOGIES / f"{example}.yaml")
    home = next(topic.cluster for topic in topology.topics if topic.name == "orders")
    found = explain_topology(topology, single_losses(topology))
    told = {loss.lost[0]: loss.clusters[home] for loss in found.losses}
    assert {dc: (fate.control_plane, words(fate.topics["orders"])) for dc, fate in told.items()} == CASES[
        example
    ]
