"""Whether a watcher looks at the clusters that it was meant for: by ids, as far as they are known."""

from __future__ import annotations

import re

import pytest

from orchestrator.errors import ClusterError
from orchestrator.snapshot.live.identity import ClusterCheck, KnownClusters
from orchestrator.snapshot.watched import Watched

WATCHED = Watched(cluster="west", kept_at="east", topics=("orders",))


def a_check(**ids: str) -> ClusterCheck:
    known = KnownClusters()
    if ids:
        known.learn(ids)
    return ClusterCheck(WATCHED, known)


def test_the_remembered_clusters_are_the_same() -> None:
    """Both have told the id that is remembered."""
    check = a_check(west="w", east="e", north="n")
    check.refuse_others(source="w", target="e")
    assert check.are_same is True


@pytest.mark.parametrize(
    ("ids", "seen"),
    [
        ({}, {"source": "w", "target": "e"}),
        ({"west": "w"}, {"source": "w", "target": "e"}),
        ({"west": "w", "east": "e"}, {"target": "e"}),
        ({}, {"source": "", "target": ""}),
    ],
    ids=["nothing remembered", "one remembered", "the source is away", "nothing told or remembered"],
)
def test_what_cannot_be_compared_is_let_pass_and_not_called_the_same(
    ids: dict[str, str], seen: dict[str, str]
) -> None:
    """A lost source tells no id: that it is away has to be recorded."""
    check = a_check(**ids)
    check.refuse_others(**seen)
    assert check.are_same is None


@pytest.mark.parametrize(
    ("ids", "seen", "said"),
    [
        (
            {"west": "w", "east": "e"},
            {"source": "other", "target": "e"},
            "west is another cluster than before: its id is other, and was w",
        ),
        (
            {"west": "w", "east": "e"},
            {"target": "other"},
            "east is another cluster than before: its id is other, and was e",
        ),
        ({}, {"source": "e", "target": "e"}, "west, east are one and the same cluster, with id e"),
    ],
    ids=["the source", "the target, while the source is away", "one cluster twice"],
)
def test_another_cluster_is_refused_by_name(ids: dict[str, str], seen: dict[str, str], said: str) -> None:
    """With both ids, and that nothing is recorded."""
    check = a_check(**ids)
    with pytest.raises(ClusterError, match=re.escape(f"{said}. No sample is recorded")):
        check.refuse_others(**seen)
    assert check.are_same is False


def test_a_remembered_cluster_that_tells_no_id_is_not_taken_for_right() -> None:
    """It answers, and may be any."""
    check = a_check(west="w", east="e")
    with pytest.raises(ClusterError, match="west does not name its cluster id"):
        check.refuse_others(source="", target="e")
    assert check.are_same is None


def test_a_person_who_takes_another_cluster_for_right_is_heard() -> None:
    """The estate record says it; the next round is compared with that."""
    known = KnownClusters()
    known.learn({"west": "w", "east": "e"})
    check = ClusterCheck(WATCHED, known)
    with pytest.raises(ClusterError):
        check.refuse_others(source="new", target="e")
    known.learn({"west": "new", "east": "e"})
    check.refuse_others(source="new", target="e")
    assert check.are_same is True
