"""The steps of a planned move: freeze, drain, stop, translate, promote, see everybody at work.

Applications are stopped cleanly first, so that what they have sent is answered and what they have
processed is committed; the fence then keeps off whoever was not stopped, and the standing logs prove it.
Everything up to the promotion can be taken back, and is, if a step of it does not end well; the
promotion itself (clients at work at the target) waits for all of that. So its first effect is the
point of no return, and behind it there is nothing that could fail for want of preparation.

Producers that move themselves may turn up at the target as soon as the source denies them: they are denied
there too until it is primary.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from orchestrator.planning.clients import group_client, producer_clients, query_client
from orchestrator.planning.fence import (
    Fenced,
    deny_step,
    lift_step,
    record_rules_step,
    standstill_step,
)
from orchestrator.planning.move_steps import move_steps
from orchestrator.planning.plan import Step
from orchestrator.planning.primary import STEP as RECORD_PRIMARY
from orchestrator.replication.connectors import connector_names
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import Acl

_PROMOTION = ("start-producers", "start-consumers", "start-queries")
_VERIFICATION = ("producers-write", "consumers-progress", "queries-progress")
# Steps of a failover that a planned move has no use for: it drains instead.
_NOT_NEEDED = ("let-land",)
KEEP_OFF, _LET_IN = "keep-off", "let-in"
TARGET_RULES = "record-target-rules"


def switchover_steps(
    topology: Topology, mirror: Replication, who: Fenced, *, timeout_s: float, accept_reread: int
) -> tuple[Step, ...]:
    """The steps, each with what it waits for. What is not named there runs side by side."""
    moved = {step.id: step for step in move_steps(topology, mirror) if step.id not in _NOT_NEEDED}
    roaming = roaming_rules(topology, mirror, who)
    before = _freeze(topology, mirror, who, roaming)
    before += _drain(mirror, timeout_s)
    for step in moved.values():
        if step.id not in (RECORD_PRIMARY, *_PROMOTION, *_VERIFICATION):
            before.append(_prepared(step, accept_reread))
    before += _copied(topology, mirror)
    prepared = last_of(before)
    before.append(record_rules_step(TARGET_RULES, mirror.target, who.rules))
    lifted = [rule for rule in who.rules if rule not in roaming]
    thaw = replace(
        lift_step("thaw", mirror.target, lifted, recorded_by=TARGET_RULES, needed=prepared),
        on_failure="undo",
    )
    recorded = replace(moved[RECORD_PRIMARY], depends_on=("thaw",), on_failure="undo")
    after = [
        replace(step, depends_on=(RECORD_PRIMARY,)) if step.id in _PROMOTION else step
        for step in moved.values()
        if step.id in (*_PROMOTION, *_VERIFICATION)
    ]
    if roaming:
        after = [let_in_step(mirror, roaming), *(behind_let_in(step) for step in after)]
    return (*before, thaw, recorded, *after)


def roaming_rules(topology: Topology, mirror: Replication, who: Fenced) -> tuple[Acl, ...]:
    """Of a fence's rules those against the writing of producers that move themselves."""
    themselves = {p.name for p in topology.producers_of(mirror.source) if p.moved_by == "itself"}
    principals = {principal for principal, names in who.writers.items() if themselves.intersection(names)}
    return tuple(rule for rule in who.rules if rule.operation == "WRITE" and rule.principal in principals)


def keep_off_step(mirror: Replication, roaming: tuple[Acl, ...]) -> Step:
    """Deny them the target before the source does, so that they are nowhere for a while."""
    return replace(
        deny_step(KEEP_OFF, mirror.target, roaming, recorded_by=TARGET_RULES),
        title=f"Keep producers that move themselves off {mirror.target} until it is primary",
    )


def let_in_step(mirror: Replication, roaming: tuple[Acl, ...]) -> Step:
    """They may write at once, so nothing takes it back."""
    return replace(
        lift_step(_LET_IN, mirror.target, roaming, recorded_by=TARGET_RULES),
        title=f"Let producers that move themselves write at {mirror.target}",
        phase="redirect",
        depends_on=(RECORD_PRIMARY,),
        compensation=None,
        verify_undone=None,
        irreversible=True,
    )


def behind_let_in(step: Step) -> Step:
    """What sees them write waits until they may."""
    return replace(step, depends_on=(*step.depends_on, _LET_IN)) if step.id == "producers-write" else step


def _freeze(topology: Topology, mirror: Replication, who: Fenced, roaming: tuple[Acl, ...]) -> list[Step]:
    writers, readers = _split(who.rules)
    producers = list(producer_clients(topology, mirror.source))
    consumers = topology.consumers_of(mirror.source)
    groups = [group_client(c.name) for c in consumers if c.kind == "group"]
    queries = [query_client(c.name) for c in consumers if c.kind == "spark"]
    steps = [record_rules_step("record-rules", mirror.source, who.rules)]
    stopped = ("stop-producers",) if producers else ()
    if producers:
        steps.append(_stop("stop-producers", "producers", mirror.source, producers, ("record-rules",)))
    if roaming:
        steps.append(keep_off_step(mirror, roaming))
        stopped = (*stopped, KEEP_OFF)
    steps.append(
        deny_step("deny-writing", mirror.source, writers, recorded_by="record-rules", needed=stopped)
    )
    steps.append(standstill_step("stands-still", mirror.source, mirror.topics, needed=("deny-writing",)))
    # Beside the producers: what they leave unread here they read there, from exactly that place on.
    gone: list[str] = []
    if groups:
        steps.append(_stop("stop-consumers", "consumers", mirror.source, groups, ("record-rules",)))
        gone.append("stop-consumers")
    if queries:
        steps.append(_stop("stop-queries", "Spark queries", mirror.source, queries, ("record-rules",)))
        gone.append("stop-queries")
    if groups:
        steps.append(
            Step(
                id="record-positions",
                phase="translate",
                title=f"Record what the groups have committed at {mirror.source}",
                action="record-positions",
                arguments={"groups": [c.name for c in consumers if c.kind == "group"]},
                depends_on=("stop-consumers",),
                on_failure="undo",
                expected_s=0.2,
            )
        )
    if readers:
        needed = tuple(gone)
        steps.append(
            deny_step("deny-reading", mirror.source, readers, recorded_by="record-rules", needed=needed)
        )
    return steps


def _drain(mirror: Replication, timeout_s: float) -> list[Step]:
    names = connector_names(mirror)
    drain = Step(
        id="drain",
        phase="drain",
        title=f"Wait until the mirror has copied everything, {timeout_s:g} s at most",
        action="await-drained",
        arguments={"connector": names.source},
        depends_on=("stands-still",),
        on_failure="undo",
        expected_s=1.5,
        timeout_s=timeout_s,
    )
    arrived = Step(
        id="all-arrived",
        phase="drain",
        title="See that nothing is missing behind the stopped mirror",
        action="await-drained",
        arguments={"connector": names.source, "stopped": True},
        depends_on=("record-mirrored-ends",),
        on_failure="undo",
        expected_s=0.3,
        timeout_s=15,
    )
    return [drain, arrived]


def _prepared(step: Step, accept_reread: int) -> Step:
    """A failover's step, so that it waits for what a planned move has besides, and is taken back."""
    step = replace(step, on_failure="undo")
    match step.id:
        case "stop-mirror":
            return replace(step, depends_on=("drain",))
        case "record-landing-ends":
            # Nobody can have written there before: who might have is kept off.
            kept = {name: step.arguments[name] for name in ("topics", "home", "standby")}
            return replace(step, depends_on=("drain",), arguments=kept)
        case "record-left":
            return replace(step, depends_on=("stands-still",))
        case "translate-positions":
            return replace(
                step,
                action="translate-recorded-positions",
                arguments={**step.arguments, "accept_reread": accept_reread},
                depends_on=("all-arrived", "record-positions"),
            )
        case _ if step.action == "relocate-checkpoint":
            copied = (f"copy-{step.arguments['query']}",)
            return replace(step, depends_on=("all-arrived", "record-landing-ends", *copied))
        case _:
            return step


def _copied(topology: Topology, mirror: Replication) -> list[Step]:
    """A query's checkpoint has to be at the target whole, its last batch included."""
    return [
        Step(
            id=f"copy-{query.name}",
            phase="relocate",
            title=f"Copy the checkpoint of {query.name} as it was left",
            action="copy-checkpoint",
            arguments={"query": query.name},
            depends_on=("stop-queries",),
            on_failure="undo",
            expected_s=0.5,
            timeout_s=60,
        )
        for query in topology.consumers_of(mirror.source)
        if query.kind == "spark"
    ]


def _stop(step_id: str, what: str, cluster: str, clients: list[str], needed: tuple[str, ...]) -> Step:
    return Step(
        id=step_id,
        phase="fence",
        title=f"Stop the {what} at {cluster}",
        action="stop-clients",
        arguments={"clients": clients, "cluster": cluster},
        depends_on=needed,
        compensation="start-clients-again",
        on_failure="undo",
        expected_s=3.0,
        timeout_s=90,
    )


def _split(rules: Iterable[Acl]) -> tuple[tuple[Acl, ...], tuple[Acl, ...]]:
    """Rules against writing, and rules against reading."""
    rules = tuple(rules)
    writers = tuple(rule for rule in rules if rule.operation == "WRITE")
    return writers, tuple(rule for rule in rules if rule.operation != "WRITE")


def last_of(steps: Iterable[Step]) -> tuple[str, ...]:
    """The steps that no other waits for: with them everything is done."""
    steps = tuple(steps)
    waited_for = {needed for step in steps for needed in step.depends_on}
    return tuple(step.id for step in steps if step.id not in waited_for)
