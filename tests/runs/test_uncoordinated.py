"""A failover without the coordination ensemble: only when it is gone, resumable, and imported afterwards."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, get_origin, get_type_hints

import pytest
import yaml

from orchestrator.cli.main import run
from orchestrator.errors import DcctlError, GateRefusedError, LockHeldError
from orchestrator.moves.ports import BootGuards
from orchestrator.moves.way import Way
from orchestrator.moves.ways import way_along
from orchestrator.ports.part import Part
from orchestrator.runs.acting import EffectActions
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.effect import Handle
from orchestrator.runs.engine import Results, StepOutcome
from orchestrator.runs.estate_record import (
    Fact,
    PrimaryMoved,
    ReverseStarts,
    RunEnded,
    body_to_json,
    cluster_ids,
)
from orchestrator.runs.live import coordination
from orchestrator.runs.live.earlier_runs import earlier_runs
from orchestrator.runs.live.estate_facts import read_facts, read_primaries
from orchestrator.runs.live.estate_store import EnsembleRecord
from orchestrator.runs.live.journal import RESULT, journal_records, kept_result
from orchestrator.runs.live.run_session import RunSession
from orchestrator.runs.live.state_folder import run_folder
from orchestrator.runs.live.uncoordinated import IMPORTED, LocalLock, local_journal, read_local_journal
from orchestrator.runs.plan import RunEvent, Step, canonical_json, to_json
from orchestrator.runs.primaries import primaries_of
from orchestrator.runs.registry import result_to_json
from orchestrator.snapshot.observation import SourceProbe
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.loading import dump_topology
from orchestrator.verbs.live import move_procedure
from orchestrator.verbs.live.failover_procedure import FailoverProcedure, run_failover
from orchestrator.verbs.live.history_import import import_journal, import_rows
from orchestrator.verbs.live.move_estate import Estate
from orchestrator.verbs.live.real_servers import REAL_SERVERS
from orchestrator.verbs.live.runs import abort_run, resume_run
from orchestrator.verbs.plans import plan_failover
from orchestrator.verbs.registration import EFFECTS, PARTICIPANTS
from tests.runs.any_world import AnyWorld
from tests.runs.crashes import SimulatedCrash
from tests.runs.memory_ensemble import MemoryEnsemble, MemoryLock, a_record, write_run
from tests.verbs.pictures import ABSENT, AHEAD, MIRROR, REQUEST, observation, part, topology
from tests.verbs.some_moves import WithPorts

TOPOLOGY = topology()
WAY = way_along(TOPOLOGY, AHEAD, PARTICIPANTS, reach="gone")
ASKED = replace(REQUEST, without_coordination=True, reason="fire; the bridge agrees that only I act")


class Away:
    """Guards of a side that does not answer."""

    def look_at(self, _cluster: str) -> tuple[SourceProbe, str]:
        return SourceProbe({"west:1": "refused"}, "no address takes a connection"), ""


@dataclass
class East(AnyWorld):
    """The effects of a failover, killed at the step `dies_at`; which side is primary is really recorded.

    Others have found nothing.
    """

    dies_at: int = 0
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    really: EffectActions | None = None

    def perform(self, step: Step, results: Results) -> StepOutcome:
        number = next(self.numbers)
        found = super().perform(step, results)
        if step.id == "record-primary":
            found = self._really.perform(step, results)
        elif found.outcome == "ok":
            found = nothing_found(step)
        if number == self.dies_at:
            raise SimulatedCrash
        return found

    def verify(self, step: Step, results: Results) -> StepOutcome:
        if step.id == "record-primary":
            return self._really.verify(step, results)
        found = super().verify(step, results)
        return nothing_found(step) if found.outcome == "ok" else found

    def compensate(self, step: Step, results: Results) -> StepOutcome:
        if step.id == "record-primary":
            self._really.compensate(step, results)
        return super().compensate(step, results)

    @property
    def _really(self) -> EffectActions:
        assert self.really is not None
        return self.really


def nothing_found(step: Step) -> StepOutcome:
    """What a step leaves that has found nothing, of whatever type that is."""
    effect = EFFECTS.kind(step)
    empty = {
        name: {"dict": {}, "list": [], "tuple": [], "str": "", "int": 0, "float": 0.0, "bool": False}[
            _plain(kind)
        ]
        for name, kind in get_type_hints(effect.RESULT).items()
        if get_origin(kind) is not ClassVar
    }
    result: Any = EFFECTS.result(Handle(step.id, step.action), empty)
    return StepOutcome("ok", result=result_to_json(effect, result))


def _plain(kind: Any) -> str:
    origin = get_origin(kind) or kind
    return {"Mapping": "dict"}.get(origin.__name__, origin.__name__)


@dataclass
class Night:
    """East, an ensemble that is away until `answers`, and what is observed."""

    ensemble: MemoryEnsemble
    east: East
    answers: bool = False
    copied: Part[tuple[Fact, ...]] = ABSENT

    def observe(self, _estate: Estate, _way: Way, *, them: Any, own_lock: bool, own_run: str) -> Snapshot:  # noqa: ARG002
        if not self.answers:
            return replace(observation(), coordination=ABSENT)
        runs = earlier_runs(self.ensemble, TOPOLOGY.name, without=own_run, effects=EFFECTS)
        return replace(observation(), coordination=part(CoordinationState("", runs)))


@pytest.fixture
def night(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Night:
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path / "state"))
    plan = plan_failover(TOPOLOGY, observation(), REQUEST)
    east = East(plan=plan, process="p", holder="p")
    found = Night(MemoryEnsemble(), east)

    def open_estate(*_: Any) -> Estate:
        ensemble = found.ensemble if found.answers else None
        return Estate(TOPOLOGY, WAY, None, None, ensemble, "no answer")  # type: ignore[arg-type]

    def actions(_procedure: Any, run: Any, _plan: Any, _picture: Any) -> AnyWorld:
        session = RunSession(
            TOPOLOGY, tmp_path, run_id=run.run_id, estate_record=run.estate_record, servers=REAL_SERVERS
        )
        east.really = EffectActions(EFFECTS, WithPorts(session, {BootGuards: Away()}))
        return east

    monkeypatch.setattr(move_procedure, "open_estate", open_estate)
    monkeypatch.setattr(move_procedure, "observe", found.observe)
    monkeypatch.setattr(move_procedure, "copied_facts", lambda _: found.copied)
    monkeypatch.setattr(FailoverProcedure, "actions", actions)
    monkeypatch.setattr(coordination, "Coordination", lambda *_, **__: found.ensemble)
    return found


def journals() -> list[Path]:
    return sorted(local_journal(TOPOLOGY.name, "x").parent.glob("*.jsonl"))


def test_it_is_journalled_in_a_file_and_imported_afterwards(night: Night) -> None:
    """The words stand in it; the ensemble then knows the run and who is primary as if it had been there."""
    result = run_failover(TOPOLOGY, ASKED)
    assert result.outcome == "ok"
    (file,) = journals()
    lines = file.read_text().splitlines()
    assert [canonical_json(json.loads(line)) for line in lines] == lines
    records = read_local_journal(file)
    assert "run has no lock" in records[0].data["given_up"]
    overrides = [record.message for record in records if record.kind == "override"]
    assert "--without-coordination by ada: fire; the bridge agrees that only I act" in overrides
    assert night.ensemble.nodes == {}

    told = import_journal(TOPOLOGY, file)
    assert (told["records"], told["primary"]) == (len(records), "east")
    imported = journal_records(night.ensemble, TOPOLOGY.name, result.run_id, run_folder(result.run_id))
    came_to = kept_result(night.ensemble, TOPOLOGY.name, imported[-1])
    imported[-1] = replace(imported[-1], data={**imported[-1].data, RESULT: came_to})
    assert imported == records
    assert [r.outcome for r in earlier_runs(night.ensemble, TOPOLOGY.name, effects=EFFECTS)] == ["ok"]
    (primary,) = read_primaries(night.ensemble, TOPOLOGY.name)
    assert (primary.primary, primary.run_id) == ("east", result.run_id)
    assert journals() == []
    before = dict(night.ensemble.nodes)
    import_journal(TOPOLOGY, file.with_name(file.name + IMPORTED))
    assert night.ensemble.nodes == before, "twice is as good as once"
    assert [row["run_id"] for row in import_rows(TOPOLOGY)] == [result.run_id]


@pytest.mark.parametrize("dies_at", [1, 5, 9, 13])
def test_killed_on_its_way_it_is_gone_on_with_alone(night: Night, dies_at: int) -> None:
    """By `resume` as ever; a second failover is sent back to it."""
    night.east.dies_at = dies_at
    with pytest.raises(SimulatedCrash):
        run_failover(TOPOLOGY, ASKED)
    (file,) = journals()
    run_id = read_local_journal(file)[0].run_id
    with pytest.raises(GateRefusedError, match=f"dcctl resume {run_id}"):
        run_failover(TOPOLOGY, ASKED)
    night.east.dies_at = 0
    assert resume_run(TOPOLOGY, run_id).outcome == "ok"
    assert night.east.effects == {step.id for step in night.east.steps}
    assert night.east.problems == []
    again = run_failover(TOPOLOGY, ASKED)
    assert (again.outcome, again.reason) == (
        "nothing-to-do",
        f"east has taken over already, by run {run_id}",
    )


def test_once_imported_an_open_run_goes_on_with_the_ensemble(night: Night) -> None:
    """Begun alone, imported when the ensemble is back, resumed under its lock."""
    night.east.dies_at = 4
    with pytest.raises(SimulatedCrash):
        run_failover(TOPOLOGY, ASKED)
    (file,) = journals()
    run_id = read_local_journal(file)[0].run_id
    night.east.dies_at, night.answers = 0, True
    with pytest.raises(GateRefusedError, match="the ensemble answers: there is no need to do without it"):
        resume_run(TOPOLOGY, run_id)
    import_journal(TOPOLOGY, file)
    assert resume_run(TOPOLOGY, run_id).outcome == "ok"
    assert [run.outcome for run in earlier_runs(night.ensemble, TOPOLOGY.name, effects=EFFECTS)] == ["ok"]
    assert read_primaries(night.ensemble, TOPOLOGY.name)[0].primary == "east"


def test_an_ensemble_that_answers_is_not_gone_on_without(night: Night) -> None:
    """Refused, with nothing changed."""
    night.answers = True
    with pytest.raises(GateRefusedError, match="coordination refused: the ensemble answers"):
        run_failover(TOPOLOGY, ASKED)
    assert night.east.effects == set()


def test_a_second_one_of_this_machine_is_kept_away(night: Night) -> None:
    """That much can still be promised. Status 5."""
    lock = LocalLock(TOPOLOGY.name)
    with pytest.raises(LockHeldError, match="another dcctl of this machine"):
        run_failover(TOPOLOGY, ASKED)
    lock.release()
    assert run_failover(TOPOLOGY, ASKED).outcome == "ok"


def moved_meanwhile(night: Night, folder: Path) -> None:
    """A failback by somebody who has the ensemble, and knows nothing of the night."""
    about = {"verb": "failback", "source": "east", "target": "west"}
    records = [a_record("meanwhile", 1, "run-started", **about), a_record("meanwhile", 2, "step-intent", "x")]
    records.append(a_record("meanwhile", 3, "run-ended", outcome="ok"))
    write_run(night.ensemble, TOPOLOGY.name, "meanwhile", folder / "meanwhile", *records)
    other = EnsembleRecord(MemoryLock(night.ensemble, "l"), TOPOLOGY.name, "meanwhile")
    other.write(PrimaryMoved(home="west", primary="west", topics=MIRROR.topics))


@pytest.mark.parametrize(("order", "primary"), [("earlier", "west"), ("later", "east")])
def test_where_others_have_moved_meanwhile_a_person_says_which_came_first(
    night: Night, tmp_path: Path, order: str, primary: str
) -> None:
    """No clock does. Nothing is written before; the same import a second time asks nothing more."""
    run_id = run_failover(TOPOLOGY, ASKED).run_id
    (file,) = journals()
    moved_meanwhile(night, tmp_path)
    before = dict(night.ensemble.nodes)
    with pytest.raises(DcctlError, match=r"(?s)did not know of meanwhile.*--order earlier, or --order later"):
        import_journal(TOPOLOGY, file)
    assert night.ensemble.nodes == before
    told = import_journal(TOPOLOGY, file, order=order)
    assert ("primary_problem" in told) == (order == "earlier")
    runs = [run.run_id for run in earlier_runs(night.ensemble, TOPOLOGY.name, effects=EFFECTS)]
    assert runs == ([run_id, "meanwhile"] if order == "earlier" else ["meanwhile", run_id])
    found = primaries_of(read_primaries(night.ensemble, TOPOLOGY.name))
    assert found["west", "orders"].cluster == primary
    import_journal(TOPOLOGY, file.with_name(file.name + IMPORTED))
    assert [run.run_id for run in earlier_runs(night.ensemble, TOPOLOGY.name, effects=EFFECTS)] == runs


@pytest.mark.parametrize("dies_after", range(1, 40, 3))
def test_an_import_that_died_goes_on_at_the_place_that_it_had(
    night: Night, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies_after: int
) -> None:
    """The same command again, also without saying the order once more."""
    run_id = run_failover(TOPOLOGY, ASKED).run_id
    (file,) = journals()
    moved_meanwhile(night, tmp_path)
    whole, written = MemoryLock.create_all, count(1)

    def dying(lock: MemoryLock, nodes: dict[str, bytes]) -> None:
        if next(written) > dies_after:
            raise SimulatedCrash
        whole(lock, nodes)

    monkeypatch.setattr(MemoryLock, "create_all", dying)
    with contextlib.suppress(SimulatedCrash):
        import_journal(TOPOLOGY, file, order="earlier")
    monkeypatch.setattr(MemoryLock, "create_all", whole)
    if file.exists():
        import_journal(TOPOLOGY, file, order="earlier")
    assert [run.run_id for run in earlier_runs(night.ensemble, TOPOLOGY.name, effects=EFFECTS)] == [
        run_id,
        "meanwhile",
    ]
    assert primaries_of(read_primaries(night.ensemble, TOPOLOGY.name))["west", "orders"].cluster == "west"
    with pytest.raises(DcctlError, match="was imported before with --order earlier; that cannot be changed"):
        import_journal(TOPOLOGY, file.with_name(file.name + IMPORTED), order="later")


def test_an_ensemble_that_was_made_anew_knows_nothing_of_what_it_had_seen(
    night: Night, tmp_path: Path
) -> None:
    """Numbers begin again there: however high the one that it saw, others may have moved since."""
    lost = MemoryEnsemble()
    for _ in range(40):
        EnsembleRecord(MemoryLock(lost, "l"), TOPOLOGY.name, "old").append([RunEnded(outcome="ok")])
    night.copied = part(read_facts(lost, TOPOLOGY.name))
    run_failover(TOPOLOGY, ASKED)
    (file,) = journals()
    moved_meanwhile(night, tmp_path)
    with pytest.raises(DcctlError, match="did not know of meanwhile"):
        import_journal(TOPOLOGY, file)
    import_journal(TOPOLOGY, file, order="earlier")
    assert primaries_of(read_primaries(night.ensemble, TOPOLOGY.name))["west", "orders"].cluster == "west"


def body_of(record: RunEvent) -> dict[str, Any] | None:
    """The record of the primary in a record of the journal."""
    found = record.data.get("result", {})
    return dict(found) if record.step == "record-primary" and "primary" in found else None


@pytest.mark.parametrize("words", ["record", "fact"])
def test_the_journal_of_an_earlier_dcctl_is_imported_with_its_primary(night: Night, words: str) -> None:
    """It kept the record of the primary, and where landing topics ended, in other words."""
    run_id = run_failover(TOPOLOGY, ASKED).run_id
    (file,) = journals()
    lines = []
    for record in read_local_journal(file):
        data = to_json(record)
        moved = body_of(record)
        if record.kind == "run-started":
            data["data"]["plan"]["dcctl_version"] = "0.1.0"
        elif moved is not None and words == "record":
            data["data"]["result"] = {"record": {**moved, "at_s": 5.0, "run_id": run_id}}
        elif moved is not None:
            data["data"]["result"] = {"fact": body_to_json(PrimaryMoved(**moved))}
        elif record.step == "record-landing-ends" and "result" in data["data"]:
            data["data"]["result"] = {"ends": {"orders": {"0": 7}}}
        lines.append(canonical_json(data) + "\n")
    file.write_text("".join(lines))
    assert import_journal(TOPOLOGY, file)["primary"] == "east"
    assert primaries_of(read_primaries(night.ensemble, TOPOLOGY.name))["west", "orders"].cluster == "east"
    (begins,) = (
        fact.body
        for fact in read_facts(night.ensemble, TOPOLOGY.name)
        if isinstance(fact.body, ReverseStarts)
    )
    assert begins == ReverseStarts(home="west", standby="east", starts=(("orders", 0, 7),), is_set=False)


def test_a_journal_that_names_a_path_for_its_run_is_none(night: Night, tmp_path: Path) -> None:
    """It comes from outside, and becomes part of paths."""
    run_failover(TOPOLOGY, ASKED)
    (file,) = journals()
    run_id = read_local_journal(file)[0].run_id
    other = tmp_path / "other.jsonl"
    other.write_text(file.read_text().replace(run_id, "../../../escaped"))
    with pytest.raises(DcctlError, match="which does not exist"):
        import_journal(TOPOLOGY, other)
    assert night.ensemble.nodes == {}


def test_what_it_had_seen_came_before_it(night: Night, tmp_path: Path) -> None:
    """By the copy of the estate record at the target; only what others did since is for a person to order."""
    moved_meanwhile(night, tmp_path)
    night.copied = part(read_facts(night.ensemble, TOPOLOGY.name))
    run_id = run_failover(TOPOLOGY, replace(ASKED, acknowledge="eve: agreed")).run_id
    (file,) = journals()
    assert import_journal(TOPOLOGY, file)["primary"] == "east"
    assert [run.run_id for run in earlier_runs(night.ensemble, TOPOLOGY.name, effects=EFFECTS)] == [
        "meanwhile",
        run_id,
    ]


def test_the_clusters_that_it_found_are_remembered_once_it_is_imported(night: Night) -> None:
    """As by any run; and nothing of it is kept on this machine any more."""
    run_failover(TOPOLOGY, ASKED)
    (file,) = journals()
    ids = read_local_journal(file)[0].data["plan"]["facts"]["cluster_ids"]
    assert ids
    import_journal(TOPOLOGY, file)
    assert cluster_ids(read_facts(night.ensemble, TOPOLOGY.name)) == ids
    assert list(file.parent.glob("*.facts.json")) == []


def test_the_copy_of_the_record_keeps_a_move_from_being_made_twice(night: Night, tmp_path: Path) -> None:
    """Another machine has failed over while the ensemble was there; this one never saw it."""
    about = {"verb": "failover", "source": "west", "target": "east"}
    records = [a_record("first", 1, "run-started", **about), a_record("first", 2, "step-intent", "x")]
    records.append(a_record("first", 3, "run-ended", outcome="ok"))
    write_run(night.ensemble, TOPOLOGY.name, "first", tmp_path / "first", *records)
    night.copied = part(read_facts(night.ensemble, TOPOLOGY.name))
    again = run_failover(TOPOLOGY, ASKED)
    assert (again.outcome, again.reason) == ("nothing-to-do", "east has taken over already, by run first")


def test_only_a_whole_journal_of_this_topology_is_imported(night: Night, tmp_path: Path) -> None:
    """Changed, cut in the middle, of another topology: each is named. A torn last line is none."""
    run_failover(TOPOLOGY, ASKED)
    (file,) = journals()
    text = file.read_text()
    lines = text.splitlines(keepends=True)

    def with_text(changed: str) -> Path:
        other = tmp_path / "other.jsonl"
        other.write_text(changed)
        return other

    cases = {
        text.replace('"east"', '"west" ', 1): "changed by hand",
        "".join([*lines[:3], *lines[4:]]): "does not follow",
        "garbage\n" + text: "no record",
        "": "no record",
    }
    for changed, words in cases.items():
        with pytest.raises(DcctlError, match=words):
            import_journal(TOPOLOGY, with_text(changed))
    with pytest.raises(DcctlError, match="is a journal of payments, not of other"):
        import_journal(replace(TOPOLOGY, name="other"), file)
    assert night.ensemble.nodes == {}
    assert len(read_local_journal(with_text(text + lines[0][:40]))) == len(lines)


def test_on_the_command_line_it_wants_a_reason_and_says_what_is_given_up(
    night: Night, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Before anything is done; at the end the way to import it."""
    file = tmp_path / "payments.yaml"
    file.write_text(yaml.safe_dump(dump_topology(TOPOLOGY)), encoding="utf-8")
    command = ["failover", str(file), "--attest-down", "west", "--without-coordination", "--yes"]
    assert run(command) == 2
    assert "wants a reason" in capfd.readouterr().err
    assert run([*command, "--reason", "only I act"]) == 0
    said = capfd.readouterr()
    assert "the run has no lock" in " ".join(said.err.split())
    (journal,) = journals()
    assert f"dcctl history {file} --import {journal}" in " ".join(said.out.split())
    assert run(["history", str(file), "--import", str(journal)]) == 0
    assert "records are in the journal; primary: east" in capfd.readouterr().out
    assert run(["history", str(file)]) == 0
    assert "east is primary for" in capfd.readouterr().out


def test_an_ensemble_that_answers_and_cannot_be_read_is_not_gone(
    night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong login, say: what it knows is not known, so nothing is begun without it."""
    night.answers = True
    monkeypatch.setattr(
        move_procedure, "observe", lambda *_, **__: replace(observation(), coordination=ABSENT)
    )
    with pytest.raises(DcctlError, match="coordination"):
        run_failover(TOPOLOGY, ASKED)
    assert night.east.effects == set()


def test_a_crash_before_the_first_record_leaves_nothing_that_stops_the_next(night: Night) -> None:
    """An empty file, and one with half a line."""
    for name, content in (("20260101T000000-failover-a", b""), ("20260101T000000-failover-b", b'{"at')):
        file = local_journal(TOPOLOGY.name, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    assert run_failover(TOPOLOGY, ASKED).outcome == "ok"


def test_a_journal_is_not_imported_under_its_run(night: Night) -> None:
    """Both would go on with it: the run that is at work here, and one under the ensemble's lock."""
    run_failover(TOPOLOGY, ASKED)
    (file,) = journals()
    at_work = LocalLock(TOPOLOGY.name)
    with pytest.raises(LockHeldError):
        import_journal(TOPOLOGY, file)
    at_work.release()
    assert import_journal(TOPOLOGY, file)["records"] > 0


def test_with_the_ensemble_back_nothing_is_done_before_the_journal_is_imported(night: Night) -> None:
    """It does not know that east has taken over; afterwards it does."""
    run_failover(TOPOLOGY, ASKED)
    (file,) = journals()
    night.answers = True
    with pytest.raises(GateRefusedError, match=f"(?s)made without the ensemble.*--import {file}"):
        run_failover(TOPOLOGY, REQUEST)
    import_journal(TOPOLOGY, file)
    assert run_failover(TOPOLOGY, REQUEST).outcome == "nothing-to-do"


def test_an_imported_run_that_was_taken_back_is_not_primary_again(night: Night) -> None:
    """The same file is imported a second time, perhaps on another machine: the ensemble knows better."""
    for step in ("start-producers", "start-consumers", "start-queries"):
        night.east.fails[step] = StepOutcome("failed", "no host")
    run_id = run_failover(TOPOLOGY, ASKED).run_id
    (file,) = journals()
    copy = file.with_name("copy-of-the-journal")
    copy.write_bytes(file.read_bytes())
    night.answers = True
    assert import_journal(TOPOLOGY, file)["primary"] == "east"
    end = abort_run(TOPOLOGY, run_id, reason="ada: west is back")
    assert end.outcome == "undone"
    assert read_primaries(night.ensemble, TOPOLOGY.name) == ()
    assert "primary" not in import_journal(TOPOLOGY, copy)
    assert read_primaries(night.ensemble, TOPOLOGY.name) == ()


@pytest.mark.parametrize("back", [False, True])
def test_an_imported_run_that_others_have_overtaken_is_neither_gone_on_with_nor_taken_back(
    night: Night, tmp_path: Path, *, back: bool
) -> None:
    """Another has moved meanwhile, who did not know of it: both ways would work against that."""
    night.east.dies_at = 4
    with pytest.raises(SimulatedCrash):
        run_failover(TOPOLOGY, ASKED)
    (file,) = journals()
    first = read_local_journal(file)[0]
    later = [
        replace(record, run_id="29991231T000000-failback-x", at_s=first.at_s + 10)
        for record in read_local_journal(file)[:1]
    ]
    about = {**first.data, "verb": "failback", "source": "east", "target": "west"}
    later[0] = replace(later[0], data=about)
    later.append(replace(later[0], sequence=2, kind="step-intent", step="freeze", data={}))
    write_run(night.ensemble, TOPOLOGY.name, later[0].run_id, tmp_path / "later", *later)
    night.east.dies_at, night.answers = 0, True
    import_journal(TOPOLOGY, file, order="earlier")
    effects = set(night.east.effects)
    go = partial(abort_run, reason="ada: no") if back else resume_run
    with pytest.raises(GateRefusedError, match="was overtaken: failback east → west"):
        go(TOPOLOGY, first.run_id)
    assert night.east.effects == effects


def test_an_incomplete_run_alone_says_how_it_comes_into_the_ensemble(
    night: Night, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Beside how to go on: whoever is awake when the ensemble is back has to know it."""
    file = tmp_path / "payments.yaml"
    file.write_text(yaml.safe_dump(dump_topology(TOPOLOGY)), encoding="utf-8")
    night.east.fails["write-offsets"] = StepOutcome("failed", "no coordinator")
    command = ["failover", str(file), "--attest-down", "west", "--without-coordination", "--yes"]
    assert run([*command, "--reason", "only I act"]) == 6
    (journal,) = journals()
    said = " ".join(capfd.readouterr().err.split())
    assert f" {file}; the run can only go forward: since" in said
    assert f"dcctl history {file} --import {journal}, then resume" in said
