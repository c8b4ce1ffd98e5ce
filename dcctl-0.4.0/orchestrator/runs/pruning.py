"""Which folders of runs a machine need not keep any longer: they hold but copies of what the journal says."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from orchestrator.topology.verbs import MOVING_VERBS

DAY_S = 86_400.0

Ending = Literal["nothing begun", "ok", "undone", "unfinished", "unreadable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFolder:
    """One run as its folder on this machine tells of it.

    `began_at_s`: Unix time. `has_journal_parts`: records of an earlier dcctl's journal lie here and nowhere
    else. `topology` is empty where the run made no plan.
    """

    run_id: str
    verb: str
    topology: str
    began_at_s: float
    ending: Ending
    size_bytes: int
    has_report: bool = False
    has_journal_parts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What goes: folders older than this, but for the newest of each topology.

    Reports stay unless `reports`.
    """

    older_than_days: int = 90
    keep: int = 20
    reports: bool = False


def kept_because(folders: Sequence[RunFolder], rule: Rule, now_s: float) -> dict[str, str]:
    """Run -> why its folder stays. Whatever is not among them may go."""
    ordered = sorted(folders, key=lambda folder: folder.run_id)
    newest: dict[str, list[str]] = {}
    for folder in ordered:
        newest.setdefault(folder.topology, []).append(folder.run_id)
    among_newest = {run for runs in newest.values() for run in runs[-rule.keep :]}
    rested_on = set(_rested_on(ordered))
    found = {}
    for folder in ordered:
        reason = _reason(folder, rule, now_s, among_newest, rested_on)
        if reason:
            found[folder.run_id] = reason
    return found


def _reason(
    folder: RunFolder, rule: Rule, now_s: float, newest: Collection[str], rested_on: Collection[str]
) -> str:
    """The first that holds, or nothing."""
    is_young = now_s - folder.began_at_s < rule.older_than_days * DAY_S
    reasons = (
        (folder.ending == "unfinished", "the run has not ended"),
        (folder.ending == "unreadable", "its copy of the journal cannot be read"),
        (folder.has_journal_parts, "it holds records of the journal that lie nowhere else"),
        (folder.run_id in rested_on, "what it moved or fenced stands: the way back rests on it"),
        (folder.has_report and not rule.reports, "it holds a report"),
        (folder.run_id in newest, f"it is among the newest {rule.keep} of its topology"),
        (is_young, f"it is younger than {rule.older_than_days} days"),
    )
    return next((words for holds, words in reasons if holds), "")


def _rested_on(ordered: Sequence[RunFolder]) -> Iterator[str]:
    """Moves that no failback has taken home since, and fences that nobody has taken off."""
    moves: dict[str, list[str]] = {}
    fences: dict[str, list[str]] = {}
    for folder in ordered:
        if folder.ending != "ok":
            continue
        if folder.verb == "failback":
            moves.pop(folder.topology, None)
        elif folder.verb in MOVING_VERBS:
            moves.setdefault(folder.topology, []).append(folder.run_id)
        elif folder.verb == "fence":
            fences.setdefault(folder.topology, []).append(folder.run_id)
        elif folder.verb == "unfence":
            fences.pop(folder.topology, None)
    for standing in (moves, fences):
        for runs in standing.values():
            yield from runs
