"""What the guard of a broker reads in the ensemble: facts, and journals of an earlier dcctl."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.guards.boot_guard import Disk
from orchestrator.guards.live.guard_reading import GuardReading
from orchestrator.moves.fence import fenced
from orchestrator.runs.estate_record import DenialInForce, DenialLifted, PrimaryMoved
from orchestrator.runs.live.estate_store import EnsembleRecord
from orchestrator.runs.live.uncoordinated import LocalRecord
from orchestrator.runs.plan import RunEvent
from orchestrator.runs.writers import denied_principals, denied_topics, opened_topics, writers_at
from orchestrator.values import Acl
from tests.runs.memory_ensemble import MemoryEnsemble, MemoryLock, a_record, write_run
from tests.verbs.pictures import topology

FILE = topology()
RULES = fenced(FILE, "west", with_consumers=True).rules
TOPICS = denied_topics(FILE, "west", RULES)
HELD = DenialInForce(cluster="west", topics=TOPICS, principals=denied_principals(RULES))
NAMES = tuple(name for _, name in TOPICS)


def a_run(
    ensemble: MemoryEnsemble, folder: Path, run_id: str, verb: str, *steps: str, version: str, end: str = ""
) -> EnsembleRecord:
    """A run whose steps ended well, away from west or back."""
    source, target = ("east", "west") if verb == "failback" else ("west", "east")
    about = {"verb": verb, "source": source, "target": target, "dcctl_version": version}
    records: list[RunEvent] = [a_record(run_id, 1, "run-started", **about)]
    for step in steps:
        records.append(a_record(run_id, len(records) + 1, "step-intent", step))
        done = a_record(run_id, len(records) + 1, "step-outcome", step)
        records.append(RunEvent(**{name: getattr(done, name) for name in _FIELDS}, outcome="ok"))
    if end:
        records.append(a_record(run_id, len(records) + 1, "run-ended", outcome=end))
    write_run(ensemble, FILE.name, run_id, folder, *records)
    return EnsembleRecord(MemoryLock(ensemble, "lock"), FILE.name, run_id)


_FIELDS = ("run_id", "sequence", "kind", "at_s", "step", "data")


def reading(folder: Path) -> GuardReading:
    """Of a broker of west whose data folder has been used."""
    (folder / "data" / "orders-0").mkdir(parents=True, exist_ok=True)
    return GuardReading(FILE, "west", folder / "data")


def away(
    ensemble: MemoryEnsemble, folder: Path, verb: str = "failover", version: str = "9"
) -> EnsembleRecord:
    """West was lost or left, and east is primary."""
    record = a_run(ensemble, folder, f"1-{verb}", verb, "stop-mirror", version=version, end="ok")
    record.write(PrimaryMoved(home="west", primary="east", topics=NAMES))
    return record


@pytest.mark.parametrize(
    ("version", "end", "is_open"),
    [("", "", True), ("0.1.0", "", True), ("0.1.0", "undone", True), ("9", "", False)],
)
def test_a_hold_of_an_earlier_version_is_read_in_its_journal(
    tmp_path: Path, version: str, end: str, is_open: bool
) -> None:
    """One of a version that records what it holds counts by that alone."""
    ensemble = MemoryEnsemble()
    away(ensemble, tmp_path)
    guard = reading(tmp_path)
    assert not guard.word(ensemble).is_open
    back = a_run(ensemble, tmp_path, "2-failback", "failback", "hold-returned", version=version, end=end)
    assert guard.word(ensemble).is_open is is_open
    back.write(HELD)
    assert guard.word(ensemble).is_open
    back.write(DenialLifted(cluster="west", topics=TOPICS))
    assert not guard.word(ensemble).is_open, "a later version has lifted it"


@pytest.mark.parametrize(("version", "is_open"), [("0.1.0", True), ("9", False)])
def test_a_planned_move_of_an_earlier_version_has_left_its_rules(
    tmp_path: Path, version: str, is_open: bool
) -> None:
    """Where it led away from; a later one says so."""
    ensemble = MemoryEnsemble()
    away(ensemble, tmp_path, "switchover", version)
    guard = reading(tmp_path)
    assert guard.word(ensemble).is_open is is_open
    guard.disk = Disk(is_new=True, after="1-switchover")
    assert not guard.word(ensemble).is_open


def test_each_fact_is_read_once(tmp_path: Path) -> None:
    """A guard asks each second, for days perhaps."""
    ensemble = MemoryEnsemble()
    away(ensemble, tmp_path)
    guard = reading(tmp_path)
    first = guard.word(ensemble)
    asked: list[str] = []
    read: Callable[[str], bytes | None] = ensemble.read
    ensemble.read = lambda path: asked.append(path) or read(path)  # type: ignore[func-returns-value,method-assign]
    assert guard.word(ensemble) == first
    assert asked == []


def test_which_topics_rules_keep_every_writer_off() -> None:
    """A topic that one of two may still write is not denied; one is opened by any of them."""
    assert set(TOPICS) == set(writers_at(FILE, "west"))
    writing = [rule for rule in RULES if rule.operation == "WRITE"]
    less = [rule for rule in RULES if rule != writing[0]]
    of_first = {t for t, who in writers_at(FILE, "west").items() if writing[0].principal in who}
    assert set(denied_topics(FILE, "west", less)) == set(TOPICS) - of_first
    assert set(opened_topics(FILE, "west", [writing[0]])) == of_first
    assert set(writers_at(FILE, "east")) >= set(TOPICS), "they land there after a move"
    other = Acl(writing[0].principal, "WRITE", "DENY", "TOPIC", "something-else")
    assert set(denied_topics(FILE, "west", [*less, other])) == set(TOPICS) - of_first


def test_a_run_tells_its_denials_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One at each side, in the ensemble or on this machine."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path))
    (tmp_path / "alone" / "t").mkdir(parents=True)
    there = DenialInForce(cluster="east", topics=TOPICS, principals=())
    for record in (a_run(MemoryEnsemble(), tmp_path, "r", "fence", version="9"), LocalRecord("t", "r")):
        record.write(HELD)
        record.write(there)
        record.withdraw(DenialInForce, like=there)
        assert record.find(DenialInForce, like=there) is None
        assert record.find(DenialInForce, like=HELD) == HELD
