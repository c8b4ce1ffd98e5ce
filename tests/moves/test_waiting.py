"""A cluster that does not answer once is asked again; one that never does is not taken for anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from orchestrator.errors import ClusterError
from orchestrator.moves.within_cluster.waiting import await_answered


class Patient:
    """Asks as often as it says."""

    def __init__(self, times: int) -> None:
        self.times = times

    def is_cancelled(self) -> bool:
        return False

    def await_true(self, condition: Callable[[], bool], timeout_s: float, poll_s: float = 0.2) -> bool:  # noqa: ARG002
        return any(condition() for _ in range(self.times))


def answers(*said: bool | str) -> Callable[[], bool]:
    """One after the other; words are why nobody answers."""
    rows: Iterator[bool | str] = iter(said)

    def ask() -> bool:
        found = next(rows)
        if isinstance(found, str):
            raise ClusterError("cluster main", found)
        return found

    return ask


def test_who_did_not_answer_is_asked_again() -> None:
    """A broker that was asked has just gone."""
    assert await_answered(Patient(3), answers("timed out", False, True), 1.0)


def test_an_answer_counts_although_nobody_answered_before() -> None:
    """It is known, and is not so."""
    assert not await_answered(Patient(2), answers("timed out", False), 1.0)


def test_no_answer_in_the_end_is_no_answer() -> None:
    """Whatever was said before may have changed."""
    with pytest.raises(ClusterError, match="timed out"):
        await_answered(Patient(2), answers(False, "timed out"), 1.0)
