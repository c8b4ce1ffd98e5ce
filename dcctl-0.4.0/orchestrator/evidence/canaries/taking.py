"""Copying canaries' ledgers, cut to the part that is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from orchestrator.evidence.audit.inputs import AuditInputs
from orchestrator.evidence.audit.ledgers import (
    POSITIONS_COLUMNS,
    PROCESSED_COLUMNS,
    SENDS_COLUMNS,
    completeness,
    lives,
    positions_path,
    processed_path,
    sends_path,
)
from orchestrator.evidence.audit.result import Finding
from orchestrator.evidence.canaries.lives import Canary
from orchestrator.evidence.canaries.window import (
    Beginning,
    beginning,
    first_given,
    processed_within,
    sends_after,
    sends_before,
)
from orchestrator.values import TopicPartition

Lines = Callable[[Iterable[str]], Iterable[str]]


class Taking:
    """Copies ledgers, cut; what is not there is left to the audit, which says so.

    Each client numbers its lives by itself; the copies all bear the numbers of the inputs.
    """

    def __init__(
        self,
        inputs: AuditInputs,
        ledgers: Path,
        to: Path,
        ends: Mapping[TopicPartition, int],
        lives_after: Mapping[Canary, int],
    ) -> None:
        self._lives_after = lives_after
        self.findings: list[Finding] = []
        self._inputs, self._from, self._to, self._ends = inputs, ledgers, to, ends
        self._first: dict[str, int] = {}

    def copy_sends(self, *, from_ms: int) -> dict[str, Beginning]:
        """Every producer's ledgers; returns from where on each is looked at."""
        found = {}
        for name in (producer.name for producer in self._inputs.producers):
            own = self._lives_after[Canary("producers", name)]
            before = sends_path(self._from, name, own - 1)
            begin = self._beginning(name, before, from_ms)
            if begin is not None:
                found[name], self._first[name] = begin, begin.sequence
                copy = sends_path(self._to, name, self._inputs.life_before)
                self._copy(name, before, copy, SENDS_COLUMNS, partial(sends_before, first=begin.sequence))
            after = sends_path(self._from, name, own)
            is_over = any(life > own for life in lives(self._from, "producers", name))
            cut = partial(sends_after, ends=self._ends, was_left=is_over)
            copy = sends_path(self._to, name, self._inputs.life_after)
            self._copy(name, after, copy, SENDS_COLUMNS, cut)
        return found

    def copy_readings(self) -> None:
        """Every consumer's ledgers."""
        fenced = {
            TopicPartition(topic.name, number): topic.fence_offsets.get(number, 0)
            for topic in self._inputs.topics
            for number in range(topic.partitions)
        }
        for name in (consumer.name for consumer in self._inputs.consumers):
            after = self._lives_after[Canary("consumers", name)]
            for own, life in ((after - 1, self._inputs.life_before), (after, self._inputs.life_after)):
                positions = positions_path(self._to, name, life)
                self._copy(
                    name, positions_path(self._from, name, own), positions, POSITIONS_COLUMNS, _as_they_are
                )
                # Ends are the target's, and some topics are called the same at both sides.
                is_after = life == self._inputs.life_after
                cut = partial(
                    processed_within,
                    first=self._first,
                    ends=self._ends if is_after else {},
                    fenced=fenced if is_after else {},
                )
                copy = processed_path(self._to, name, life)
                self._copy(name, processed_path(self._from, name, own), copy, PROCESSED_COLUMNS, cut)
            self.findings += self._misplaced(name)

    def _misplaced(self, name: str) -> Iterator[Finding]:
        """Where a consumer went on at another position than the run says that it was given.

        One that keeps up has read all that is copied: too high a position makes it skip nothing, and would
        be seen nowhere else. Where its ledger does not tell, that is unknown.
        """
        try:
            with positions_path(self._to, name, self._inputs.life_after).open(encoding="utf-8") as lines:
                found = first_given(line for line in lines if not line.startswith("event,"))
        except FileNotFoundError:
            return
        mirrored = {topic.name: topic.mirrored for topic in self._inputs.topics}
        stated = {
            TopicPartition(mirrored[position.topic], position.partition): position.target_offset
            for position in self._inputs.positions
            if position.consumer == name and position.topic in mirrored and position.target_offset is not None
        }
        if stated and found is None:
            text = (
                f"{name}: its ledger of life {self._inputs.life_after} was truncated, and does"
                " not show any more where the client went on "
                f"({', '.join(map(str, stated))}): make the report sooner"
            )
            yield Finding("unknown", text)
        for place, offset in stated.items():
            if found is None:
                return
            at = found.get(place)
            if place not in found:
                yield Finding("unknown", f"{name} at {place}: it was never given this partition")
            elif at != offset:
                where = f"it went on at {at:,}" if at is not None else "it found no position"
                yield Finding("invalid", f"{name} at {place}: {where}, and the run says {offset:,}")

    def _beginning(self, name: str, ledger: Path, from_ms: int) -> Beginning | None:
        try:
            with ledger.open(encoding="utf-8") as lines:
                found = beginning(lines, from_ms)
        except FileNotFoundError:
            return None
        if found is None:
            text = f"{name}: {ledger.name} has no two acknowledged records in a row to begin with"
            self.findings.append(Finding("unknown", text))
        return found

    def _copy(self, name: str, ledger: Path, copy: Path, columns: Iterable[str], cut: Lines) -> None:
        try:
            whole = completeness(ledger)
        except FileNotFoundError:
            return
        if whole.is_damaged:
            text = (
                f"{name}: {whole.torn} lines of {ledger.name} are torn; killed writers explain {whole.starts}"
            )
            self.findings.append(Finding("unknown", text))
        copy.parent.mkdir(parents=True, exist_ok=True)
        with ledger.open(encoding="utf-8") as lines, copy.open("w", encoding="utf-8") as taken:
            header = ",".join(columns)
            taken.write(f"{header}\n")
            taken.writelines(
                f"{line}\n" for line in cut(line for line in lines if line.rstrip("\n") != header)
            )


def _as_they_are(lines: Iterable[str]) -> Iterator[str]:
    return (line.rstrip("\n") for line in lines)
