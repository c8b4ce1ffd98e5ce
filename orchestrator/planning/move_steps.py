"""The steps of moving applications to the other side of a mirror, each with what it waits for.

They are those of a failover as they stand here; a planned move puts its own before and between them.

Order (facts: MirrorMaker 2, "Failover and failback, by policy"): records in flight land, the mirror and
its group sync stop, and only then are the syncs read to their end and positions translated. Producers
need none of that under the default policy: their topics at the target are not written by the mirror, so
they start as soon as the ends of these topics are recorded.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.planning.clients import group_client, producer_clients, query_client
from orchestrator.planning.first_writes import first_records_wanted, landing_writers
from orchestrator.planning.plan import Step
from orchestrator.planning.primary import STEP as RECORD_PRIMARY
from orchestrator.planning.primary import record_primary_step
from orchestrator.replication.connectors import connector_names
from orchestrator.topology.model import Consumer, Replication, Topology

# Records that the mirror has read but not written keep coming for as long as its producer needs.
STANDSTILL_S = 0.6

RECORD_LEFT = "record-left"
"""The step that keeps how the logs of the side that is left stood: a failback is held against that."""


def move_steps(topology: Topology, mirror: Replication) -> tuple[Step, ...]:
    """The steps of a failover. What one does not wait for runs beside it."""
    consumers = topology.consumers_of(mirror.source)
    groups = tuple(c for c in consumers if c.kind == "group")
    queries = tuple(c for c in consumers if c.kind == "spark")
    started = producer_clients(topology, mirror.source)
    steps = [*_fence(topology, mirror), *_translate(mirror, groups), *_relocate(queries)]
    steps.append(
        record_primary_step(
            mirror.source, mirror.target, mirror.topics, needed=("record-landing-ends", RECORD_LEFT)
        )
    )
    steps += _redirect(groups, queries, started)
    steps += _verify(topology, mirror, groups, queries)
    return tuple(steps)


def written_early(topology: Topology, mirror: Replication) -> list[str]:
    """Topics that producers which move themselves may write at the target before anybody decides."""
    roaming = [p for p in topology.producers_of(mirror.source) if p.moved_by == "itself"]
    return sorted({topic for p in roaming for topic in p.topics}.intersection(mirror.topics))


def _fence(topology: Topology, mirror: Replication) -> list[Step]:
    is_identity = mirror.policy == "identity"
    names = connector_names(mirror)
    return [
        Step(
            id="let-land",
            phase="fence",
            title=f"Let records in flight land at {mirror.target}",
            action="await-standstill",
            arguments={"standstill_s": STANDSTILL_S},
            expected_s=STANDSTILL_S + 0.2,
            timeout_s=20,
        ),
        Step(
            id="stop-mirror",
            phase="fence",
            title="Stop the mirror",
            action="stop-connectors",
            arguments={"connectors": [names.source]},
            depends_on=("let-land",),
            verify="connectors-are-stopped",
            compensation="resume-connectors",
            verify_undone="connectors-run",
            expected_s=1.5,
        ),
        Step(
            id="stop-group-sync",
            phase="fence",
            title="Stop the mirror's group sync and heartbeats",
            action="stop-connectors",
            arguments={"connectors": [names.checkpoint, names.heartbeat]},
            # Its task asks the lost source for one group after the other, each until a time-out, and
            # Connect answers nothing while it waits for a task: so all that applications wait for is
            # asked of Connect before.
            depends_on=("record-mirrored-ends",),
            verify="connectors-are-stopped",
            compensation="resume-connectors",
            verify_undone="connectors-run",
            expected_s=5.0,
            timeout_s=120,
        ),
        Step(
            id="record-mirrored-ends",
            phase="fence",
            title="Record where the mirror and its topics end",
            action="record-mirror-end",
            arguments={
                "connector": names.source,
                "topics": [mirror.mirrored_topic(name) for name in mirror.topics],
            },
            depends_on=("stop-mirror",),
            expected_s=0.1,
        ),
        Step(
            id="record-landing-ends",
            phase="fence",
            title="Record where the landing topics end",
            action="record-landing",
            arguments={
                "topics": list(mirror.topics),
                "or_since_loss": written_early(topology, mirror),
                "home": mirror.source,
                "standby": mirror.target,
            },
            # With equal names the mirror itself writes there until it is stopped.
            depends_on=("stop-mirror",) if is_identity else (),
            expected_s=0.1,
        ),
        Step(
            id=RECORD_LEFT,
            phase="fence",
            title=f"Record how the logs at {mirror.source} stood",
            action="record-left",
            arguments={"cluster": mirror.source, "topics": list(mirror.topics)},
            expected_s=0.1,
        ),
    ]


def _translate(mirror: Replication, groups: tuple[Consumer, ...]) -> list[Step]:
    if not groups:
        return []
    names = [group.name for group in groups]
    return [
        Step(
            id="save-offsets",
            phase="translate",
            title="Save what the groups have committed there now",
            action="save-offsets",
            arguments={"groups": names},
            depends_on=("stop-mirror",),
            expected_s=0.1,
        ),
        Step(
            id="translate-positions",
            phase="translate",
            title="Read the offset syncs to their end and translate each position",
            action="translate-positions",
            arguments={"groups": names},
            depends_on=("record-mirrored-ends",),
            expected_s=0.5,
        ),
        Step(
            id="write-offsets",
            phase="translate",
            title="Write explicit offsets for each group on every partition it will read",
            action="write-offsets",
            arguments={"groups": names, "group_sync": connector_names(mirror).checkpoint},
            depends_on=("save-offsets", "translate-positions", "record-landing-ends"),
            verify="offsets-are-written",
            compensation="restore-offsets",
            verify_undone="offsets-are-restored",
            expected_s=0.3,
            timeout_s=60,
        ),
    ]


def _relocate(queries: tuple[Consumer, ...]) -> list[Step]:
    return [
        Step(
            id=f"relocate-{query.name}",
            phase="relocate",
            title=f"Relocate the checkpoint of {query.name}",
            action="relocate-checkpoint",
            arguments={"query": query.name},
            depends_on=("record-mirrored-ends", "record-landing-ends"),
            compensation="undo-relocation",
            expected_s=0.5,
            # State of any size, where the file system has no links.
            timeout_s=300,
        )
        for query in queries
    ]


def _redirect(
    groups: tuple[Consumer, ...], queries: tuple[Consumer, ...], producers: tuple[str, ...]
) -> list[Step]:
    steps = []
    if producers:
        steps.append(_start("start-producers", "producers", producers, (RECORD_PRIMARY,)))
    if groups:
        names = [group_client(group.name) for group in groups]
        steps.append(_start("start-consumers", "consumers", names, ("write-offsets", RECORD_PRIMARY)))
    if queries:
        # Apart from the groups: a checkpoint that cannot be relocated must not keep them waiting.
        names = [query_client(query.name) for query in queries]
        needed = tuple(f"relocate-{query.name}" for query in queries)
        steps.append(_start("start-queries", "Spark queries", names, (*needed, RECORD_PRIMARY)))
    return steps


def _start(step_id: str, what: str, clients: Sequence[str], needed: tuple[str, ...]) -> Step:
    return Step(
        id=step_id,
        phase="redirect",
        title=f"Start the {what} there",
        action="start-clients",
        arguments={"clients": list(clients)},
        depends_on=needed,
        irreversible=True,
        expected_s=3.0,
        timeout_s=60,
    )


def _verify(
    topology: Topology, mirror: Replication, groups: tuple[Consumer, ...], queries: tuple[Consumer, ...]
) -> list[Step]:
    steps = []
    producers = topology.producers_of(mirror.source)
    if producers:
        started = producer_clients(topology, mirror.source)
        steps.append(
            Step(
                id="producers-write",
                phase="verify",
                title=first_records_wanted(landing_writers(topology, mirror), [p.name for p in producers]),
                action="await-landing-records",
                # One that moves itself may have written before: its next record counts.
                depends_on=("start-producers",) if started else (RECORD_PRIMARY,),
                expected_s=2.0,
                timeout_s=60,
            )
        )
    if groups:
        steps.append(
            Step(
                id="consumers-progress",
                phase="verify",
                title="See each group have members and move on, or be at the end",
                action="await-group-progress",
                arguments={"groups": [group.name for group in groups]},
                depends_on=("start-consumers",),
                expected_s=3.0,
                timeout_s=60,
            )
        )
    if queries:
        steps.append(
            Step(
                id="queries-progress",
                phase="verify",
                title="See each Spark query commit a batch",
                action="await-query-progress",
                arguments={"queries": [query.name for query in queries]},
                depends_on=("start-queries",),
                expected_s=20.0,
                timeout_s=180,
            )
        )
    return steps
