"""The steps of leaving a sick site: keep everybody off, drain what answers, and then those of a failover.

What answers is treated as in a planned move, what does not as in a failover: it is named, counted as unknown,
and nothing waits for it. Up to the first client at the target all is taken back if a step does not end well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from orchestrator.planning.clients import clients_of
from orchestrator.planning.fence import (
    IN_SYNC_S,
    STANDSTILL_S,
    Fenced,
    deny_step,
    record_rules_step,
    rules_to_json,
)
from orchestrator.planning.losses import ACCOUNT_STEP
from orchestrator.planning.move_steps import move_steps, written_early
from orchestrator.planning.plan import Step
from orchestrator.planning.primary import STEP as RECORD_PRIMARY
from orchestrator.planning.switchover_steps import (
    TARGET_RULES,
    behind_let_in,
    keep_off_step,
    last_of,
    let_in_step,
)
from orchestrator.replication.connectors import connector_names
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import Acl, TopicPartition

DRAIN_TIMEOUT_S = 60.0
# A broker that died a moment ago has new leaders after its session: so long they are waited for.
_ELECTION_S = 12.0
# Looks at a site of which brokers hang.
_SLOW_S = 20.0
# Behind the interval at which Connect tells how far the mirror is.
_STALLED_S = 10.0
_PROMOTION = ("start-producers", "start-consumers", "start-queries")


def sick_steps(
    topology: Topology,
    mirror: Replication,
    who: Fenced,
    *,
    is_fenced: bool,
    allowed_records: int | None,
    unread: Iterable[TopicPartition] = (),
    kept_off_target: tuple[Acl, ...] = (),
) -> tuple[Step, ...]:
    """The steps, each with what it waits for. `is_fenced`: access rules can be written there.

    `allowed_records`: more than so many left uncopied, and all is taken back. `unread`: partitions whose log
    cannot be read now, as whoever approves the plan knows. `kept_off_target`: rules against producers that
    move themselves, for the target until it is primary.
    """
    max_age_s = topology.failover.max_position_age_s
    groups = [c.name for c in topology.consumers_of(mirror.source) if c.kind == "group"]
    steps = [_stop(topology, mirror)]
    steps += _before_roaming(topology, mirror, kept_off_target)
    kept_off = last_of(steps)
    if is_fenced:
        steps += _fence(mirror, who, kept_off)
        kept_off = ("deny",)
    known = sorted(map(str, unread))
    steps.append(_standstill(mirror, who, kept_off, is_fenced=is_fenced, unread=known))
    steps.append(_drain(mirror, allowed_records))
    if groups:
        steps.append(_positions(mirror, groups, kept_off, max_age_s))
    moved = {step.id: _after_drain(step) for step in move_steps(topology, mirror)}
    later = [step for step in moved.values() if step.irreversible or step.phase == "verify"]
    primary = moved.pop(RECORD_PRIMARY)
    steps += [step for step in moved.values() if step not in later]
    relocated = [str(step.arguments["query"]) for step in steps if step.action == "relocate-checkpoint"]
    steps += [_copy(query, max_age_s) for query in relocated]
    steps.append(_account(mirror, allowed_records))
    # One point of no return, behind all that may fail; only the group sync, which asks the sick side for one
    # group after the other, is not waited for.
    prepared = last_of(step for step in steps if step.id != "stop-group-sync")
    if kept_off_target:
        later = [let_in_step(mirror, kept_off_target), *(behind_let_in(step) for step in later)]
    return (*steps, replace(primary, depends_on=prepared), *later)


def _stop(topology: Topology, mirror: Replication) -> Step:
    return Step(
        id="stop-left",
        phase="fence",
        title=f"Stop the applications at {mirror.source}, where their hosts answer",
        action="stop-left-clients",
        arguments={"clients": list(clients_of(topology, mirror.source)), "cluster": mirror.source},
        compensation="start-left-clients-again",
        on_failure="undo",
        expected_s=4.0,
        timeout_s=45,
    )


def _before_roaming(topology: Topology, mirror: Replication, rules: tuple[Acl, ...]) -> list[Step]:
    """Producers that move themselves are kept off the target, else what they write there is counted.

    With equal names nobody could tell it from what the mirror writes.
    """
    if rules:
        record = record_rules_step(TARGET_RULES, mirror.target, rules)
        return [replace(record, on_failure="undo"), keep_off_step(mirror, rules)]
    topics = written_early(topology, mirror)
    if not topics or mirror.policy == "identity":
        return []
    return [
        Step(
            id="before-roaming",
            phase="fence",
            title=f"Record where topics end at {mirror.target} that nobody can be kept from writing",
            action="record-ends",
            arguments={"topics": topics},
            compensation="name-written-early",
            on_failure="undo",
            expected_s=0.1,
        )
    ]


def _fence(mirror: Replication, who: Fenced, needed: tuple[str, ...]) -> list[Step]:
    """As any fence, but by whichever broker answers, and verified at those that do."""
    record = record_rules_step("record-rules", mirror.source, who.rules)
    deny = deny_step("deny", mirror.source, who.rules, recorded_by=record.id, needed=needed)
    return [
        replace(record, action="record-left-rules", on_failure="undo"),
        replace(
            deny,
            action="deny-left",
            verify="rules-are-in-force-where-it-answers",
            compensation="take-left-rules-back",
            verify_undone="left-rules-are-back",
            timeout_s=40,
        ),
    ]


def _standstill(
    mirror: Replication, who: Fenced, needed: tuple[str, ...], *, is_fenced: bool, unread: list[str]
) -> Step:
    return Step(
        id="stands-still",
        phase="fence",
        title=f"See every log at {mirror.source} that can be read stand still for {STANDSTILL_S:g} s",
        action="await-left-standing",
        arguments={
            "cluster": mirror.source,
            "topics": list(mirror.topics),
            "standstill_s": STANDSTILL_S,
            "election_s": _ELECTION_S,
            "in_sync_s": IN_SYNC_S,
            "patience_s": STANDSTILL_S + _ELECTION_S + _SLOW_S,
            "rules": rules_to_json(who.rules) if is_fenced else [],
            "unread": unread,
        },
        depends_on=needed,
        on_failure="undo",
        expected_s=STANDSTILL_S + 1.5,
        timeout_s=STANDSTILL_S + IN_SYNC_S + _SLOW_S,
    )


def _drain(mirror: Replication, allowed_records: int | None) -> Step:
    return Step(
        id="drain",
        phase="drain",
        title=f"Let the mirror copy what it can still read, {DRAIN_TIMEOUT_S:g} s at most",
        action="drain-left",
        arguments={
            "connector": connector_names(mirror).source,
            "stalled_s": mirror.offset_flush_interval_s + _STALLED_S,
            "allowed_records": allowed_records,
        },
        depends_on=("stands-still",),
        on_failure="undo",
        expected_s=2.0,
        timeout_s=DRAIN_TIMEOUT_S,
    )


def _positions(mirror: Replication, groups: list[str], needed: tuple[str, ...], max_age_s: float) -> Step:
    return Step(
        id="record-positions",
        phase="translate",
        title=f"Record what the groups have committed at {mirror.source}, else what the watcher saw",
        action="record-left-positions",
        arguments={"groups": groups, "max_age_s": max_age_s},
        depends_on=needed,
        on_failure="undo",
        expected_s=1.5,
    )


def _copy(query: str, max_age_s: float) -> Step:
    return Step(
        id=f"copy-{query}",
        phase="relocate",
        title=f"Copy the checkpoint of {query} as far as it can be read",
        action="copy-left-checkpoint",
        arguments={"query": query, "max_age_s": max_age_s},
        depends_on=("stop-left",),
        on_failure="undo",
        expected_s=0.5,
        timeout_s=30,
    )


def _account(mirror: Replication, allowed_records: int | None) -> Step:
    return Step(
        id=ACCOUNT_STEP,
        phase="drain",
        title="Say what is lost, partition by partition",
        action="account-left",
        arguments={"connector": connector_names(mirror).source, "allowed_records": allowed_records},
        depends_on=("record-mirrored-ends",),
        on_failure="undo",
        expected_s=1.5,
        timeout_s=45,
    )


def _after_drain(step: Step) -> Step:
    """A failover's step, so that it waits for what is drained, and is taken back with it."""
    if step.irreversible or step.phase == "verify":
        return step
    step = replace(step, on_failure="undo")
    match step.id:
        case "let-land" | "record-left":
            return replace(step, depends_on=("drain",))
        case "record-landing-ends":
            # A sick site was lost at no moment: since when who moves himself writes there, nobody knows.
            arguments = {**step.arguments, "from_start": step.arguments["or_since_loss"]}
            return replace(step, depends_on=("drain",), arguments=arguments)
        case "translate-positions":
            needed = (*step.depends_on, "record-positions")
            return replace(step, action="translate-left-positions", depends_on=needed)
        case _ if step.action == "relocate-checkpoint":
            return replace(step, depends_on=(*step.depends_on, f"copy-{step.arguments['query']}"))
        case _:
            return step
