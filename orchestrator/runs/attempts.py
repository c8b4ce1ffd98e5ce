"""What the last attempt of each step came to, by a run's journal. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from orchestrator.runs.plan import RunEvent


def last_intents(events: Sequence[RunEvent]) -> dict[str, RunEvent]:
    """When each step was begun last."""
    return {event.step: event for event in events if event.kind == "step-intent"}


def last_outcomes(events: Sequence[RunEvent]) -> dict[str, RunEvent]:
    """Each step's last outcome. One from before its last intent tells of an attempt that is past."""
    begun = last_intents(events)
    return {
        event.step: event
        for event in events
        if event.kind == "step-outcome"
        and (event.step not in begun or event.sequence > begun[event.step].sequence)
    }


def told_of_clients(events: Sequence[RunEvent], key: Literal["producers", "not_seen"]) -> list[Any]:
    """What the last attempts tell of clients at the target: a row for each producer, or names."""
    found = last_outcomes(events).values()
    return [each for event in found for each in event.data.get("result", {}).get(key, [])]
