"""Whether a quorum can still write, by what its leader has heard: it may not have noticed yet itself."""

from __future__ import annotations

from orchestrator.ports.admin_values import Quorum, Voter
from orchestrator.snapshot.live.partial_view import voters_missing


def quorum(*fetched_at_s: float | None) -> Quorum:
    """Voters 1, 2, …, the first of them the leader, with the time of each one's last fetch."""
    voters = tuple(Voter(number, 100, at_s) for number, at_s in enumerate(fetched_at_s, start=1))
    return Quorum(1, 100, voters, ())


def test_who_has_not_fetched_for_seconds_is_missing() -> None:
    """Measured on the leader's own clock, whatever ours says."""
    assert voters_missing(quorum(1000.0, 999.8, 999.9)) == []
    assert voters_missing(quorum(1000.0, 995.0, 999.9)) == [2]
    assert voters_missing(quorum(1000.0, 995.0, None)) == [2, 3]


def test_a_leader_is_not_missed_for_saying_nothing_of_itself() -> None:
    """It answers."""
    assert voters_missing(quorum(None, 999.8, 999.9)) == []
    assert voters_missing(quorum(None)) == []
