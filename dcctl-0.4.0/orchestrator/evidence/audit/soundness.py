"""Which ledgers are there and whole. What is missing is said, and never counted as nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from orchestrator.evidence.audit.clocks import ClockReading
from orchestrator.evidence.audit.inputs import AuditInputs
from orchestrator.evidence.audit.kinds import audited_kinds
from orchestrator.evidence.audit.ledgers import Completeness, completeness, positions_path, sends_path
from orchestrator.evidence.audit.positions import Positions, read_positions
from orchestrator.evidence.audit.result import Finding
from orchestrator.evidence.audit.sends import SendNotes, missing_end, read_send_notes


@dataclass(slots=True)
class Soundness:
    """What a look at the ledgers' bytes found.

    `producers` and `consumers` are indexes of those without a sound ledger in some life. `lines`
    says how many whole lines each ledger has, by (kind, index, life), and `rows` how many rows were made of
    them, to be compared with what Spark reads; `clocks` how far each writer's clock was from the third
    place's; `torn` how many lines killed writers had torn.
    """

    producers: set[int] = field(default_factory=set)
    consumers: set[int] = field(default_factory=set)
    lines: dict[tuple[str, int, int], int] = field(default_factory=dict)
    rows: dict[tuple[str, int, int], int] = field(default_factory=dict)
    notes: dict[tuple[int, int], Positions] = field(default_factory=dict)
    clocks: dict[tuple[str, int, int], Sequence[ClockReading]] = field(default_factory=dict)
    torn: int = 0
    findings: list[Finding] = field(default_factory=list)


def soundness(inputs: AuditInputs) -> Soundness:
    """Look at every ledger that the inputs name. Raises `AuditError` for a kind that keeps none."""
    found, consumers = Soundness(), audited_kinds(inputs.consumers)
    folder = Path(inputs.ledgers)
    lives = list(inputs.lives)
    for index, producer in enumerate(inputs.producers):
        notes = [_sends(found, ("producer", index, life), producer.name, folder) for life in lives]
        if None in notes or _is_cut_off(found, lives, producer.name, notes):
            found.producers.add(index)
    for index, consumer, kind in consumers:
        ledger = kind.ledger
        for life in lives:
            is_sound = _note(found, index, life, positions_path(folder, consumer.name, life), consumer.name)
            path = ledger.path(folder, consumer.name, life)
            if ledger.is_of_lines:
                is_sound &= _count(found, ("consumer", index, life), path, consumer.name)
            problems = [Finding("unknown", f"{consumer.name}: {text}") for text in ledger.problems(path)]
            found.findings += problems
            if problems or not is_sound:
                found.consumers.add(index)
    return found


def not_read(found: Soundness, inputs: AuditInputs, read: Mapping[tuple[str, int, int], int]) -> None:
    """Compare how many rows Spark read with how many there are; ledgers that differ become unsound."""
    names = {
        "producer": [producer.name for producer in inputs.producers],
        "consumer": [consumer.name for consumer in inputs.consumers],
    }
    unsound = {"producer": found.producers, "consumer": found.consumers}
    for (kind, index, life), rows in found.rows.items():
        seen = read.get((kind, index, life), 0)
        if seen != rows:
            name = names[kind][index]
            text = f"{name}: of the ledger of life {life} {seen:,} rows were read of {rows:,}"
            found.findings.append(Finding("unknown", text))
            unsound[kind].add(index)


def _count(found: Soundness, key: tuple[str, int, int], path: Path, name: str) -> bool:
    whole = _looked_at(found, path, name)
    if whole is None:
        return False
    found.lines[key] = whole.rows
    return not whole.is_damaged


def _sends(found: Soundness, key: tuple[str, int, int], name: str, folder: Path) -> SendNotes | None:
    path = sends_path(folder, name, key[2])
    if not _count(found, key, path, name):
        return None
    try:
        notes = read_send_notes(path)
    except (OSError, ValueError) as error:
        found.findings.append(Finding("unknown", f"{name}: {path.name} cannot be understood: {error}"))
        return None
    found.clocks[key] = notes.clocks
    return notes


def _is_cut_off(found: Soundness, lives: Sequence[int], name: str, notes: Sequence[SendNotes | None]) -> bool:
    problems = [
        f"{name}: {sends_path(Path(), name, life).name} {problem}"
        for life, (before, after) in zip(lives, pairwise(notes), strict=False)
        if before is not None and after is not None and (problem := missing_end(before, after))
    ]
    found.findings += [Finding("unknown", text) for text in problems]
    return bool(problems)


def _note(found: Soundness, index: int, life: int, path: Path, name: str) -> bool:
    whole = _looked_at(found, path, name)
    if whole is None:
        return False
    try:
        notes = found.notes[index, life] = read_positions(path)
        found.clocks["consumer", index, life] = notes.clock_readings()
    except ValueError as error:
        found.findings.append(Finding("unknown", f"{name}: {path.name} cannot be understood: {error}"))
        return False
    return not whole.is_damaged


def _looked_at(found: Soundness, path: Path, name: str) -> Completeness | None:
    try:
        whole = completeness(path)
    except OSError as error:
        found.findings.append(Finding("unknown", f"{name}: no ledger {path.name} ({error.strerror})"))
        return None
    found.torn += whole.torn
    if whole.is_damaged:
        text = f"{name}: {whole.torn} lines of {path.name} are torn; killed writers explain {whole.starts}"
        found.findings.append(Finding("unknown", text))
    return whole
