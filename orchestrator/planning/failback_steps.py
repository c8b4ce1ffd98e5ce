"""The steps of a failback: the returned side comes back as a standby, catches up, and takes over.

Three stages (facts: MirrorMaker 2, "Failover and failback, by policy"):

1. The returned primary is held: nobody writes there. Its log is compared with what was recorded, the
   mirror's position set where it does not fit, and the mirror goes on: the late tail arrives.
2. The reverse mirror brings back what was written at the standby, from exact offsets on.
3. A planned move back. What it needs is a switchover's, of the estate seen from the other side; only the
   positions take two maps.

Stages 1 and 2 change nothing for applications, and their results stay if a later step fails: the primary is
a standby then, and the next failback finds it so. Stage 3 is taken back up to its promotion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from orchestrator.planning.boot_guard import HOLD_STEP
from orchestrator.planning.clients import clients_of
from orchestrator.planning.fence import Fenced, deny_step, lift_step, record_rules_step, standstill_step
from orchestrator.planning.looking import OPEN_STANDBY
from orchestrator.planning.plan import Step
from orchestrator.planning.positions_back import reverse_mirror
from orchestrator.planning.primary import STEP as RECORD_PRIMARY
from orchestrator.planning.switchover_steps import roaming_rules, switchover_steps
from orchestrator.replication.connectors import connector_names
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import TopicPartition

# Of a switchover, what does not fit: the reverse mirror has no group sync of its own.
_NOT_NEEDED = frozenset({"stop-group-sync"})
# Brokers open in turn, and each has to be in step with the others before the next one stops.
_OPEN_TIMEOUT_S = 300.0


def failback_steps(  # noqa: PLR0917 - the estate from both sides, and what was asked for
    topology: Topology,
    mirror: Replication,
    flipped: Topology,
    who_home: Fenced,
    who_standby: Fenced,
    starts: Mapping[TopicPartition, int],
    *,
    timeout_s: float,
    accept_reread: int,
) -> tuple[Step, ...]:
    """The steps, each with what it waits for. What is not named there runs side by side."""
    stage1 = _hold_and_go_on(topology, mirror, who_home, timeout_s)
    stage2 = _catch_up(mirror, starts, timeout_s)
    ready = ("tail-arrives", "caught-up")
    stage3 = _move_back(mirror, flipped, who_standby, ready, timeout_s=timeout_s, accept_reread=accept_reread)
    return (*stage1, *stage2, *stage3)


def _hold_and_go_on(topology: Topology, mirror: Replication, who: Fenced, timeout_s: float) -> list[Step]:
    home, names = mirror.source, connector_names(mirror)
    hold = replace(
        deny_step(HOLD_STEP, home, who.rules, recorded_by="record-returned-rules"),
        title=f"Hold {home}: nobody writes or commits there before it takes over",
        # Taken back it would take writes while the other side is primary.
        compensation=None,
        verify_undone=None,
        on_failure="stop",
    )
    return [
        record_rules_step("record-returned-rules", home, who.rules),
        hold,
        Step(
            id="returned-opens",
            phase="fence",
            title=f"Let brokers of {home} that their guard has kept closed open, one after the other",
            action="await-open",
            arguments={"cluster": home},
            depends_on=(HOLD_STEP,),
            expected_s=1.0,
            timeout_s=_OPEN_TIMEOUT_S,
        ),
        Step(
            id="stop-returned",
            phase="fence",
            title=f"Stop what came up at {home} by itself",
            action="stop-clients",
            arguments={"clients": list(clients_of(topology, home)), "cluster": home},
            depends_on=("returned-opens",),
            expected_s=3.0,
            timeout_s=90,
        ),
        replace(
            standstill_step("returned-stands-still", home, mirror.topics, needed=("stop-returned",)),
            on_failure="stop",
        ),
        Step(
            id="compare-returned",
            phase="detect",
            title=f"Compare the logs at {home} with what was copied and recorded",
            action="compare-returned",
            arguments={"connector": names.source},
            depends_on=("returned-stands-still",),
            expected_s=0.3,
        ),
        Step(
            id="set-mirror-offsets",
            phase="fence",
            title="Set the mirror's position where it does not fit the log",
            action="set-mirror-offsets",
            arguments={"connector": names.source},
            depends_on=("compare-returned",),
            verify="mirror-offsets-are-set",
            expected_s=0.2,
            timeout_s=60,
        ),
        Step(
            id="resume-mirror",
            phase="drain",
            title="Let the mirror go on from where it stopped",
            action="resume-connectors",
            arguments={"connectors": [names.source, names.heartbeat]},
            depends_on=("set-mirror-offsets",),
            verify="connectors-run",
            expected_s=1.0,
        ),
        Step(
            id="tail-arrives",
            phase="drain",
            title=f"Wait until the late tail has arrived at {mirror.target}",
            action="await-tail",
            arguments={"connector": names.source},
            depends_on=("resume-mirror",),
            expected_s=3.0,
            timeout_s=timeout_s,
        ),
    ]


def _catch_up(mirror: Replication, starts: Mapping[TopicPartition, int], timeout_s: float) -> list[Step]:
    reverse = reverse_mirror(mirror)
    connector = connector_names(reverse).source
    rows = [[tp.topic, tp.partition, offset] for tp, offset in sorted(starts.items())]
    return [
        Step(
            id="prepare-reverse",
            phase="relocate",
            title=f"Topics and rights at {reverse.target} for what comes back",
            action="prepare-reverse",
            depends_on=("returned-stands-still",),
            expected_s=1.0,
            timeout_s=60,
        ),
        Step(
            id="create-reverse",
            phase="relocate",
            title=f"Create the reverse mirror {reverse.source} → {reverse.target}, stopped",
            action="create-reverse",
            arguments={"connector": connector, "from": connector_names(mirror).source},
            depends_on=("prepare-reverse",),
            verify="reverse-exists",
            expected_s=0.5,
            timeout_s=60,
        ),
        Step(
            id="set-reverse-offsets",
            phase="relocate",
            title="Set it to exact offsets, unless it goes on from its own",
            action="set-reverse-offsets",
            arguments={"connector": connector, "starts": rows},
            depends_on=("create-reverse",),
            verify="reverse-offsets-are-set",
            expected_s=0.2,
            timeout_s=60,
        ),
        Step(
            id="resume-reverse",
            phase="drain",
            title="Start the reverse mirror",
            action="resume-connectors",
            arguments={"connectors": [connector]},
            depends_on=("set-reverse-offsets",),
            verify="connectors-run",
            expected_s=1.0,
        ),
        Step(
            id="caught-up",
            phase="drain",
            title=f"Wait until {reverse.target} has caught up",
            action="await-caught-up",
            arguments={"connector": connector},
            depends_on=("resume-reverse",),
            expected_s=5.0,
            timeout_s=timeout_s,
        ),
    ]


def _move_back(
    mirror: Replication,
    flipped: Topology,
    who: Fenced,
    ready: tuple[str, ...],
    *,
    timeout_s: float,
    accept_reread: int,
) -> list[Step]:
    reverse, names = flipped.replication[0], connector_names(mirror)
    steps = []
    for planned in switchover_steps(flipped, reverse, who, timeout_s=timeout_s, accept_reread=accept_reread):
        if planned.id in _NOT_NEEDED:
            continue
        needed = tuple(step for step in planned.depends_on if step not in _NOT_NEEDED)
        step = replace(planned, depends_on=needed or ready)
        match step.id:
            case "translate-positions":
                step = replace(
                    step,
                    title="Translate each position back, through both maps",
                    action="translate-back",
                    depends_on=(*step.depends_on, "record-mirror-end"),
                )
            case "write-offsets":
                step = replace(step, action="write-back", verify="back-is-written")
            case _ if step.action == "relocate-checkpoint":
                step = replace(step, depends_on=(*step.depends_on, "record-mirror-end"))
            case "record-landing-ends":
                # There the copies begin, and where is known: nothing begins anew at the primary.
                step = replace(step, action="record-ends", arguments={"topics": step.arguments["topics"]})
            case "record-primary":
                back = {"home": mirror.source, "primary": mirror.source, "topics": list(mirror.topics)}
                step = replace(step, arguments=back)
            case "thaw":
                needed = (*step.depends_on, "record-mirror-end", "close-reverse-map")
                step = replace(step, depends_on=needed)
        steps.append(step)
    steps += [
        Step(
            id="pause-mirror",
            phase="fence",
            title=f"Pause the mirror {mirror.source} → {mirror.target}: its map is read behind its end",
            action="stop-connectors",
            arguments={"connectors": [names.source]},
            depends_on=("stands-still",),
            verify="connectors-are-stopped",
            compensation="resume-connectors",
            verify_undone="connectors-run",
            on_failure="undo",
            expected_s=1.5,
        ),
        Step(
            id="record-mirror-end",
            phase="fence",
            title="Record where it and its topics end",
            action="record-forward-end",
            arguments={"connector": names.source},
            depends_on=("pause-mirror",),
            on_failure="undo",
            expected_s=0.1,
        ),
        Step(
            id="close-reverse-map",
            phase="translate",
            title="Keep where the reverse mirror has ended, for the next time",
            action="close-reverse-map",
            depends_on=("all-arrived",),
            on_failure="undo",
            expected_s=0.2,
        ),
        Step(
            id="mirror-goes-on",
            phase="redirect",
            title=f"Let the mirror {mirror.source} → {mirror.target} go on, its group sync too",
            action="resume-connectors",
            arguments={"connectors": list(names)},
            depends_on=("thaw",),
            verify="connectors-run",
            expected_s=1.0,
        ),
    ]
    # The next failover has to find it open, and must not wait for anybody to be seen; what worked there is
    # stopped. Only who goes where it wants may come back, and is let in there once it writes at the primary.
    promoted = tuple(step.id for step in steps if step.irreversible) or (RECORD_PRIMARY,)
    seen = ("producers-write",) if roaming_rules(flipped, reverse, who) else ()
    needed = (*promoted, *seen)
    opened = lift_step(OPEN_STANDBY, mirror.target, who.rules, recorded_by="record-rules", needed=needed)
    steps.append(replace(opened, compensation=None, verify_undone=None))
    return steps
