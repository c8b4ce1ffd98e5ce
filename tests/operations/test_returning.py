"""What a failback finds of the logs that came back: nothing is taken for whole that nobody can vouch for."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from orchestrator.operations.actions import returning

from orchestrator.engine import StepOutcome
from orchestrator.moves.plans import plan_failback
from orchestrator.planning.estate_record import LogsCut, LogsLeft
from orchestrator.planning.failback import FailbackRequest
from orchestrator.planning.failback_picture import Past
from orchestrator.planning.observation import Part
from orchestrator.planning.positions import source_partitions
from orchestrator.values import LogEnd
from tests.planning.failback_pictures import END, REQUEST, picture, topology
from tests.planning.pictures import MIRROR, MIRRORED, part

PARTITIONS = source_partitions(topology(), MIRROR)
WHOLE = picture().past.value
assert WHOLE is not None
assert WHOLE.left is not None


def without_the_end_of(count: int) -> LogsLeft:
    """How the logs were left, but for the first `count` of them."""
    assert WHOLE is not None
    assert WHOLE.left is not None
    return replace(WHOLE.left, ends=WHOLE.left.ends[count:])


def compared(
    monkeypatch: pytest.MonkeyPatch,
    past: Part[Past],
    *,
    request: FailbackRequest = REQUEST,
    home: int = END,
    copied: int = MIRRORED,
) -> tuple[StepOutcome, list[Any]]:
    """The step's outcome and the facts that it wrote, where the held logs end at `home` and the copies at
    `copied`."""
    seen = replace(picture(), past=past)
    facts: list[Any] = []
    clusters = [
        SimpleNamespace(log_ends=lambda tps, e=end: dict.fromkeys(tps, LogEnd(0, e, 1)))
        for end in (home, copied)
    ]
    monkeypatch.setattr(returning, "read_last_copied", lambda *_, **__: dict.fromkeys(PARTITIONS, copied - 1))
    monkeypatch.setattr(returning, "record_of", lambda *_: SimpleNamespace(write=facts.append))
    session = SimpleNamespace(
        file=topology(),
        mirror=MIRROR,
        picture=seen,
        request=request,
        estate=SimpleNamespace(target=clusters[0], connect=SimpleNamespace(source_offsets=lambda _: {})),
        forward=SimpleNamespace(estate=SimpleNamespace(target=clusters[1])),
    )
    step = plan_failback(topology(), picture(), REQUEST).step("compare-returned")
    return returning.compare_returned_logs(session, step, {}), facts  # type: ignore[arg-type]


def test_where_all_is_recorded_it_is_told_what_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tail that was never copied is there, and arrives."""
    found, facts = compared(monkeypatch, part(WHOLE))
    assert found.outcome == "ok"
    assert found.message.startswith(f"{(END - MIRRORED) * len(PARTITIONS):,} records are late")
    assert facts == []


def test_records_that_were_cut_off_are_missing_unless_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The logs come back shorter than they were left, below what had been copied."""
    found, facts = compared(monkeypatch, part(WHOLE), home=MIRRORED - 10)
    assert found.outcome == "failed"
    assert "records are missing (0 accepted)" in found.message
    assert [type(fact) for fact in facts] == [LogsCut]
    accepted = replace(REQUEST, accept_loss=10**9)
    assert compared(monkeypatch, part(WHOLE), home=MIRRORED - 10, request=accepted)[0].outcome == "ok"


def test_a_past_that_cannot_be_read_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that nothing had been recorded: no option sets it aside, and nothing is recorded."""
    unread: Part[Past] = Part("journal", 0.0, None, "journal of run r1: could not be read")
    for request in (REQUEST, replace(REQUEST, accept_unrecorded=True, accept_loss=10**9)):
        found, facts = compared(monkeypatch, unread, request=request)
        assert found.outcome == "unknown"
        assert found.message == (
            "what earlier runs have recorded cannot be read: journal of run r1: could not be read"
        )
        assert facts == []


@pytest.mark.parametrize(
    ("left", "count"), [(None, len(PARTITIONS)), (without_the_end_of(1), 1)], ids=["nothing", "all but one"]
)
def test_what_nobody_has_recorded_is_unknown_until_a_person_goes_on_without(
    monkeypatch: pytest.MonkeyPatch, left: LogsLeft | None, count: int
) -> None:
    """A log that looks whole may have lost its end: nothing tells. No number of accepted records says so."""
    assert WHOLE is not None
    past = part(replace(WHOLE, left=left))
    found, facts = compared(monkeypatch, past, request=replace(REQUEST, accept_loss=10**9))
    assert found.outcome == "unknown"
    assert found.message == (
        f"of {count} partitions it is not recorded how their logs stood: nothing tells what is missing there"
    )
    assert facts == []
    found, _ = compared(monkeypatch, past, request=replace(REQUEST, accept_unrecorded=True))
    assert found.outcome == "ok"
