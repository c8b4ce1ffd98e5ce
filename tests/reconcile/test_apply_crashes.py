"""An apply killed at every point, and gone on with in each way: the same state is reached.

The actions are the real ones; the clusters live in memory, and each change of each object is a point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from orchestrator.errors import ClusterError, ConnectError, GateRefusedError
from orchestrator.estate.observed import ObservedEstate
from orchestrator.ports.connector import ConnectorStatus
from orchestrator.ports.servers import TopicDescription
from orchestrator.reconcile.applied import Applied
from orchestrator.reconcile.difference import Difference
from orchestrator.reconcile.planning import plan_reconcile, record_of
from orchestrator.reconcile.ports import ReconciledClusters
from orchestrator.reconcile.record import LastLook
from orchestrator.runs.acting import EffectActions
from orchestrator.runs.engine import Results, StepOutcome, state_from_journal
from orchestrator.runs.live.estate_store import EnsembleRecord
from orchestrator.runs.live.refusals import refuse_unless_undoable
from orchestrator.runs.live.run_session import RunSession
from orchestrator.runs.plan import Plan, RunEvent, Step, plan_from_json, to_json
from orchestrator.topology.model import Replication, Topic, Topology
from orchestrator.values import Acl, TopicPartition
from orchestrator.verbs.live.real_servers import REAL_SERVERS
from orchestrator.verbs.registration import EFFECTS
from tests.reconcile.estates import NOW_S, as_described, coordinated, empty, with_config, with_topic
from tests.reconcile.layouts import active_active, cluster, site, stretched
from tests.reconcile.memory_estate import MemoryCluster, contents, memory_clusters, picture_of
from tests.runs.crashes import (
    ABORT,
    CrashingJournal,
    crash_everywhere,
    raise_everywhere,
    run_inline,
    run_until,
)
from tests.runs.memory_ensemble import MemoryEnsemble, MemoryLock
from tests.verbs.known_names import assert_all_known


class _Instant(RunSession):
    """In memory nothing comes a moment later: what is not there now will not come."""

    def await_true(self, condition: Callable[[], bool], timeout_s: float, poll_s: float = 0.2) -> bool:
        assert timeout_s > poll_s
        return condition()


@dataclass
class World(CrashingJournal):
    """Clusters, journal and record of one estate, all of which survive a crash."""

    topology: Topology = field(default_factory=active_active)
    start: ObservedEstate | None = None
    applied: Applied | None = None
    clusters: dict[str, MemoryCluster] = field(default_factory=dict)
    ensemble: MemoryEnsemble = field(default_factory=MemoryEnsemble)

    def __post_init__(self) -> None:
        self.clusters = memory_clusters(self.start or empty(self.topology), self.point)
        self._actions = self._new_actions()

    def plan(self) -> Plan:
        """As it would be made now, and as it would be read back from the journal."""
        made = plan_reconcile(
            self.topology,
            picture_of(self.clusters, NOW_S),
            coordination=coordinated(),
            applied=self.applied,
        )
        return plan_from_json(to_json(made))

    def perform(self, step: Step, results: Results) -> StepOutcome:
        self.point()
        found = self._actions.perform(step, results)
        self.point()
        return found

    def verify(self, step: Step, results: Results) -> StepOutcome:
        self.point()
        return self._actions.verify(step, results)

    def compensate(self, step: Step, results: Results) -> StepOutcome:
        self.point()
        return self._actions.compensate(step, results)

    def verify_undone(self, step: Step, results: Results) -> StepOutcome:
        self.point()
        return self._actions.verify_undone(step, results)

    def cancel(self) -> None: ...

    def begin_anew(self) -> None:
        """Another run: its journal is empty, and the estate is what the last one left."""
        self.records: list[RunEvent] = []

    def _new_actions(self) -> EffectActions:
        def plan_again() -> tuple[Plan, Applied]:
            plan = self.plan()
            differences = [Difference(**row) for row in plan.facts["differences"]]
            picture = picture_of(self.clusters, NOW_S)
            return plan, record_of(self.topology, picture, differences, self.applied, "run-1")

        def keep(applied: Applied) -> None:
            self.point()
            self.applied = applied
            self.point()

        session = _Instant(
            self.topology,
            Path("/nowhere"),
            run_id="run-1",
            servers=REAL_SERVERS,
            estate_record=EnsembleRecord(MemoryLock(self.ensemble, "lock"), self.topology.name, "run-1"),
            more_ports={
                ReconciledClusters: ReconciledClusters(self.clusters),
                LastLook: LastLook(plan_again, keep),
            },
        )
        return EffectActions(EFFECTS, session)


def _everything() -> World:
    """From nothing to two sites that mirror each other; without consumers, to have fewer points."""
    ahead, back = active_active().replication
    mirrors = (replace(ahead, max_bytes_per_s=3_000_000), back)
    return World(topology=replace(active_active(), consumers=(), replication=mirrors))


def a_changing_world() -> World:
    """Of everything that can change without destroying anything, one, and what somebody has spoilt."""
    before = active_active()
    wide = cluster(site("east", 2, connect_workers=1), site("north", 2), bootstrap=("e:1",))
    before = replace(
        before, datacenters=("west", "east", "north"), clusters={**before.clusters, "east": wide}
    )
    after = replace(
        before,
        topics=tuple(
            replace(t, partitions=8, config={"max.message.bytes": "2000000"})
            if t.cluster == "west"
            else replace(t, replicas=4, min_insync_replicas=3)
            for t in before.topics
        ),
        replication=(
            before.replication[0],
            replace(before.replication[1], tasks_max=3, max_bytes_per_s=3_000_000),
        ),
    )
    estate = with_config(as_described(before), "east", "west.orders", {"min.insync.replicas": "1"})
    estate = with_topic(estate, "west", "east.orders", lambda _: None)
    return World(topology=after, start=estate)


def _destruction() -> World:
    """What is allowed to be destroyed: a topic, rules, a connector's mirror, copies."""
    before = stretched(
        Topic(name="orders", cluster="main", partitions=4, replicas=4, min_insync_replicas=3),
        Topic(name="old", cluster="main", partitions=2, replicas=2, min_insync_replicas=1),
    )
    after = replace(
        before,
        topics=(replace(before.topics[0], replicas=2, min_insync_replicas=1),),
        allow=("delete-topics", "reduce-durability", "delete-acls"),
    )
    world = World(topology=before, start=as_described(before))
    assert run_inline(world.plan(), world).outcome == "ok"
    return World(topology=after, start=picture_of(world.clusters, NOW_S), applied=world.applied)


def a_dropped_mirror() -> World:
    """One of two mirrors has left the file, and what it needed may be deleted."""
    before = active_active()
    first = World(topology=before)
    assert run_inline(first.plan(), first).outcome == "ok"
    file = replace(
        before,
        layout="active-passive",
        replication=before.replication[:1],
        allow=("delete-connectors", "delete-acls", "delete-topics"),
    )
    return World(topology=file, start=picture_of(first.clusters, NOW_S), applied=first.applied)


WORLDS = [_everything, a_changing_world, _destruction]
# Two kills at every point of the largest take two minutes.
LARGEST_APART = [pytest.param(_everything, marks=pytest.mark.drills), a_changing_world, _destruction]


@pytest.mark.parametrize("new_world", WORLDS)
def test_afterwards_nothing_is_left_to_do(new_world: object) -> None:
    """The plan of the second apply is empty."""
    world = new_world()  # type: ignore[operator]
    assert world.plan().steps
    assert run_inline(world.plan(), world).outcome == "ok"
    again = world.plan()
    assert (again.steps, again.facts["done_by"]) == ((), "run-1")


@pytest.mark.parametrize("new_world", WORLDS)
def test_killed_anywhere_and_resumed_it_reaches_the_same_state(new_world: object) -> None:
    """Killed twice, at every point in its turn."""
    undisturbed = new_world()  # type: ignore[operator]
    plan = undisturbed.plan()
    assert run_inline(plan, undisturbed).outcome == "ok"
    expected = contents(undisturbed.topology, undisturbed.clusters)

    def check(world: World) -> None:
        assert contents(world.topology, world.clusters) == expected
        assert world.plan().steps == ()

    assert crash_everywhere(plan, new_world, check, second_every=151) > 30  # type: ignore[arg-type]


@pytest.mark.parametrize("new_world", WORLDS)
def test_an_exception_anywhere_and_resumed_it_reaches_the_same_state(new_world: object) -> None:
    """Whatever a client of Kafka or Connect raises in the middle: the run ends in words."""
    undisturbed = new_world()  # type: ignore[operator]
    plan = undisturbed.plan()
    assert run_inline(plan, undisturbed).outcome == "ok"
    expected = contents(undisturbed.topology, undisturbed.clusters)

    def check(world: World) -> None:
        assert contents(world.topology, world.clusters) == expected

    assert raise_everywhere(plan, new_world, check) > 30  # type: ignore[arg-type]


@pytest.mark.parametrize("new_world", WORLDS)
def test_killed_anywhere_and_applied_again_it_reaches_the_same_state(new_world: object) -> None:
    """The second apply knows nothing of the first but what it finds."""
    undisturbed = new_world()  # type: ignore[operator]
    assert run_inline(undisturbed.plan(), undisturbed).outcome == "ok"
    expected = contents(undisturbed.topology, undisturbed.clusters)
    points = undisturbed.points
    assert points > 30
    for crash_at in range(1, points + 1):
        world = new_world()  # type: ignore[operator]
        assert run_until(world.plan(), world, crash_at)
        world.begin_anew()
        world.crash_at = -1
        again = world.plan()
        if again.steps:
            assert again.is_allowed, again.gates
            assert run_inline(again, world).outcome == "ok"
        assert contents(world.topology, world.clusters) == expected
        assert world.plan().steps == ()


def test_killed_anywhere_and_aborted_nothing_of_it_stays() -> None:
    """What was created is gone, what was there is as it was."""
    world = _everything()
    before = contents(world.topology, world.clusters)
    plan = world.plan()
    run_inline(plan, world)
    for crash_at in range(1, world.points):
        world = _everything()
        run_until(plan, world, crash_at)
        is_begun = any(record.kind == "step-intent" for record in world.records)
        is_over = any(record.step == "record-applied" for record in world.records)
        if not is_begun or is_over:
            continue
        world.crash_at = -1
        assert run_inline(plan, world, undo=ABORT).outcome == "undone"
        assert contents(world.topology, world.clusters) == before


@pytest.mark.parametrize("new_world", LARGEST_APART)
def test_killed_anywhere_and_killed_again_while_it_is_aborted(new_world: object) -> None:
    """On the way back too it may die anywhere: what can go is gone, and what stays is named."""
    start = new_world()  # type: ignore[operator]
    before = contents(start.topology, start.clusters)
    plan = start.plan()
    for_good = {step.id for step in plan.steps if step.irreversible}

    def check(world: World) -> None:
        end = world.records[-1]
        stands = set(end.data["stands"])
        assert stands <= for_good
        if stands:
            assert end.data["outcome"] == "incomplete"
            assert all(step in end.message for step in stands)
        else:
            assert end.data["outcome"] == "undone"
            assert contents(world.topology, world.clusters) == before

    ends = crash_everywhere(plan, new_world, check, second_every=211, second_undo=ABORT)  # type: ignore[arg-type]
    assert ends > 30


def test_a_topic_with_records_is_not_taken_back() -> None:
    """Somebody has begun to use it."""
    world = _everything()
    plan = world.plan()
    run_until(plan, world, -1)
    world.records = [r for r in world.records if r.kind != "run-ended"]
    world.clusters["west"].records["orders"] = 7
    end = run_inline(plan, world, undo=ABORT)
    assert end.outcome != "undone"
    said = "undoing create-topics-west-1 partial: topics not deleted, because they have records: orders; orders still exists; "
    assert f"{said}done: " in end.reason
    assert set(world.clusters["west"].picture.topics) == {"orders"}


def test_a_topic_made_anew_meanwhile_is_not_deleted() -> None:
    """The plan meant another one."""
    world = _destruction()
    plan = world.plan()
    other = world.clusters["main"].picture.topics["old"]
    world.clusters["main"].delete_topics(["old"])
    world.clusters["main"]._put(replace(other, topic_id="another"))
    end = run_inline(plan, world)
    assert end.outcome == "incomplete"
    assert "created again since the plan was made: old" in end.reason
    assert "old" in world.clusters["main"].picture.topics


def test_what_is_left_undone_is_not_remembered_as_applied() -> None:
    """It stays the file's change; it does not become somebody's drift."""
    before = stretched(Topic(name="orders", cluster="main", partitions=4, replicas=2, min_insync_replicas=1))
    longer = replace(before.topics[0], config={"retention.ms": "2000"})
    shorter = replace(before.topics[0], config={"retention.ms": "1000"})
    first = World(topology=replace(before, topics=(longer,)), start=empty(before))
    run_inline(first.plan(), first)
    second = World(
        topology=replace(before, topics=(shorter,)),
        start=picture_of(first.clusters, NOW_S),
        applied=first.applied,
    )
    plan = second.plan()
    assert plan.steps == ()
    (row,) = plan.facts["differences"]
    assert (row["cause"], row["mend"]) == ("change", "not-allowed")


def causes_once_somebody_has_set_it_back(after: World) -> dict[str, str]:
    """Aspect -> cause of what differs, once `segment.ms` is by hand what it was before an apply."""
    back = {"segment.ms": "100000"}
    start = with_config(picture_of(after.clusters, NOW_S), "main", "orders", back)
    world = World(topology=after.topology, start=start, applied=after.applied)
    return {row["aspect"]: row["cause"] for row in world.plan().facts["differences"]}


@pytest.mark.parametrize("applied_before", [True, False], ids=["applied before", "first apply"])
def test_one_setting_that_is_left_makes_nobody_forget_the_others(applied_before: bool) -> None:
    """It stays a change of the file; another one of its topic that somebody sets back is drift."""
    plain = Topic(name="orders", cluster="main", partitions=4, replicas=2, min_insync_replicas=1)
    before = stretched(replace(plain, config={"retention.ms": "2000", "segment.ms": "100000"}))
    first = World(topology=before)
    run_inline(first.plan(), first)
    second = World(
        topology=stretched(replace(plain, config={"retention.ms": "1000", "segment.ms": "200000"})),
        start=with_config(picture_of(first.clusters, NOW_S), "main", "orders", {"max.message.bytes": "5"}),
        applied=first.applied if applied_before else None,
    )
    assert run_inline(second.plan(), second).outcome == "ok"
    assert second.plan().steps == ()
    found = causes_once_somebody_has_set_it_back(second)
    assert (found["config segment.ms"], found["config retention.ms"]) == ("drift", "change")


def test_replicas_that_are_left_make_nobody_forget_the_settings() -> None:
    """Fewer copies are not allowed here; they stay what the file says anew."""
    topic = Topic(name="orders", cluster="main", partitions=4, replicas=4, min_insync_replicas=1)
    topic = replace(topic, config={"segment.ms": "100000"})
    first = World(topology=stretched(topic))
    run_inline(first.plan(), first)
    fewer = replace(topic, replicas=2, config={"segment.ms": "200000"})
    second = World(topology=stretched(fewer), start=picture_of(first.clusters, NOW_S), applied=first.applied)
    assert run_inline(second.plan(), second).outcome == "ok"
    assert second.plan().steps == ()
    found = causes_once_somebody_has_set_it_back(second)
    assert found == {"config segment.ms": "drift", "replicas": "change"}


def test_a_mirror_that_the_file_dropped_goes_with_its_rules() -> None:
    """Connectors, rules and topics, each as it is allowed."""
    second = a_dropped_mirror()
    assert run_inline(second.plan(), second).outcome == "ok"
    west = second.clusters["west"]
    assert west.connectors() == {}
    assert "east.orders" not in west.picture.topics
    mine = Acl("User:mirror", "WRITE", "ALLOW", "TOPIC", "east.orders")
    assert mine not in west.acls()
    assert second.plan().steps == ()


def test_a_failed_step_stops_those_behind_it_and_no_others() -> None:
    """East's connectors wait for west's topics; west's own do not wait for each other."""

    class Sick(MemoryCluster):
        def create_topics(self, topics: object) -> None: ...

    world = _everything()
    world.clusters["east"].__class__ = Sick
    end = run_inline(world.plan(), world)
    assert end.outcome == "incomplete"
    assert "create-topics-east-1 partial" in end.reason
    assert "orders" in world.clusters["west"].picture.topics
    assert world.clusters["east"].connectors() == {}


def test_of_topics_that_were_deleted_in_part_the_rest_is_named_and_goes_when_it_is_gone_on_with() -> None:
    """Nothing brings back what is gone: an abort has to leave it by name, and what is not gone is no failure."""
    before = stretched(
        *(
            Topic(name=name, cluster="main", partitions=2, replicas=2, min_insync_replicas=1)
            for name in ("orders", "old", "older")
        )
    )
    first = World(topology=before, start=as_described(before))
    assert run_inline(first.plan(), first).outcome == "ok"
    file = replace(before, topics=before.topics[:1], allow=("delete-topics", "delete-acls"))
    world = World(topology=file, start=picture_of(first.clusters, NOW_S), applied=first.applied)
    plan = world.plan()
    (step,) = (step for step in plan.steps if step.action == "delete-topics")

    class Sick(MemoryCluster):
        def delete_topics(self, names: Iterable[str]) -> None:
            super().delete_topics(name for name in names if name != "older")
            raise ClusterError("cluster main", "topic older: timed out")

    main = world.clusters["main"]
    main.__class__ = Sick
    end = run_inline(plan, world)
    assert end.outcome == "incomplete"
    assert (
        f"{step.id} partial: cluster main: topic older: timed out; older still exists; done: old"
        in end.reason
    )
    state = state_from_journal(plan, "run-1", world.records)
    with pytest.raises(GateRefusedError, match=f"--leave {step.id}"):
        refuse_unless_undoable(state, world.records, frozenset(), "nothing is held")
    main.__class__ = MemoryCluster
    assert run_inline(plan, world).outcome == "ok"
    assert world.clusters["main"].picture.topics.keys() == {"orders"}


class _Patient(_Instant):
    """Asks as often as there is time for, in no time."""

    def await_true(self, condition: Callable[[], bool], timeout_s: float, poll_s: float = 0.2) -> bool:
        return any(condition() for _ in range(round(timeout_s / poll_s)))


def _patient(world: World) -> EffectActions:
    session = _Patient(
        world.topology,
        Path("/nowhere"),
        run_id="run-1",
        servers=REAL_SERVERS,
        more_ports={ReconciledClusters: ReconciledClusters(world.clusters)},
        estate_record=EnsembleRecord(MemoryLock(world.ensemble, "lock"), world.topology.name, "run-1"),
    )
    return EffectActions(EFFECTS, session)


@pytest.mark.parametrize(("refusals", "outcome"), [(5, "ok"), (10_000, "unknown")])
def test_connect_is_asked_again_while_that_may_help(refusals: int, outcome: str) -> None:
    """It rebalances, or does not answer in time."""
    world = _everything()
    step = next(step for step in world.plan().steps if step.action == "create-connectors")
    said = ConnectError("Connect at west", "no worker answers (timed out)", is_passing=True)

    class Busy(MemoryCluster):
        asked = 0

        def configure(self, connector: str, config: Mapping[str, str]) -> None:
            self.asked += 1
            if self.asked <= refusals:
                raise said
            super().configure(connector, config)

    world.clusters[step.arguments["cluster"]].__class__ = Busy
    found = _patient(world).perform(step, {})
    assert found.outcome == outcome
    assert ("no worker answers" in found.message) == (outcome == "unknown")


def test_connectors_that_nobody_asked_for_are_not_waited_for() -> None:
    """Killed before it asked, an apply is resumed in seconds, not after the step's two minutes."""
    world = _everything()
    step = next(step for step in world.plan().steps if step.action == "create-connectors")
    looks: list[None] = []

    class Watched(MemoryCluster):
        def described(self) -> dict[str, tuple[dict[str, str], ConnectorStatus]]:
            looks.append(None)
            return super().described()

    world.clusters[step.arguments["cluster"]].__class__ = Watched
    found = _patient(world).verify(step, {})
    assert (found.outcome, "is missing" in found.message) == ("failed", True)
    assert len(looks) * 0.2 < 15 < step.timeout_s


@pytest.mark.parametrize(("polls", "outcome"), [(5, "ok"), (1_000, "failed")])
def test_a_move_of_which_a_broker_tells_late_is_waited_for(polls: int, outcome: str) -> None:
    """Nothing is copied any more, and the metadata still show the old place: only if that stays is it wrong."""
    world = _destruction()
    (step,) = (step for step in world.plan().steps if step.action == "move-replicas")
    before = world.clusters["main"].picture

    class Late(MemoryCluster):
        asked = 0

        def describe_topics(self, names: Iterable[str]) -> dict[str, TopicDescription]:
            self.asked += 1
            shown = MemoryCluster(before, lambda: None) if self.asked < polls else super()
            return shown.describe_topics(names)

    world.clusters["main"].__class__ = Late
    actions = _patient(world)
    assert actions.perform(step, {}).outcome == "ok"
    assert actions.verify(step, {}).outcome == outcome


@pytest.mark.parametrize(("silent", "outcome"), [(100, "ok"), (10_000, "unknown")])
def test_a_look_without_an_answer_ends_no_move_of_a_day(silent: int, outcome: str) -> None:
    """Kafka copies on while a controller changes; one that stays away is told."""
    world = _destruction()
    (step,) = (step for step in world.plan().steps if step.action == "move-replicas")

    class Silent(MemoryCluster):
        asked = 0

        def list_reassignments(self) -> frozenset[TopicPartition]:
            self.asked += 1
            if self.asked <= silent:
                raise ClusterError("cluster main", "listing reassignments timed out")
            return super().list_reassignments()

    world.clusters["main"].__class__ = Silent
    actions = _patient(world)
    assert actions.perform(step, {}).outcome == "ok"
    found = actions.verify(step, {})
    assert (found.outcome, "cluster main: listing" in found.message) == (outcome, outcome == "unknown")


def test_a_topic_that_somebody_else_made_meanwhile_is_not_taken_back() -> None:
    """An application came first: its topic is not as the plan would have made it, and stays, empty as it is."""
    world = _everything()
    plan = world.plan()
    theirs = as_described(world.topology).clusters["west"].topics["orders"]
    replicas = theirs.replicas[:1]
    theirs = replace(theirs, replicas=replicas, isr=replicas, leaders=(1,), config={})
    world.clusters["west"]._put(theirs)
    end = run_inline(plan, world)
    assert end.outcome == "incomplete"
    assert "orders has 1 partitions" in end.reason
    if any(record.kind == "run-ended" for record in world.records):
        world.records = [record for record in world.records if record.kind != "run-ended"]
    end = run_inline(plan, world, undo=ABORT)
    assert end.outcome == "undone", end.reason
    assert world.clusters["west"].picture.topics == {"orders": theirs}


def test_steps_of_the_plan_are_effects() -> None:
    """No step names an action that does not exist, or has arguments that do not fit."""
    for new_world in WORLDS:
        assert_all_known(new_world().plan())


def test_mirrors_of_unmanaged_owners_are_no_business() -> None:
    """Nothing is created for them but what is ours."""
    topology = active_active()
    theirs = Replication(source="east", target="west", topics=("orders",), managed=False)
    world = World(topology=replace(topology, replication=(topology.replication[0], theirs)))
    assert run_inline(world.plan(), world).outcome == "ok"
    assert world.clusters["west"].connectors() == {}
    assert "east.orders" not in world.clusters["west"].picture.topics
