"""The conditions for a failover. Each measures one thing; refused and unknown both stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from orchestrator.planning.observation import EarlierRun, Observation, Part
from orchestrator.planning.plan import GateOutcome, GateResult
from orchestrator.planning.positions import Readings, TargetPosition
from orchestrator.planning.prediction import LossPrediction
from orchestrator.planning.request import FailoverRequest
from orchestrator.planning.samples import LossWindow
from orchestrator.replication.connectors import connector_names
from orchestrator.topology.model import Consumer, Replication, Topology

LISTED = 5
# Commits of a query are some seconds apart; its copy must have been compared as recently as positions,
# and may lack no more than the batch that was being written.
BATCHES_BEHIND = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Everything the gates judge. `readings` names, per consumer, the partitions that it will read."""

    topology: Topology
    mirror: Replication
    request: FailoverRequest
    observation: Observation
    now_s: float
    window: LossWindow | None
    loss: LossPrediction | None
    positions: tuple[TargetPosition, ...]
    readings: Readings

    @property
    def groups(self) -> tuple[Consumer, ...]:
        """Consumer groups that move."""
        return tuple(c for c in self.topology.consumers_of(self.mirror.source) if c.kind == "group")

    @property
    def queries(self) -> tuple[Consumer, ...]:
        """Spark queries that move."""
        return tuple(c for c in self.topology.consumers_of(self.mirror.source) if c.kind == "spark")

    @property
    def age_limit_s(self) -> float:
        """The file's `failover.max_position_age_s`."""
        return self.topology.failover.max_position_age_s


def gate_results(situation: Situation) -> tuple[GateResult, ...]:
    """Every gate, in the order in which a person would ask."""
    return tuple(gate(situation) for gate in _GATES)


def _attested(s: Situation) -> GateResult:
    needed = s.topology.clusters[s.mirror.source].datacenters
    missing = [dc for dc in needed if dc not in s.request.attested]
    return _gate(
        "attested",
        "refused" if missing else "ok",
        measured=_listed(s.request.attested) or "nothing",
        limit=_listed(needed),
        reason=f"nobody attests that {_listed(missing)} is down" if missing else "a person attests the loss",
        hint=f"--attest-down {missing[0]}, once a person has made sure of it" if missing else "",
    )


def done_by_run(s: Situation) -> str:
    """Id of the run by which the target has taken over already; empty if it has not."""
    newest = _newest_move(s)
    is_done = newest is not None and newest.outcome == "ok" and newest.target == s.mirror.target
    return newest.run_id if newest is not None and is_done else ""


def _needed(s: Situation) -> GateResult:
    part = s.observation.coordination
    limit = f"{s.mirror.target} has not taken over yet, and no run is open"
    if part.value is None:
        return _absent("needed", part, limit)
    newest = _newest_move(s)
    if newest is None:
        return _gate("needed", "ok", "no earlier run", limit, "it is still to be done")
    measured = f"run {newest.run_id}: {newest.outcome}"
    if newest.outcome != "ok":
        hint = f"dcctl resume {newest.run_id}"
        return _gate("needed", "refused", measured, limit, "an earlier run stopped on the way", hint)
    if done_by_run(s):
        reason = f"{s.mirror.target} has taken over already"
        return _gate("needed", "refused", measured, limit, reason, "nothing is left to do")
    return _gate("needed", "ok", measured, limit, f"{s.mirror.source} took over again since")


def _newest_move(s: Situation) -> EarlierRun | None:
    """The newest run between these two clusters that changed anything."""
    part = s.observation.coordination
    ends = {s.mirror.source, s.mirror.target}
    moves = [
        run
        for run in (part.value.runs if part.value else ())
        if {run.source, run.target} == ends and run.outcome != "refused"
    ]
    return max(moves, key=lambda run: run.started_at_s, default=None)


def _source_unreachable(s: Situation) -> GateResult:
    part = s.observation.source
    limit = "no broker of the source answers, neither here nor to the watcher"
    if part.value is None:
        return _absent("source-unreachable", part, limit)
    probe = part.value
    states = _listed(f"{address} {state}" for address, state in probe.addresses.items())
    window = s.window
    if probe.answers:
        outcome: GateOutcome = "refused"
        reason, hint = "the source answers: it is not lost", "a planned move loses nothing: dcctl switchover"
    elif probe.listening:
        outcome = "unknown"
        reason = f"{_listed(probe.listening)} takes connections, but does not answer as Kafka"
        hint = "a sick site is not a lost one: stop its brokers, then try again"
    elif window is None:
        outcome = "unknown"
        reason = "the watcher has not seen the source fail"
        hint = "is it cut off only from here? otherwise wait a moment and try again"
    else:
        outcome, hint = "ok", ""
        reason = f"no address answers here; the watcher sees it failing since {window.first_failed_at_s:.1f}"
    return _gate("source-unreachable", outcome, measured=states, limit=limit, reason=reason, hint=hint)


def _target_healthy(s: Situation) -> GateResult:
    limit = "each partition has a leader and at least min.insync.replicas in sync"
    for part in (s.observation.brokers, s.observation.topics):
        if part.value is None:
            return _absent("target-healthy", part, limit)
    brokers, topics = s.observation.brokers.value or {}, s.observation.topics.value or {}
    sick = [
        f"{name}-{number}: "
        + ("no leader" if leader < 0 else f"{isr} in sync of {state.min_insync_replicas}")
        for name, state in sorted(topics.items())
        for number, (leader, isr) in enumerate(zip(state.leaders, state.isr, strict=True))
        if leader < 0 or isr < state.min_insync_replicas
    ]
    return _gate(
        "target-healthy",
        "refused" if sick else "ok",
        measured=f"{len(brokers)} brokers, {sum(len(t.leaders) for t in topics.values())} partitions",
        limit=limit,
        reason=_listed(sick) if sick else "all of them can be written and read",
        hint=f"bring the brokers of {s.mirror.target} back first" if sick else "",
    )


def _target_topics(s: Situation) -> GateResult:
    limit = "every mirrored and landing topic, with the source's partitions"
    part = s.observation.topics
    if part.value is None:
        return _absent("target-topics", part, limit)
    wrong = []
    for name in s.mirror.topics:
        topic = s.topology.topic(name, s.mirror.source)
        for at_target in dict.fromkeys((s.mirror.mirrored_topic(name), name)):
            state = part.value.get(at_target)
            if state is None:
                wrong.append(f"{at_target} does not exist")
            elif topic is not None and len(state.leaders) != topic.partitions:
                wrong.append(
                    f"{at_target} has {len(state.leaders)} partitions, the file says {topic.partitions}"
                )
    return _gate(
        "target-topics",
        "refused" if wrong else "ok",
        measured=f"{len(part.value)} topics",
        limit=limit,
        reason=_listed(wrong) if wrong else "all of them are there",
        hint=f"create them at {s.mirror.target}, or correct the file" if wrong else "",
    )


def _mirror_controlled(s: Situation) -> GateResult:
    limit = "the mirror's connectors are known, so that they can be stopped"
    part = s.observation.connectors
    if part.value is None:
        return _absent("mirror-controlled", part, limit)
    states = {name: part.value.get(name, "missing") for name in connector_names(s.mirror)}
    missing = [name for name, state in states.items() if state == "missing"]
    return _gate(
        "mirror-controlled",
        "refused" if missing else "ok",
        measured=_listed(f"{name} {state}" for name, state in states.items()),
        limit=limit,
        reason=f"no such connector: {_listed(missing)}" if missing else "Connect answers for each",
        hint="does the mirror run under other names, or elsewhere?" if missing else "",
    )


def _watcher_alive(s: Situation) -> GateResult:
    limit = f"a round of the watcher at most {s.age_limit_s:g} s ago"
    part = s.observation.samples
    if part.value is None:
        return _absent("watcher-alive", part, limit)
    last = part.value.last_sign_of_life_s
    if last is None:
        return _gate(
            "watcher-alive", "refused", "no round", limit, "the watcher never ran here", "dcctl watch FILE"
        )
    age_s = max(0.0, s.now_s - last)
    is_silent = age_s > s.age_limit_s
    return _gate(
        "watcher-alive",
        "refused" if is_silent else "ok",
        measured=f"{age_s:.1f} s ago",
        limit=limit,
        reason="the watcher is silent: what it recorded may be old" if is_silent else "it is at work",
        hint="start the watcher at the target again: dcctl watch FILE" if is_silent else "",
    )


def _positions_fresh(s: Situation) -> GateResult:
    limit = f"each position at most {s.age_limit_s:g} s old when the source was lost"
    part = s.observation.samples
    if part.value is None:
        return _absent("positions-fresh", part, limit)
    ages = [p.position_age_s for p in s.positions if p.position_age_s is not None]
    known = {p.group for p in s.positions if p.source_offset is not None}
    unknown = [c.name for c in s.groups if c.name not in known]
    old = [
        f"{p.group} {p.topic}-{p.partition}" for p in s.positions if (p.position_age_s or 0) > s.age_limit_s
    ]
    reason = "all of them are"
    if old:
        reason = f"too old: {_listed(old)}"
    elif unknown:
        reason = f"no position was ever recorded of {_listed(unknown)}"
    return _gate(
        "positions-fresh",
        "refused" if old or unknown else "ok",
        measured=f"{len(ages)} positions, the oldest {max(ages, default=0.0):.1f} s",
        limit=limit,
        reason=reason,
        hint="raise failover.max_position_age_s to accept more re-reading" if old else "",
    )


def _map_complete(s: Situation) -> GateResult:
    limit = "every position has a place in the target's log, or a rule for the case without one"
    part = s.observation.offset_map
    if part.value is None:
        return _absent("map-complete", part, limit)
    without = [
        f"{p.group} {p.topic}-{p.partition}: {p.reason}" for p in s.positions if p.target_offset is None
    ]
    exact = sum(p.exact for p in s.positions)
    return _gate(
        "map-complete",
        "refused" if without else "ok",
        measured=f"{len(s.positions)} positions, {exact} of them exact already",
        limit=limit,
        reason=_listed(without) if without else "all of them have",
        hint="set the consumer's on_untranslatable: earliest, to read all of it again" if without else "",
    )


def _loss_within_budget(s: Situation) -> GateResult:
    budget = s.topology.failover.max_loss
    accepted = s.request.accept_loss
    records = accepted if accepted is not None else budget.records
    # A person who accepts a number of records has judged the loss; the file's seconds no longer count.
    seconds = None if accepted is not None else budget.seconds
    limits = [f"{records} records"] if records is not None else []
    limits += [f"{seconds:g} s"] if seconds is not None else []
    limit = " and ".join(limits) or "none in the file"
    if s.observation.samples.value is None:
        return _absent("loss-within-budget", s.observation.samples, limit)
    if s.loss is None or s.loss.at_most is None:
        reasons = (
            []
            if s.loss is None
            else [p.reason for t in s.loss.topics.values() for p in t.partitions.values()]
        )
        return _gate(
            "loss-within-budget",
            "unknown",
            "nothing",
            limit,
            _listed(sorted(set(filter(None, reasons)))) or "the watcher has no samples to tell it from",
            "without samples only a person can know: this tool does not",
        )
    at_most, seconds_at_most = s.loss.at_most, s.loss.seconds_at_most
    too_many = records is not None and at_most > records
    too_long = seconds is not None and (seconds_at_most is None or seconds_at_most > seconds)
    span = "an unknown time" if seconds_at_most is None else f"{seconds_at_most:.1f} s"
    said = "by the person who accepts the loss" if accepted is not None else "by the file"
    return _gate(
        "loss-within-budget",
        "refused" if too_many or too_long else "ok",
        measured=f"at most {at_most} records of {span}",
        limit=limit,
        reason="more than the budget" if too_many or too_long else f"allowed {said}",
        hint=f"--accept-loss {at_most}, if a person accepts that" if too_many or too_long else "",
    )


def _checkpoints_copied(s: Situation) -> GateResult:
    limit = (
        f"a copy at most {BATCHES_BEHIND} batches behind, {s.age_limit_s:g} s old when the source was lost"
    )
    part = s.observation.samples
    if part.value is None:
        return _absent("checkpoints-copied", part, limit)
    if not s.queries:
        return _gate("checkpoints-copied", "ok", "no Spark query", limit, "there is nothing to relocate")
    copies = part.value.copies
    lost_at_s = s.window.first_failed_at_s if s.window else s.now_s
    wrong, seen = [], []
    for query in s.queries:
        copy = copies.get(query.name)
        if copy is None or copy.batch is None:
            wrong.append(f"{query.name}: no copy")
            continue
        age_s = max(0.0, lost_at_s - copy.at_s)
        behind = max(0, (copy.source_batch or copy.batch) - copy.batch)
        seen.append(f"{query.name} batch {copy.batch}, {behind} behind, {age_s:.1f} s")
        if behind > BATCHES_BEHIND or age_s > s.age_limit_s:
            wrong.append(f"{query.name}: {copy.problem or 'the copy is old'}")
    return _gate(
        "checkpoints-copied",
        "refused" if wrong else "ok",
        measured=_listed(seen) or "none",
        limit=limit,
        reason=_listed(wrong) if wrong else "each query can go on with its state",
        hint="does the watcher reach the checkpoint and the place of its copy?" if wrong else "",
    )


def _groups_idle(s: Situation) -> GateResult:
    limit = "no running member at the target in any group that moves"
    part = s.observation.members
    if part.value is None:
        return _absent("groups-idle", part, limit)
    running = [f"{group} ({count})" for group, count in sorted(part.value.items()) if count]
    return _gate(
        "groups-idle",
        "refused" if running else "ok",
        measured=f"{len(part.value)} groups, {len(running)} with members",
        limit=limit,
        reason=f"running: {_listed(running)}" if running else "their offsets can be written",
        hint=f"stop these consumers at {s.mirror.target} first" if running else "",
    )


def _clients_startable(s: Situation) -> GateResult:
    has_inventory = s.topology.inventory is not None
    return _gate(
        "clients-startable",
        "ok" if has_inventory else "refused",
        measured=s.topology.inventory or "no inventory",
        limit="an Ansible inventory with the hosts of the target",
        reason="the playbooks know where" if has_inventory else "nobody could start the clients there",
        hint="" if has_inventory else "add `inventory: PATH` to the file",
    )


def _coordination(s: Situation) -> GateResult:
    limit = "the ensemble answers, and nobody else holds the lock"
    part = s.observation.coordination
    if part.value is None:
        return _absent("coordination", part, limit)
    holder = part.value.holder
    return _gate(
        "coordination",
        "refused" if holder else "ok",
        measured=part.source,
        limit=limit,
        reason=f"held by {holder}" if holder else "lock and journal are at hand",
        hint="wait for that run to end" if holder else "",
    )


_GATES: tuple[Callable[[Situation], GateResult], ...] = (
    _attested,
    _coordination,
    _needed,
    _source_unreachable,
    _target_healthy,
    _target_topics,
    _mirror_controlled,
    _watcher_alive,
    _positions_fresh,
    _map_complete,
    _loss_within_budget,
    _checkpoints_copied,
    _groups_idle,
    _clients_startable,
)


def _gate(  # noqa: PLR0917 - in the order in which it is read
    gate_id: str, outcome: GateOutcome, measured: str, limit: str, reason: str, hint: str = ""
) -> GateResult:
    return GateResult(id=gate_id, outcome=outcome, measured=measured, limit=limit, reason=reason, hint=hint)


def _absent(gate_id: str, part: Part[Any], limit: str) -> GateResult:
    """What could not be measured is unknown, and says why."""
    return _gate(
        gate_id, "unknown", "nothing", limit, f"{part.source}: {part.problem}", "it must be measured first"
    )


def _listed(items: Iterable[str]) -> str:
    texts = list(items)
    more = f" and {len(texts) - LISTED} more" if len(texts) > LISTED else ""
    return ", ".join(texts[:LISTED]) + more
