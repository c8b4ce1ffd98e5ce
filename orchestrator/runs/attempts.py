"""What the last attempt of each step came to, by a run's journal. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestrator.runs.plan import PHASES, RunEvent


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


def listed_by_last(events: Sequence[RunEvent], key: str) -> list[Any]:
    """What the last attempts have in a list of that name in their results, all together."""
    found = last_outcomes(events).values()
    return [each for event in found for each in event.data.get("result", {}).get(key, [])]


def phase_spans(
    known: Mapping[str, tuple[float, float]], steps: Iterable[tuple[str, float | None, float | None]]
) -> dict[str, tuple[float, float]]:
    """Each phase from its first begin to its last end, in order; they run side by side, and do not add up.

    `known`: those that are no steps. `steps`: phase, begin and seconds of each, None where it has none (yet).
    """
    spans = dict(known)
    for phase, begin, seconds in steps:
        if begin is not None and seconds is not None:
            first, last = spans.get(phase, (begin, begin + seconds))
            spans[phase] = (min(first, begin), max(last, begin + seconds))
    return {
        name: spans[name]
        for name in (*PHASES, *(name for name in spans if name not in PHASES))
        if name in spans
    }
