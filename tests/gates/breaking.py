"""What is broken, each for real and for a moment: every one says how a verb is asked then, and mends it again."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as LibTopicPartition
from confluent_kafka.admin import AdminClient

from orchestrator.adapters.kafka.access import AccessRules
from orchestrator.errors import DcctlError
from orchestrator.ports.admin_values import NewTopic
from orchestrator.runs.estate_record import ClusterIds
from orchestrator.runs.live.coordination import coordination_connection
from orchestrator.runs.live.estate_store import EnsembleRecord
from orchestrator.runs.live.journal import about_this_process, lock_path
from orchestrator.snapshot.live.reader import read_samples
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.values import Acl
from tests.gates.world import AUDITOR, Asked, World
from tests.topic_settings import set_topic_config

Breaking = Callable[[World], AbstractContextManager[Asked]]
Change = Callable[[dict[str, Any]], None]

_WITHIN_S = 60.0
_POLL_S = 0.2
_AT_REST_S = 8.0
# Longer than failover.max_position_age_s of the estate.
_SILENT_S = 6.0
_EVERYTHING = (("CLUSTER", "kafka-cluster"), ("TOPIC", "*"), ("GROUP", "*"))


def nothing(world: World) -> AbstractContextManager[Asked]:
    """Only what the state of the estate says already."""
    return asked()(world)


def asked(**how: Any) -> Breaking:
    """Nothing is broken but what is asked for."""

    @contextmanager
    def broken(_world: World) -> Iterator[Asked]:
        yield Asked(**how)

    return broken


def file_says(change: Change, **how: Any) -> Breaking:
    """The file is another one than the estate was made from."""

    @contextmanager
    def broken(world: World) -> Iterator[Asked]:
        yield Asked(file=world.variant("changed", change), **how)

    return broken


@contextmanager
def ensemble_stopped(world: World) -> Iterator[Asked]:
    """The ensemble with lock, journal and holds does not run."""
    world.simulation.coordination.stop(["zookeeper"])
    try:
        yield Asked()
    finally:
        world.simulation.coordination.start(["zookeeper"])
        await_(lambda: world.standing(is_quiet=False)["primary"] is not None and _ensemble_answers(world))


@contextmanager
def lock_held(world: World) -> Iterator[Asked]:
    """Somebody else is at it."""
    coordination = coordination_connection(world.simulation.topology)
    coordination.open()
    try:
        about = {**about_this_process("failover, by hand", "another-run"), "who": "eve"}
        lock = coordination.acquire(lock_path(world.simulation.topology.name), about)
        yield Asked(is_dry=True)
        lock.release()
    finally:
        coordination.close()


@contextmanager
def held(world: World) -> Iterator[Asked]:
    """A person keeps everybody's hands off both sites."""
    world.estate.must("hold", "all", "--reason", "disks are being swapped")
    try:
        yield Asked()
    finally:
        world.estate.must("release", "all")


def another_cluster_remembered(cluster: str) -> Breaking:
    """When somebody last took the clusters for right, this one had another id: the watcher records no more."""

    @contextmanager
    def broken(world: World) -> Iterator[Asked]:
        _by_hand(world, lambda record: record.write(ClusterIds(ids={cluster: "another-id"})))
        try:
            await_(lambda: _silent_for_s(_history(world)) > _SILENT_S)
            yield Asked()
        finally:
            _by_hand(world, lambda record: record.withdraw(ClusterIds))
            await_(lambda: is_at_work(world))

    return broken


def _by_hand(world: World, write: Callable[[EnsembleRecord], None]) -> None:
    """Write into the estate record, under the lock."""
    name = world.simulation.topology.name
    coordination = coordination_connection(world.simulation.topology)
    coordination.open()
    try:
        lock = coordination.acquire(lock_path(name), about_this_process("by hand", "by-hand"))
        write(EnsembleRecord(lock, name, "by-hand"))
        lock.release()
    finally:
        coordination.close()


def run_stopped_at(step: str, *words: str) -> Breaking:
    """A run is killed while that step is under way; it is taken back afterwards."""

    @contextmanager
    def broken(world: World) -> Iterator[Asked]:
        run = world.estate.killed_at(step, *words)
        try:
            yield Asked()
        finally:
            world.estate.ended("abort", run, "--yes", "--reason", "not tonight")

    return broken


def program_stopped(dc: str, program: str, *, for_s: float = 0.0) -> Breaking:
    """A program of a site does not run, for so long already."""

    @contextmanager
    def broken(world: World) -> Iterator[Asked]:
        world.simulation.site(dc).stop([program])
        time.sleep(for_s)
        try:
            yield Asked()
        finally:
            world.simulation.site(dc).start([program])
            await_(lambda: is_at_work(world))

    return broken


def worker_stopped() -> Breaking:
    """Connect at the target does not run. As it ends it writes down how far its mirrors have read."""
    return program_stopped("east", "connect-1")


def watcher_stopped(program: str) -> Breaking:
    """The watcher has been silent for longer than positions may be old."""
    return program_stopped("east", program, for_s=_SILENT_S)


def site_paused(dc: str, **how: Any) -> Breaking:
    """Every process of a site stands still: it takes connections, and answers nothing."""

    @contextmanager
    def broken(world: World) -> Iterator[Asked]:
        world.simulation.site(dc).pause()
        try:
            yield Asked(**how)
        finally:
            world.simulation.site(dc).resume()
            await_(lambda: is_at_work(world))

    return broken


def not_in_sync(cluster: str, topic: str) -> Breaking:
    """A topic demands more replicas in sync than there are."""

    @contextmanager
    def broken(world: World) -> Iterator[Asked]:
        kafka = world.simulation.cluster(cluster)
        set_topic_config(kafka, topic, {"min.insync.replicas": "2"})
        try:
            yield Asked()
        finally:
            set_topic_config(kafka, topic, {"min.insync.replicas": "1"})

    return broken


def takes_smaller_records(cluster: str, topic: str) -> Breaking:
    """Somebody has bounded the records of one side's topic alone."""

    @contextmanager
    def broken(world: World) -> Iterator[Asked]:
        kafka = world.simulation.cluster(cluster)
        set_topic_config(kafka, topic, {"max.message.bytes": "500000"})
        try:
            yield Asked()
        finally:
            set_topic_config(kafka, topic, {"max.message.bytes": "3000000"})

    return broken


def landing_topic_deleted(topic: str) -> Breaking:
    """A topic in which producers would land is not at the target."""

    @contextmanager
    def broken(world: World) -> Iterator[Asked]:
        kafka = world.simulation.cluster("east")
        partitions = len(kafka.topics([topic])[topic].leaders)
        with kafka:
            kafka.delete_topics([topic])
            try:
                yield Asked()
            finally:
                kafka.create_topics({topic: NewTopic(partitions=partitions, replicas=1, config={})})

    return broken


def connector_deleted(kind: str) -> Breaking:
    """One of the mirror's connectors is not there."""

    @contextmanager
    def broken(world: World) -> Iterator[Asked]:
        name = f"west-to-east-{kind}"
        config, status = world.connect.described()[name]
        world.connect.delete(name)
        await_(lambda: name not in world.connect.names())
        try:
            yield Asked()
        finally:
            if status.state == "RUNNING":
                world.connect.configure(name, config)
            else:
                world.connect.create_stopped(name, config)
            await_(lambda: world.connect.connectors()[name].state == status.state)

    return broken


def connector_stopped(kind: str) -> Breaking:
    """One of the mirror's connectors was stopped by somebody."""

    @contextmanager
    def broken(world: World) -> Iterator[Asked]:
        name = f"west-to-east-{kind}"
        world.connect.stop(name)
        await_(lambda: world.connect.connectors()[name].state == "STOPPED")
        try:
            yield Asked()
        finally:
            world.connect.resume(name)
            await_(lambda: world.connect.connectors()[name].state == "RUNNING")

    return broken


@contextmanager
def member_at_target(world: World) -> Iterator[Asked]:
    """Somebody has started a consumer of a group there already."""
    properties = world.simulation.cluster("east").properties
    member = Consumer(
        {**properties, "group.id": "billing", "auto.offset.reset": "latest", "enable.auto.commit": False}
    )
    member.subscribe(["orders"])
    try:
        await_(lambda: member.poll(_POLL_S) is None and bool(member.assignment()))
        yield Asked()
    finally:
        member.close()
        await_(lambda: not world.simulation.cluster("east").group_members(["billing"])["billing"])


def not_allowed(cluster: str, *denied: tuple[str, str, str]) -> Breaking:
    """dcctl's login at a cluster may do everything but (operation, type, name) `denied`."""

    @contextmanager
    def broken(world: World) -> Iterator[Asked]:
        access = AccessRules(cluster, world.simulation.cluster(cluster).properties)
        rules = [Acl(AUDITOR, "ALL", "ALLOW", kind, name) for kind, name in _EVERYTHING]
        rules += [Acl(AUDITOR, operation, "DENY", kind, name) for operation, kind, name in denied]
        before = access.rules([AUDITOR])
        access.add(rules)
        try:
            yield Asked(file=world.variant("not-allowed", _as_auditor(world, cluster)))
        finally:
            access.remove(set(rules) - before)

    return broken


def _as_auditor(world: World, cluster: str) -> Change:
    user = AUDITOR.removeprefix("User:")
    operator = world.simulation.topology.clusters[cluster].client

    def change(data: dict[str, Any]) -> None:
        password = operator["sasl.password"].replace(f"/{operator['sasl.username']}}}", f"/{user}}}")
        data["clusters"][cluster]["client"] |= {"sasl.username": user, "sasl.password": password}
        data["consumers"] = [row for row in data["consumers"] if row["principal"] != AUDITOR]

    return change


def records_deleted(
    cluster: str, topic: str, *options: str, instead: Mapping[str, Sequence[str]] | None = None
) -> Breaking:
    """All records of a topic are deleted, which nothing mends."""

    @contextmanager
    def broken(world: World) -> Iterator[Asked]:
        kafka = world.simulation.cluster(cluster)
        ends = kafka.end_offsets(kafka.topics([topic])[topic].partitions)
        admin = AdminClient(kafka.properties)
        try:
            for future in admin.delete_records(
                [LibTopicPartition(tp.topic, tp.partition, end) for tp, end in ends.items()]
            ).values():
                future.result(30)
        except KafkaException as error:
            raise AssertionError(f"records of {topic} cannot be deleted: {error}") from None
        yield Asked(options=options, instead=instead or {})

    return broken


def await_(is_so: Callable[[], bool]) -> None:
    """Wait until something is so; servers that do not answer yet are waited for."""
    deadline = time.monotonic() + _WITHIN_S
    while True:
        try:
            if is_so():
                return
        except (DcctlError, KeyError):
            pass
        assert time.monotonic() < deadline, f"not within {_WITHIN_S:g} s"
        time.sleep(_POLL_S)


def _ensemble_answers(world: World) -> bool:
    coordination = coordination_connection(world.simulation.topology)
    coordination.open(timeout_s=1.0)
    coordination.close()
    return True


def is_at_work(world: World) -> bool:
    """Brokers, workers and watcher of every site that is up answer again."""
    for name, site in world.simulation.sites.items():
        if site.state == "up":
            world.simulation.cluster(name).brokers()
    if world.simulation.sites["east"].state != "up":
        return True
    states = [status.state for status in world.connect.connectors().values()]
    history = _history(world)
    is_west_seen = world.simulation.sites["west"].state != "up" or not history.is_source_failing
    return (
        _silent_for_s(history) < 2
        and is_west_seen
        and bool(states)
        and all(state in {"RUNNING", "STOPPED"} for state in states)
    )


def _history(world: World) -> SampleHistory:
    return read_samples(world.simulation.cluster("east"), world.mirror.samples_topic)


def _silent_for_s(history: SampleHistory) -> float:
    """How long ago the watcher recorded something."""
    seen = history.last_sign_of_life_s
    return math.inf if seen is None else time.time() - seen


@contextmanager
def task_failed(world: World) -> Iterator[Asked]:
    """The mirror may not write a topic any more, and gives up; its connector still runs, as Connect says.

    One that may not read goes on trying, and never fails (`MirrorSourceTask.poll`).
    """
    target = world.simulation.cluster("east")
    mirror = world.simulation.topology.clusters["east"].mirror_principal
    access, rule = (
        AccessRules("east", target.properties),
        Acl(mirror, "WRITE", "DENY", "TOPIC", "west.payments"),
    )
    access.add([rule])
    try:
        await_(lambda: "FAILED" in _task_states(world))
        yield Asked()
    finally:
        access.remove([rule])
        world.connect.restart("west-to-east-source")
        await_(lambda: "FAILED" not in _task_states(world))


@contextmanager
def errors_tolerated(world: World) -> Iterator[Asked]:
    """Somebody has told the source connector to go on behind a record that it cannot write."""
    name = "west-to-east-source"
    before = world.connect.configuration(name)
    world.connect.configure(name, {**before, "errors.tolerance": "all"})
    try:
        await_(lambda: world.connect.configuration(name).get("errors.tolerance") == "all")
        _await_rest(world)
        yield Asked()
    finally:
        world.connect.configure(name, before)
        _await_rest(world)
        await_(lambda: is_at_work(world))


def _await_rest(world: World) -> None:
    """A connector that was configured anew starts anew; with its source lost that takes its time."""
    seen, since = world.connect.connectors(), time.monotonic()

    def is_at_rest() -> bool:
        nonlocal seen, since
        now = world.connect.connectors()
        if now != seen:
            seen, since = now, time.monotonic()
        return time.monotonic() - since > _AT_REST_S

    await_(is_at_rest)


def _task_states(world: World) -> set[str]:
    return {task.state for task in world.connect.connectors()["west-to-east-source"].tasks}
