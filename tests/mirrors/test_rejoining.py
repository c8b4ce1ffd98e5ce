"""What a failback finds of the logs that came back: nothing is taken for whole that nobody can vouch for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from orchestrator.moves.request import FailbackRequest
from orchestrator.ports.part import Part
from orchestrator.replication.mirror_ref import source_partitions
from orchestrator.runs.engine import StepOutcome
from orchestrator.runs.estate_record import LogsAtDeparture, LogsTruncated
from orchestrator.runs.ports import EstateRecord
from orchestrator.snapshot.rejoining import Past
from orchestrator.values import EpochEnd, LogEnd, TopicPartition
from orchestrator.verbs.plans import plan_failback
from orchestrator.wording import plural
from tests.verbs.failback_pictures import END, REQUEST, picture, topology
from tests.verbs.pictures import MIRROR, MIRRORED, part
from tests.verbs.some_moves import WithPorts, a_session, performed
from tests.verbs.some_servers import SomeServers

PARTITIONS = source_partitions(topology(), MIRROR)
WHOLE = picture().past.value
assert WHOLE is not None
assert WHOLE.left is not None


def without_the_end_of(count: int) -> LogsAtDeparture:
    """How the logs were left, but for the first `count` of them."""
    assert WHOLE is not None
    assert WHOLE.left is not None
    return replace(WHOLE.left, ends=WHOLE.left.ends[count:])


class Side(NamedTuple):
    """A cluster whose logs all end at one place. It has no offset sync: only Connect tells how far was read."""

    name: str
    end: int

    def topics(self, names: Iterable[str]) -> set[str]:
        return set(names)

    def log_ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, LogEnd]:
        return dict.fromkeys(partitions, LogEnd(0, self.end, 1))

    def brokers(self) -> dict[int, str]:
        return {1: f"{self.name}-1:9092"}

    def read_records(self, _ranges: object) -> Iterator[list[Any]]:
        return iter(())


class Unchanged:
    """No log has another leader epoch than before."""

    def epoch_ends(
        self, _addresses: object, epochs: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, EpochEnd]:
        return {tp: EpochEnd(epoch, END) for tp, epoch in epochs.items()}


class Workers(NamedTuple):
    """The mirror has read so far."""

    read: int

    def source_offsets(self, _connector: str) -> dict[TopicPartition, int]:
        return dict.fromkeys(PARTITIONS, self.read)


class Written:
    """The facts that a run writes."""

    def __init__(self) -> None:
        self.facts: list[Any] = []

    def write(self, fact: Any) -> None:
        self.facts.append(fact)


class Compared:
    """The step's outcome and the facts that it wrote, where the held logs end at `home` and the copies at
    `copied`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(
        self,
        past: Part[Past],
        *,
        request: FailbackRequest = REQUEST,
        home: int = END,
        copied: int = MIRRORED,
    ) -> tuple[StepOutcome, list[Any]]:
        seen, record = picture(), Written()
        servers = SomeServers(
            clusters={"west": Side("west", home), "east": Side("east", copied)},
            workers={"east": Workers(copied - 1)},
            log_end_readers={"west": nullcontext(Unchanged())},
        )
        session = a_session(self._folder, servers, topology(), seen, past=past)
        step = plan_failback(topology(), picture(), request).step("compare-returned")
        return performed(WithPorts(session, {EstateRecord: record}), step), record.facts


@pytest.fixture
def compared(tmp_path: Path) -> Compared:
    return Compared(tmp_path)


def test_where_all_is_recorded_it_is_told_what_is_late(compared: Compared) -> None:
    """The tail that was never copied is there, and arrives."""
    found, facts = compared(part(WHOLE))
    assert found.outcome == "ok"
    assert found.message.startswith(f"{(END - MIRRORED) * len(PARTITIONS):,} records still to be copied")
    assert facts == []


def test_records_that_were_cut_off_are_missing_unless_accepted(compared: Compared) -> None:
    """The logs come back shorter than they were left, below what had been copied."""
    found, facts = compared(part(WHOLE), home=MIRRORED - 10)
    assert found.outcome == "failed"
    assert "missing at west (0 accepted)" in found.message
    assert [type(fact) for fact in facts] == [LogsTruncated]
    accepted = replace(REQUEST, accept_loss=10**9)
    assert compared(part(WHOLE), home=MIRRORED - 10, request=accepted)[0].outcome == "ok"


def test_a_past_that_cannot_be_read_is_unknown(compared: Compared) -> None:
    """Not that nothing had been recorded: no option sets it aside, and nothing is recorded."""
    unread: Part[Past] = Part("journal", 0.0, None, "journal of run r1: could not be read")
    for request in (REQUEST, replace(REQUEST, accept_unrecorded=True, accept_loss=10**9)):
        found, facts = compared(unread, request=request)
        assert found.outcome == "unknown"
        assert found.message == (
            "the records of earlier runs cannot be read: journal of run r1: could not be read"
        )
        assert facts == []


@pytest.mark.parametrize(
    ("left", "count"), [(None, len(PARTITIONS)), (without_the_end_of(1), 1)], ids=["nothing", "all but one"]
)
def test_what_nobody_has_recorded_is_unknown_until_a_person_goes_on_without(
    compared: Compared, left: LogsAtDeparture | None, count: int
) -> None:
    """A log that looks whole may have lost its end: nothing tells. No number of accepted records says so."""
    assert WHOLE is not None
    past = part(replace(WHOLE, left=left))
    found, facts = compared(past, request=replace(REQUEST, accept_loss=10**9))
    assert found.outcome == "unknown"
    assert found.message == (
        f"what is missing is unknown: {plural(count, 'partition')} without a record of where the log ended"
    )
    assert facts == []
    found, _ = compared(past, request=replace(REQUEST, accept_unrecorded=True))
    assert found.outcome == "ok"
