"""The times of a run, by its journal: asked for, decided, stopped, ended, and its phases. Pure.

This is their one home: the line with which a command ends, `show`, `result.json` and every report ask here,
so that one run has one set of times, whoever went on with it and wherever it is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from orchestrator.runs.plan import PHASES, RunEvent

OBSERVE, DECIDE = "observe", "decide"
_OBSERVE_BEFORE = "detect"


@dataclass(frozen=True, slots=True)
class PhaseSpan:
    """One phase from its first begin to its last end. Unix epoch seconds."""

    name: str
    begin_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        """How long it took, pauses included."""
        return round(self.end_s - self.begin_s, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimes:
    """One run's moments, Unix epoch seconds.

    `asked_at_s`: when its command was given; `decided_at_s`: when its first step began, after people had been
    asked; `ended_at_s`: its last record. `stopped_s`: for how long it stood, in all, until somebody took it
    up again. `phases` overlap, so that their seconds do not add up.
    """

    asked_at_s: float
    decided_at_s: float
    ended_at_s: float
    stopped_s: float
    phases: tuple[PhaseSpan, ...]

    @property
    def seconds(self) -> float:
        """From the command to the last record."""
        return round(self.ended_at_s - self.asked_at_s, 3)


def run_times(records: Sequence[RunEvent], phase_of: Mapping[str, str] | None = None) -> RunTimes:
    """The times of the run that these records tell, the first record first.

    `phase_of`: the phase of each step, by default as the plan in the first record has it.
    """
    first, last = records[0], records[-1]
    if phase_of is None:
        steps: Iterable[Mapping[str, Any]] = first.data.get("plan", {}).get("steps", ())
        phase_of = {str(step["id"]): str(step.get("phase", "")) for step in steps}
    asked_at_s = float(first.data.get("asked_at_s", first.at_s))
    decided_at_s = next((record.at_s for record in records if record.kind == "step-intent"), last.at_s)
    spans: dict[str, tuple[float, float]] = {}
    if "observed_at_s" in first.data:
        observed_at_s = float(first.data["observed_at_s"])
        spans = {OBSERVE: (asked_at_s, observed_at_s), DECIDE: (observed_at_s, decided_at_s)}
    begun: dict[str, float] = {}
    for record in records:
        if record.kind == "step-intent":
            begun.setdefault(record.step, record.at_s)
        elif record.kind == "step-outcome" and record.step in begun:
            phase, begin_s = phase_of.get(record.step, ""), begun[record.step]
            begin, end = spans.get(phase, (begin_s, record.at_s))
            spans[phase] = (min(begin, begin_s), max(end, record.at_s))
    return RunTimes(
        asked_at_s=asked_at_s,
        decided_at_s=decided_at_s,
        ended_at_s=last.at_s,
        stopped_s=round(sum(_stops(records)), 3),
        phases=tuple(PhaseSpan(name, *spans[name]) for name in _in_order(spans)),
    )


def _stops(records: Sequence[RunEvent]) -> Iterable[float]:
    for before, record in pairwise(records):
        is_abort = record.kind == "undo-started" and record.data.get("is_asked")
        if record.kind == "run-resumed" or is_abort:
            yield record.at_s - before.at_s


def _in_order(spans: Iterable[str]) -> Iterable[str]:
    known = (OBSERVE, *PHASES)
    names = list(spans)
    return (*(name for name in known if name in names), *(name for name in names if name not in known))


def phase_rows(times: RunTimes) -> list[dict[str, Any]]:
    """`phases` of a result and of a story; the look at the world answers under its earlier name as well."""
    rows = [
        {"name": span.name, "seconds": span.seconds, "started_at_s": span.begin_s} for span in times.phases
    ]
    if all(row["name"] != _OBSERVE_BEFORE for row in rows):
        renamed = [row for row in rows if row["name"] == OBSERVE]
        rows += [{**row, "name": _OBSERVE_BEFORE, "renamed": OBSERVE} for row in renamed]
    return rows


def without_renamed(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Each phase once, under its name of today."""
    return [row for row in rows if "renamed" not in row]


def phases_in_words(rows: Iterable[Mapping[str, Any]], origin_s: float) -> str:
    """`observe 0.0–1.9, fence 1.9–8.1`: seconds after `origin_s`, since phases overlap."""
    said = []
    for row in without_renamed(rows):
        # Adding 0.0 makes no minus of what is a hair before the origin.
        begin_s = round(row["started_at_s"] - origin_s, 1) + 0.0
        end_s = round(row["started_at_s"] - origin_s + row["seconds"], 1) + 0.0
        said.append(f"{row['name']} {begin_s:.1f}–{end_s:.1f}")
    return ", ".join(said)
