"""Work side by side, told by one thread."""

from __future__ import annotations

import threading

import pytest

from orchestrator.errors import SimulationError
from orchestrator.simulation.crew import Cancelled, Crew


def test_progress_shows_the_newest_word_of_each_part() -> None:
    """In the caller's thread, whatever thread the work is in."""
    told: list[tuple[str, str, bool]] = []

    def tell(stage: str, detail: str) -> None:
        told.append((stage, detail, threading.current_thread() is threading.main_thread()))

    crew = Crew("servers", tell, timeout_s=10)
    crew.run([lambda: crew.say("west", "1 of 3"), lambda: crew.say("east", "ready")])
    assert told[-1] == ("servers", "east: ready · west: 1 of 3", True)


def test_first_failure_calls_off_the_others() -> None:
    """A task that waits leaves at its next look, and the failure is the caller's."""
    left = threading.Event()
    crew = Crew("servers", lambda _stage, _detail: None, timeout_s=10)

    def fail() -> None:
        raise SimulationError("west", "died")

    def wait() -> None:
        try:
            while True:
                crew.check("east", "brokers")
                crew.pause(5)
        except Cancelled:
            left.set()
            raise

    with pytest.raises(SimulationError, match="died"):
        crew.run([wait, fail])
    assert left.wait(5)


def test_waiting_ends_at_the_deadline_and_says_for_what() -> None:
    """No start hangs for ever."""
    crew = Crew("servers", lambda _stage, _detail: None, timeout_s=-1)
    with pytest.raises(SimulationError, match=r"west: not ready .* 2 of 3 brokers"):
        crew.check("west", "2 of 3 brokers")
