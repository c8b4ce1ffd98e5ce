"""Who may go on with what: refusals of a failover and of its resumption, and what they leave behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from orchestrator.errors import ClusterError, DcctlError, GateRefusedError, UsageError
from orchestrator.moves.results import TopicEnds
from orchestrator.moves.way import Way
from orchestrator.moves.ways import way_along
from orchestrator.replication.mirror_ref import source_partitions
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.engine import StepOutcome
from orchestrator.runs.live import coordination, procedure
from orchestrator.runs.live.earlier_runs import earlier_runs, newest_runs
from orchestrator.runs.live.journal import journal_records
from orchestrator.runs.live.state_folder import run_folder
from orchestrator.runs.plan import Plan, canonical_json, to_json
from orchestrator.snapshot.observation import SourceProbe
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.values import TopicPartition
from orchestrator.verbs.live import move_procedure, runs
from orchestrator.verbs.live.failover_procedure import run_failover
from orchestrator.verbs.live.move_estate import Estate
from orchestrator.verbs.live.real_servers import RealServers
from orchestrator.verbs.live.runs import abort_run, resume_run
from orchestrator.verbs.plans import plan_failover
from orchestrator.verbs.registration import EFFECTS, PARTICIPANTS
from tests.runs.memory_ensemble import MemoryEnsemble, a_record, write_run
from tests.verbs.pictures import AHEAD, MIRROR, NOW_S, REQUEST, observation, part, topology, with_parts
from tests.verbs.some_moves import in_journal
from tests.verbs.some_servers import ClockAt

TOPOLOGY = topology()
WAY = way_along(TOPOLOGY, AHEAD, PARTICIPANTS, reach="gone")
LOST = observation()
BACK_AGAIN = with_parts(LOST, source=part(SourceProbe({"west:1": "yes"}, "", "id-west")))
ABOUT = {"verb": "failover", "source": "west", "target": "east"}


class Quiet:
    """East, whose topics end where they did: nobody writes."""

    name = "east"

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 5)

    def follow(self, _starts: object) -> NoReturn:
        raise ClusterError("cluster east", "no broker answers")


class Rehearsal:
    """The ensemble in memory, and a world that is as `picture` says whenever it is observed."""

    def __init__(self) -> None:
        self.ensemble = MemoryEnsemble()
        self.picture = LOST
        self.now_s = NOW_S
        self.observed = 0

    def observe(self, _estate: Estate, _way: Way, *, them: Any, own_lock: bool, own_run: str) -> Snapshot:
        assert own_lock
        assert them.kinds
        self.observed += 1
        runs = earlier_runs(self.ensemble, TOPOLOGY.name, without=own_run, effects=EFFECTS)
        return replace(self.picture, at_s=self.now_s, coordination=part(CoordinationState("", runs)))

    def records(self, folder: Path, run_id: str) -> list[str]:
        return [e.kind for e in journal_records(self.ensemble, TOPOLOGY.name, run_id, folder)]

    def leave_run(self, folder: Path, *, begun: bool, plan: Plan | None = None) -> None:
        plan = plan or plan_failover(TOPOLOGY, LOST, REQUEST)
        records = [a_record("r1", 1, "run-started", **ABOUT, plan=to_json(plan))]
        if begun:
            records.append(a_record("r1", 2, "step-intent", plan.steps[0].id))
        write_run(self.ensemble, TOPOLOGY.name, "r1", folder, *records)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Rehearsal:
    rehearsal = Rehearsal()
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path))

    def open_estate(*_: Any) -> Estate:
        return Estate(TOPOLOGY, WAY, Quiet(), None, rehearsal.ensemble)  # type: ignore[arg-type]

    monkeypatch.setattr(move_procedure, "open_estate", open_estate)
    monkeypatch.setattr(move_procedure, "observe", rehearsal.observe)
    monkeypatch.setattr(coordination, "Coordination", lambda *_, **__: rehearsal.ensemble)
    return rehearsal


@contextmanager
def refused(*words: str) -> Iterator[None]:
    with pytest.raises(GateRefusedError) as caught:
        yield
    for word in words:
        assert word in str(caught.value)


def test_a_refused_resumption_leaves_the_run_open(world: Rehearsal, tmp_path: Path) -> None:
    """The next failover must still be sent back to it: half of it is done."""
    world.leave_run(run_folder("r1"), begun=True)
    world.picture = BACK_AGAIN
    with refused("source-unreachable", "The run stays as it was"):
        resume_run(TOPOLOGY, "r1")
    assert world.records(run_folder("r1"), "r1") == ["run-started", "step-intent"]
    world.picture = LOST
    with refused("stopped on the way", "dcctl resume r1"):
        run_failover(TOPOLOGY, REQUEST, folder=tmp_path / "next")


@pytest.mark.parametrize("was_allowed", [True, False])
def test_what_nobody_began_is_not_gone_on_with(
    world: Rehearsal, tmp_path: Path, *, was_allowed: bool
) -> None:
    """A plan that was refused, or declined, or never answered, cannot be run by the back door."""
    plan = None if was_allowed else plan_failover(TOPOLOGY, LOST, replace(REQUEST, attested=()))
    world.leave_run(run_folder("r1"), begun=not was_allowed, plan=plan)
    with refused("no step of the run was begun", "run dcctl failover again"):
        resume_run(TOPOLOGY, "r1")
    assert world.observed == 0
    assert "run-ended" not in world.records(run_folder("r1"), "r1")


def test_an_abort_takes_no_run_back_whose_producers_may_write_at_the_target(world: Rehearsal) -> None:
    """It says so, names the ways that are left, and changes nothing."""
    world.leave_run(run_folder("r1"), begun=True)
    journal = f"/dcctl/{TOPOLOGY.name}/runs/r1"
    started = a_record("r1", 3, "step-intent", "start-producers")
    world.ensemble.nodes[f"{journal}/{started.name}"] = canonical_json(to_json(started)).encode()
    with refused(
        "cannot be rolled back any more: since", "Start the producers", "dcctl resume r1 FILE; or", "--leave"
    ):
        abort_run(TOPOLOGY, "r1", reason="too early")
    assert world.records(run_folder("r1"), "r1") == ["run-started", "step-intent", "step-intent"]


def test_a_run_that_is_over_is_not_aborted(world: Rehearsal) -> None:
    """What has ended ok is left by the verb that leads back."""
    for run_id, outcome, words in (("r1", "ok", "ended ok"), ("r2", "undone", "rolled back already")):
        records = [
            a_record(run_id, 1, "run-started", **ABOUT, plan=to_json(plan_failover(TOPOLOGY, LOST, REQUEST))),
            a_record(run_id, 2, "step-intent", "let-land"),
            a_record(run_id, 3, "run-ended", outcome=outcome),
        ]
        write_run(world.ensemble, TOPOLOGY.name, run_id, run_folder(run_id), *records)
        with refused(words):
            abort_run(TOPOLOGY, run_id, reason="")


def test_ctrl_c_at_the_question_is_recorded_as_declined(world: Rehearsal, tmp_path: Path) -> None:
    """And stands in the way of nothing."""
    world.leave_run(tmp_path, begun=False)

    def interrupted(_: Plan) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_failover(TOPOLOGY, REQUEST, approve=interrupted, folder=tmp_path)
    outcomes = {r.run_id: r.outcome for r in newest_runs(world.ensemble, TOPOLOGY.name, EFFECTS)}
    assert sorted(outcomes.values()) == ["declined", "not begun"]


def test_a_person_may_think_for_long(
    world: Rehearsal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The world is looked at again, and the own run is then not found to be in the way."""
    acted: list[Plan] = []
    monkeypatch.setattr(procedure, "_act", lambda _run, _procedure, plan, *_: acted.append(plan))
    monkeypatch.setattr(move_procedure, "run_result", lambda *_: None)
    servers = RealServers(clock=ClockAt(lambda: NOW_S + 3600))
    run_failover(TOPOLOGY, REQUEST, folder=tmp_path, servers=servers)
    assert world.observed == 2
    assert len(acted) == 1


def test_a_local_disk_stops_no_run(world: Rehearsal, tmp_path: Path) -> None:
    """The copy of the journal may fail: its records are in the ensemble."""
    (tmp_path / "journal.jsonl").mkdir()
    world.picture = BACK_AGAIN
    with refused("source-unreachable"):
        run_failover(TOPOLOGY, REQUEST, folder=tmp_path)
    assert [run.outcome for run in newest_runs(world.ensemble, TOPOLOGY.name, EFFECTS)] == ["refused"]


@pytest.mark.parametrize("blocked", [".", "plan.json"])
def test_evidence_that_cannot_be_kept_is_said_before_anything_is_done(
    world: Rehearsal, tmp_path: Path, blocked: str
) -> None:
    """In a sentence, and nothing is begun."""
    folder = tmp_path / "run"
    if blocked == ".":
        folder.write_text("in the way")
    else:
        (folder / blocked).mkdir(parents=True)
    with pytest.raises(DcctlError, match="cannot be"):
        run_failover(TOPOLOGY, REQUEST, folder=folder)
    assert not world.ensemble.nodes


def test_every_override_is_a_record_of_its_own(world: Rehearsal, tmp_path: Path) -> None:
    """Also of a run that is then refused: who wanted what, and why."""
    world.picture = BACK_AGAIN
    asked = replace(REQUEST, accept_loss=5, acknowledge="eve: agreed")
    with refused("source-unreachable"):
        run_failover(TOPOLOGY, asked, folder=tmp_path)
    (run,) = newest_runs(world.ensemble, TOPOLOGY.name, EFFECTS)
    records = journal_records(world.ensemble, TOPOLOGY.name, run.run_id, tmp_path)
    assert [record.message for record in records if record.kind == "override"] == [
        "--attest-down west by ada: fire",
        "--accept-loss 5 by ada: fire",
        "--acknowledge by ada for eve: agreed",
    ]


def test_a_person_attests_a_producer_when_the_run_is_resumed(
    world: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is an override of that run, and what its actions go by: only the other is still looked for."""
    world.leave_run(run_folder("r1"), begun=True)
    looked: list[StepOutcome] = []
    ends = dict.fromkeys(source_partitions(TOPOLOGY, MIRROR), 5)
    landing = TopicEnds(ends=ends, seen_from=ends, now=ends, at_s=NOW_S)

    def act(run: Any, asked: Any, plan: Plan, picture: Any, *_: Any) -> None:
        step = replace(plan.step("producers-write"), timeout_s=0.0)
        results = in_journal({"record-landing-ends": landing})
        looked.append(asked.actions(run, plan, picture).perform(step, results))

    monkeypatch.setattr(procedure, "_act", act)
    monkeypatch.setattr(runs, "run_result", lambda *_: None)
    with pytest.raises(UsageError) as refused:
        resume_run(TOPOLOGY, "r1", words={"attest-writing": ["checkuot"]})
    assert (refused.value.subject, refused.value.problem) == (
        "--attest-writing checkuot",
        "run r1 does not wait for this option",
    )
    assert refused.value.hint == "the run waits for --attest-writing checkout, --attest-writing settlement"
    assert world.records(run_folder("r1"), "r1") == ["run-started", "step-intent"]
    resume_run(TOPOLOGY, "r1", words={"attest-writing": ["checkout"]}, reason="ada: its log shows it")
    ((outcome, missing),) = [(found.outcome, found.result["not_seen"]) for found in looked]
    assert (outcome, missing) == ("unknown", ["settlement"])
    told = journal_records(world.ensemble, TOPOLOGY.name, "r1", run_folder("r1"))
    assert [r.message for r in told if r.kind == "override"] == [
        "--attest-writing checkout by ada: its log shows it"
    ]
