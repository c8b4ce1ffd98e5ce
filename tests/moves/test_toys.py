"""A second mirror engine and a further kind of application take part in every move, and nothing knows of them.

Each verb by its own runbook: undisturbed, killed at everything that is done and at every record of the journal,
gone on with and taken back, after an exception at each point, and overtaken while it stood still.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import DcctlError, GateRefusedError
from orchestrator.moves.participants import Participants, Ports
from orchestrator.moves.request import FailbackRequest, FailoverRequest, SwitchoverRequest
from orchestrator.moves.situation import Situation
from orchestrator.runs.acting import World
from orchestrator.runs.engine import state_from_journal
from orchestrator.runs.estate_record import DenialLifted
from orchestrator.runs.gate import gate_result
from orchestrator.runs.live import coordination
from orchestrator.runs.live.ended import Ended
from orchestrator.runs.live.estate_facts import read_facts
from orchestrator.runs.live.history import run_records
from orchestrator.runs.live.procedure import abort_procedure, resume_procedure, run_procedure
from orchestrator.runs.live.uncoordinated import local_journal
from orchestrator.runs.plan import AskedAgain, GateResult, Plan
from orchestrator.verbs.live.failback_procedure import run_failback
from orchestrator.verbs.live.failover_procedure import run_failover
from orchestrator.verbs.live.history_import import import_journal
from orchestrator.verbs.live.move_procedure import MoveProcedure
from orchestrator.verbs.live.run_result import run_result
from orchestrator.verbs.live.runs import resume_run
from orchestrator.verbs.live.switchover_procedure import run_switchover
from orchestrator.verbs.registration import EFFECTS, effects_with
from orchestrator.verbs.run_story import run_story
from orchestrator.watch.status import mirror_status
from tests.moves.toy_engine import Copiers, ToyEngine
from tests.moves.toy_world import (
    AWAY,
    HOME,
    TALLIES,
    ToyEstate,
    ToyWorld,
    made,
    procedure_of,
    ready_for,
    said_at,
    wrong,
)
from tests.runs.crashes import ABORT, crash_everywhere, raise_everywhere, run_inline, stall_everywhere
from tests.twin import truths
from tests.twin.crew import ProcessDied
from tests.twin.record import Entry

VERBS = ("failover", "leave", "switchover", "failback")
ENTERED = {"failover": AWAY, "leave": AWAY, "switchover": AWAY, "failback": HOME}
NewWorld = Callable[[], ToyWorld]


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture(params=VERBS)
def verb(request: pytest.FixtureRequest) -> str:
    """Each of them."""
    return str(request.param)


@pytest.fixture(
    params=[
        "failover",
        pytest.param("leave", marks=pytest.mark.drills),
        "switchover",
        pytest.param("failback", marks=pytest.mark.drills),
    ]
)
def swept(request: pytest.FixtureRequest) -> str:
    """Each of them; these two have the most points at which something may go wrong, and take minutes."""
    return str(request.param)


def new_worlds(verb: str, folder: Path) -> tuple[Plan, NewWorld]:
    """The plan of a verb, and worlds in which it is made: all alike, for nothing in them is left to chance."""
    numbers = count()

    def new_world() -> ToyWorld:
        own = folder / str(next(numbers))
        return ToyWorld(estate=ready_for(verb, own), verb=verb, folder=own)

    return made(new_world().estate, verb), new_world


def at_work(estate: ToyEstate) -> set[tuple[str, str]]:
    """Tallies with the clusters at which they can work."""
    return {(name, at) for name, at in estate.tallies.running if estate.clusters[at].lets_in}


def all_at(cluster: str) -> set[tuple[str, str]]:
    """Every tally there, and only there."""
    return {(name, cluster) for name in TALLIES}


def has_arrived(verb: str) -> Callable[[Any], None]:
    """Everybody works at the place entered, from where they were."""

    def check(world: ToyWorld) -> None:
        assert wrong(world.estate) == []
        assert at_work(world.estate) == all_at(ENTERED[verb])
        assert world.estate.clusters[ENTERED[verb]].lets_in

    return check


def test_undisturbed_everybody_arrives(verb: str, tmp_path: Path) -> None:
    """Nothing is passed over; what a lost place had not given is late, not lost, once it is back."""
    plan, new_world = new_worlds(verb, tmp_path)
    world = new_world()
    assert run_inline(plan, world).outcome == "ok"
    has_arrived(verb)(world)
    lost = truths.lost_at(world.estate, ENTERED[verb])
    assert bool(lost) == (verb == "failover")


def test_killed_anywhere_it_is_gone_on_with(swept: str, tmp_path: Path) -> None:
    """Twice, at everything that is done and at every record."""
    plan, new_world = new_worlds(swept, tmp_path)
    assert crash_everywhere(plan, new_world, has_arrived(swept), second_every=61) > 80


def test_killed_anywhere_it_is_taken_back(swept: str, tmp_path: Path) -> None:
    """Before anybody may have begun at the place entered all work where they did, and no toy is held."""
    plan, new_world = new_worlds(swept, tmp_path)
    ends = set()

    def check(world: ToyWorld) -> None:
        assert wrong(world.estate) == []
        state = state_from_journal(plan, world.run_id, world.records)
        if {"start-producers", "start-tallies"} & state.effective:
            ends.add("stands")
            return
        ends.add("back")
        said = said_at(world, plan, len(world.records))
        assert said.startswith(f"Recorded as primary: {plan.source}; held: ")
        assert "tally" not in said
        assert "copying" not in said
        assert at_work(world.estate) == (set() if swept == "failover" else all_at(plan.source))
        # A way ahead that a loss has ended begins again as the lost side comes back, and goes on from then.
        assert swept == "failback" or world.estate.ahead in world.estate.copiers.running

    crash_everywhere(plan, new_world, check, second_every=61, second_undo=ABORT)
    assert ends == {"stands", "back"}


def test_an_exception_anywhere_takes_it_back_or_is_gone_on_from(swept: str, tmp_path: Path) -> None:
    """Whatever is raised by an effect or the journal: all work at one place, whichever that is."""
    plan, new_world = new_worlds(swept, tmp_path)

    def check(world: ToyWorld) -> None:
        assert wrong(world.estate) == []
        where = {at for _, at in at_work(world.estate)}
        assert where in ({plan.source}, {plan.target})
        assert at_work(world.estate) == all_at(*where)

    assert raise_everywhere(plan, new_world, check) > 40


def test_who_was_overtaken_does_no_harm(swept: str, tmp_path: Path) -> None:
    """Stopped for long at every point, while another goes on to the end."""
    plan, new_world = new_worlds(swept, tmp_path)

    def check(world: ToyWorld) -> None:
        # A look that was under way may find what the other has done since.
        known = world.estate.tallies.problems
        known[:] = [p for p in known if p != "positions are recorded of tallies that run"]
        assert [p for p in wrong(world.estate) if "is placed at" not in p] == []
        # At most the call that was under way takes effect late.
        is_late = "stop-tallies-at-west" in world.in_flight
        assert is_late or all_at(ENTERED[swept]) <= at_work(world.estate)

    assert stall_everywhere(plan, new_world, check) > 40


def test_what_a_run_holds_of_them_is_told(verb: str, tmp_path: Path) -> None:
    """Surely or maybe, as long as it holds them; what a lost place held nobody has stopped."""
    plan, new_world = new_worlds(verb, tmp_path)
    world = new_world()
    run_inline(plan, world)
    told = [said_at(world, plan, number) for number in range(len(world.records) + 1)]
    copier = "copying east → west" if verb == "failback" else "copying west → east"
    assert any(f"{copier} maybe paused" in said for said in told)
    assert any(f"{copier} paused" in said for said in told)
    is_stopped = [said for said in told if "tally ada" in said]
    assert bool(is_stopped) == (verb != "failover")
    assert all("tally" not in said for said in (told[0], told[-1]))
    if verb == "failback":
        assert any("copying west → east" in said for said in told)
        assert "copying west → east" not in told[-1]


def test_one_that_came_up_by_itself_is_stopped_before_the_logs_count(tmp_path: Path) -> None:
    """No host runs it: the hosts' programs are not all that may work at a side that has returned."""
    estate = ready_for("failback", tmp_path)
    estate.tallies.start(TALLIES, HOME)
    estate.live(2)
    assert set(estate.tallies.problems) == {"ada works at two places", "grace works at two places"}
    world = ToyWorld(estate=estate, verb="failback", folder=tmp_path)
    plan = made(estate, "failback")
    assert run_inline(plan, world).outcome == "ok"
    assert plan.step("returned-stands-still").depends_on == ("stop-returned", "stop-tallies-at-west")
    estate.tallies.problems.clear()
    assert wrong(estate) == []
    assert at_work(estate) == all_at(HOME)


def test_at_a_place_that_answers_in_part_it_is_stopped_beside_the_hosts(tmp_path: Path) -> None:
    """Nobody is denied before both have stopped; positions are those of tallies that stand."""
    plan = made(ready_for("leave", tmp_path), "leave")
    assert {"stop-left", "stop-tallies-at-west"} <= set(plan.step("deny").depends_on)
    assert "stop-tallies-at-west" in plan.step("record-tallies").depends_on


def dies(estate: ToyEstate, verb: str, is_it: Callable[[Entry], bool]) -> tuple[MoveProcedure, str]:
    """The process has died there; returns its procedure and the run's id."""
    procedure, ids = procedure_of(estate, verb), set()
    estate.record.harm_where(is_it, "dies before")
    with pytest.raises(ProcessDied):
        run_procedure(procedure, on_event=lambda event: ids.add(event.run_id))
    estate.record.heal()
    estate.restart_dcctl()
    (run_id,) = ids
    return procedure, run_id


@pytest.mark.parametrize("go_on", [resume_procedure, partial(abort_procedure, reason="ada: no")])
def test_without_the_package_that_brought_its_steps_a_run_stays_as_it_was(
    go_on: Callable[..., Ended], tmp_path: Path
) -> None:
    """Those steps would only be missed on the way; nothing is done before."""
    estate = ready_for("switchover", tmp_path)
    procedure, run_id = dies(estate, "switchover", lambda entry: entry.verb == "place tally")
    did = len(estate.record.entries)
    with pytest.raises(GateRefusedError, match=f"{run_id}: .* does not know .*tallies"):
        go_on(procedure, run_id, effects=EFFECTS)
    assert len(estate.record.entries) == did
    assert resume_procedure(procedure, run_id, effects=effects_with(procedure.them)).end is not None


def status_of(estate: ToyEstate) -> dict[str, Any]:
    """As `dcctl status --json` has it of the mirror."""
    (mirror,) = estate.topology.replication
    return mirror_status(estate.topology, mirror, servers=estate.servers, them=estate.them)


def titles(ended: Ended, procedure: MoveProcedure) -> dict[str, str]:
    """The steps of a report, with what they came to."""
    return {row["title"]: row["outcome"] for row in run_result(ended, effects_with(procedure.them)).steps}


@pytest.mark.parametrize("verb", ["leave", "switchover", "failback"])
def test_status_names_what_an_unfinished_move_of_toys_holds(verb: str, tmp_path: Path) -> None:
    """And a report what became of each of their steps, once the move was taken back, or gone on with."""
    estate = ready_for(verb, tmp_path)
    procedure, run_id = dies(estate, verb, lambda entry: entry.verb == "place tally")
    move = status_of(estate)["last_move"]
    source = AWAY if verb == "failback" else HOME
    assert (move["run_id"], move["outcome"]) == (run_id, "incomplete")
    assert move["where_now"].startswith(f"Recorded as primary: {source}; held: ")
    assert "tally ada, tally grace stopped" in move["where_now"]
    ahead, back = "copying west → east", "copying east → west"
    assert f"{f'{back}, {ahead}' if verb == 'failback' else ahead} paused" in move["where_now"]
    records = run_records(estate.topology, run_id, estate.servers.coordination)
    story = run_story(records, effects_with(procedure.them))
    assert story["where_now"] == move["where_now"]
    assert {"tally ada", "tally grace", ahead} <= {row["subject"] for row in story["held"]}
    taken_back = abort_procedure(
        procedure, run_id, reason="ada: not today", effects=effects_with(procedure.them)
    )
    result = run_result(taken_back, effects_with(procedure.them))
    assert result.outcome == "undone"
    stop = f"Stop the tallies ada, grace at {source}"
    assert any(
        act["what"] == "undone" and act["title"] == stop for act in run_story(taken_back.events)["acts"]
    )
    assert wrong(estate) == []
    assert at_work(estate) == all_at(source)
    before = status_of(estate)["last_move"]
    assert (before["outcome"] if before else "") == ("ok" if verb == "failback" else "")


@pytest.mark.parametrize("verb", VERBS)
def test_a_report_has_their_steps_with_their_titles(verb: str, tmp_path: Path) -> None:
    """Gone on with after the process has died as their producers were to be started."""
    estate = ready_for(verb, tmp_path)
    procedure, run_id = dies(estate, verb, lambda entry: entry.verb == "start client")
    ended = resume_procedure(procedure, run_id, effects=effects_with(procedure.them))
    result, entered = run_result(ended, effects_with(procedure.them)), ENTERED[verb]
    found = titles(ended, procedure)
    assert result.outcome == "ok", result.reason
    assert found[f"Place the tallies ada, grace at {entered}"] == "ok"
    assert found[f"See the tallies ada, grace count at {entered}"] == "ok"
    copier = "east → west" if verb == "failback" else "west → east"
    assert found[f"Record where the copier {copier} has come to"] == "ok"
    assert set(result.fence_offsets["mirrored"]) == {"east.orders" if verb == "failback" else "west.orders"}
    assert result.loss == (
        {"orders": {key: {"lost": 0, "reason": "counted"} for key in "01"}} if verb == "leave" else {}
    )
    assert wrong(estate) == []


class DoubtfulEngine(ToyEngine):
    """Its copier is not to be touched just now; `asked_again`: whether that counts when a run goes on."""

    asked_again: AskedAgain = "no"

    def gates(self, s: Situation) -> tuple[GateResult, ...]:
        doubt = gate_result("copier-free", "refused", "busy", "nobody copies by hand", "ada copies by hand")
        return (*super().gates(s), replace(doubt, asked_again=self.asked_again))


@pytest.mark.parametrize(
    ("dies_at", "asked_again", "is_refused"),
    [
        ("place tally", "no", False),
        ("place tally", "to act", True),
        ("place tally", "always", True),
        ("see tallies", "to act", False),
        ("see tallies", "always", True),
    ],
)
def test_a_gate_of_ones_own_says_whether_it_is_asked_again_when_a_run_goes_on(
    dies_at: str, asked_again: AskedAgain, is_refused: bool, tmp_path: Path
) -> None:
    """Nobody has to know its name. Where only looks are left, what acts is not in question any more."""
    estate = ready_for("switchover", tmp_path)
    if dies_at == "see tallies":
        estate.tallies.live = lambda: None  # type: ignore[method-assign] # nobody is seen: its looks stay open
        run_id = run_procedure(procedure_of(estate, "switchover")).run_id
    else:
        _, run_id = dies(estate, "switchover", lambda entry: entry.verb == dies_at)
    engine = DoubtfulEngine(estate.copiers)
    engine.asked_again = asked_again
    estate.them = replace(estate.them, engines=(engine,))
    procedure = procedure_of(estate, "switchover")
    if not is_refused:
        assert resume_procedure(procedure, run_id, effects=effects_with(procedure.them)).end is not None
        return
    with pytest.raises(GateRefusedError, match="copier-free refused: ada copies by hand"):
        resume_procedure(procedure, run_id, effects=effects_with(procedure.them))


def test_who_was_not_seen_is_named_with_what_is_held(tmp_path: Path) -> None:
    """Nobody knows whether they work: the run is not done, and says who, and what stands still for it."""
    estate = ready_for("switchover", tmp_path)
    estate.tallies.live = lambda: None  # type: ignore[method-assign] # they hang
    procedure = procedure_of(estate, "switchover")
    result = run_result(run_procedure(procedure), effects_with(procedure.them))
    assert (result.outcome, result.not_seen) == ("unknown", ["ada", "grace"])
    assert result.where_now == (
        "Recorded as primary: east; held: applications denied at west; copying west → east paused"
    )
    assert status_of(estate)["last_move"]["where_now"] == result.where_now


@pytest.mark.parametrize("doing", ["stop tally", "stop copier", "place tally"])
def test_what_fails_takes_a_planned_move_back(doing: str, tmp_path: Path) -> None:
    """All work where they did, from where they were."""
    estate = ready_for("switchover", tmp_path)
    estate.record.harm_where(lambda entry: entry.verb == doing, "fails")
    procedure = procedure_of(estate, "switchover")
    result = run_result(run_procedure(procedure), effects_with(procedure.them))
    assert result.outcome == "undone", result.reason
    assert wrong(estate) == []
    assert at_work(estate) == all_at(HOME)


def test_the_usual_verbs_take_a_further_kind_with_them(tmp_path: Path) -> None:
    """Along MirrorMaker, with all gates; killed on the way, and gone on with. There, and back."""
    estate = ToyEstate(tmp_path, is_usual=True)
    estate.live(30)
    there = SwitchoverRequest(to=AWAY, by="ada", reason="a rehearsal")
    asked = {"servers": estate.servers, "them": estate.them}
    ids = set()
    estate.record.harm_where(lambda entry: entry.verb == "place tally", "dies before")
    with pytest.raises(ProcessDied):
        run_switchover(estate.topology, there, on_event=lambda event: ids.add(event.run_id), **asked)
    estate.record.heal()
    estate.restart_dcctl()
    assert "tally ada" in status_of(estate)["last_move"]["where_now"]
    (run_id,) = ids
    assert resume_run(estate.topology, run_id, **asked).outcome == "ok"
    assert wrong(estate) == []
    assert at_work(estate) == all_at(AWAY)
    back = FailbackRequest(to=HOME, by="ada", reason="a rehearsal")
    result = run_failback(estate.topology, back, **asked)
    assert result.outcome == "ok", result.reason
    assert "Place the tallies ada, grace at west" in {step["title"] for step in result.steps}
    assert wrong(estate) == []
    assert at_work(estate) == all_at(HOME)


def test_what_a_further_kind_has_recorded_without_the_ensemble_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As each of its effects says it; who does not know that kind does not pass over it."""
    estate = ToyEstate(tmp_path, is_usual=True)
    estate.live(30)
    estate.lose(HOME)
    estate.ensemble.is_gone = True
    estate.live(5)
    request = FailoverRequest(
        to=AWAY, attested=(HOME,), by="ada", reason="it burns", without_coordination=True
    )
    result = run_failover(estate.topology, request, servers=estate.servers, them=estate.them)
    assert result.outcome == "ok", result.reason
    monkeypatch.setattr(coordination, "Coordination", lambda *_, **__: estate.ensemble)
    estate.ensemble.is_gone = False
    journal, before = local_journal(estate.topology.name, result.run_id), dict(estate.ensemble.nodes)
    with pytest.raises(DcctlError, match="its action toy-place-tallies is not known here"):
        import_journal(estate.topology, journal)
    assert estate.ensemble.nodes == before
    assert import_journal(estate.topology, journal, them=estate.them)["primary"] == AWAY
    facts = read_facts(estate.ensemble, estate.topology.name, (DenialLifted,))
    allow_at_target = [DenialLifted(cluster=AWAY, topics=((AWAY, name),)) for name in TALLIES]
    assert [fact.body for fact in facts] == allow_at_target


def test_a_mirror_that_its_engine_cannot_run_is_refused_with_what_that_lacks(tmp_path: Path) -> None:
    """Of an estate without Connect the usual verbs say that; a toy's needs none."""
    estate = ready_for("failover", tmp_path)
    request = FailoverRequest(to=AWAY, attested=(HOME,), by="ada", reason="it burns")
    (mirror,) = estate.topology.replication
    usual = replace(estate.topology, replication=(replace(mirror, engine="mirrormaker2"),))
    with pytest.raises(DcctlError) as refused:
        run_failover(usual, request, servers=estate.servers)
    assert str(refused.value) == (
        "mirror west → east: MirrorMaker 2 needs Connect workers: add clusters.east.connect"
    )
    estate.copiers.at.clear()
    with pytest.raises(DcctlError, match="mirror west → east: no copier west → east has begun"):
        run_failover(estate.topology, request, servers=estate.servers, them=estate.them)


def test_status_asks_no_connect_of_an_engine_that_has_no_need_of_it(tmp_path: Path) -> None:
    """What the engine says itself is told, and nothing is wrong with what is not there."""
    estate = ready_for("switchover", tmp_path)
    assert not any(cluster.has_connect for cluster in estate.topology.clusters.values())
    mirror = status_of(estate)["mirror"]
    assert (mirror["states"], mirror["problems"]) == ({"copier-west": "RUNNING"}, [])


def test_a_port_has_one_who_brings_it(tmp_path: Path) -> None:
    """Two that bring the same one would take each other's place."""
    estate = ready_for("switchover", tmp_path)
    kinds, engine = estate.them.kinds, ToyEngine(estate.copiers)
    twice = Participants(kinds=kinds, engines=(engine, engine))
    world = ToyWorld(estate=estate, verb="switchover", folder=tmp_path)
    world.process = "process-1"
    world.on_loss(lambda _: None)
    session: World = world.actions["process-1"]._world
    found: Ports = estate.them.ports(session)
    assert found[Copiers] is session.port(Copiers) is estate.copiers
    with pytest.raises(DcctlError, match="port Copiers: two participants bring it"):
        twice.ports(session)
