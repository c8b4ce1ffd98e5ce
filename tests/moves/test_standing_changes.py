"""What stands changed within a cluster, as values and in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.moves.within_cluster.standing_changes import standing_changes, standing_changes_told
from orchestrator.ports.voter_sets import Member
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.facts_within_clusters import (
    MinInsyncLowered,
    MirrorHalted,
    QuorumForced,
    QuorumFormed,
    VotersDropped,
)
from orchestrator.runs.within_clusters import Evacuated, Quorum

_LOWERED = MinInsyncLowered(cluster="main", sites=("dc1",), before={"orders": None}, lowered={"orders": 2})
_FORCED = QuorumForced(cluster="main", sites=("dc1",), generation=2, kept={}, files={}, lost=())
_FORMED = QuorumFormed(cluster="main", generation=2, files={})
_DROPPED = VotersDropped(cluster="main", sites=(), voters=(Member(number=101),))
_STOOD = MirrorHalted(cluster="main", target="reserve", ran=True)

CASES: tuple[tuple[Mapping[str, Any], str, Any, str], ...] = (
    ({"evacuated": {"main": Evacuated(("dc1",), {})}}, "evacuated", ["dc1"], "evacuated: dc1;"),
    ({"evacuated": {"main": Evacuated((), {})}}, "reordered", True, "another order than before"),
    ({"lowered": {"main": _LOWERED}}, "lowered", {"orders": 2}, "min.insync.replicas lowered: orders 2;"),
    ({"sites_off": {"main": ("dc1",)}}, "sites_off", ["dc1"], "dc1 is off"),
    ({"quorums": {"main": Quorum(2, _FORCED, _FORMED)}}, "quorum_without", ["dc1"], "quorum is without dc1"),
    ({"quorums": {"main": Quorum(2, _FORCED)}}, "is_quorum_between", True, "was begun and is not complete"),
    ({"quorums": {"main": Quorum(dropped=_DROPPED)}}, "voters_dropped", [101], "or being so: 101;"),
    ({"mirrors_halted": {"main": (_STOOD,)}}, "mirrors_halted", ["reserve"], "from main to reserve stand"),
)


@pytest.mark.parametrize(("state", "key", "value", "said"), CASES, ids=[case[1] for case in CASES])
def test_each_change_is_told_with_the_command_that_puts_it_back(
    state: Mapping[str, Any], key: str, value: object, said: str
) -> None:
    """It has one key and one sentence; another cluster's is not told."""
    found = standing_changes(CoordinationState("", **state), "main")
    assert found[key] == value
    (line,) = standing_changes_told(found, "main")
    assert said in line
    assert "dcctl failback FILE --cluster main" in line
    assert not list(standing_changes_told(standing_changes(CoordinationState("", **state), "other"), "other"))


def test_nothing_is_known_without_the_ensemble() -> None:
    """Null is not the same as nothing."""
    found = standing_changes(None, "main")
    assert set(found.values()) == {None}
    assert not list(standing_changes_told(found, "main"))
