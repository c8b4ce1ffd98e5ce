"""The conditions for a failover. Each measures one thing; refused and unknown both stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from orchestrator.planning.clients import SERVICE_MANAGERS, ClientHost, clients_of
from orchestrator.planning.coordination_gates import coordination_gate, not_held_gate
from orchestrator.planning.cost_gates import (
    checkpoints_copied,
    loss_within_budget,
    map_complete,
    positions_fresh,
    watcher_alive,
)
from orchestrator.planning.guarding import WAITED_FOR_S
from orchestrator.planning.guards import may_open_yet, not_clear
from orchestrator.planning.looking import how_to_end, is_by_word, not_seen_gate
from orchestrator.planning.mirror_gates import mirror_controlled, mirror_trusted
from orchestrator.planning.observation import EarlierRun, TopicState, newest_move
from orchestrator.planning.opening import guards_of, open_since_s
from orchestrator.planning.plan import GateOutcome, GateResult
from orchestrator.planning.primary import Reality, source_primary
from orchestrator.planning.quiet import not_flapping
from orchestrator.planning.same_clusters import same_clusters
from orchestrator.planning.situation import Situation, absent, as_far_as_known, gate_result, listed
from orchestrator.topology.rules.rule import plural


def gate_results(situation: Situation) -> tuple[GateResult, ...]:
    """Every gate, in the order in which a person would ask."""
    return tuple(gate(situation) for gate in _GATES)


def _attested(s: Situation) -> GateResult:
    needed = s.topology.clusters[s.mirror.source].datacenters
    missing = [dc for dc in needed if dc not in s.request.attested]
    return gate_result(
        "attested",
        "refused" if missing else "ok",
        measured=listed(s.request.attested) or "nothing",
        limit=listed(needed),
        reason=f"nobody attests that {listed(missing)} is down" if missing else "a person attests the loss",
        hint=(
            f"--attest-down {missing[0]}, once a person has made sure of it; "
            f"--attest-sick {missing[0]}, where part of it still answers"
            if missing
            else ""
        ),
    )


def done_by_run(s: Situation) -> str:
    """Id of the run by which the target has taken over already; empty if it has not."""
    newest = _newest_move(s)
    is_done = newest is not None and newest.outcome == "ok" and newest.target == s.mirror.target
    return newest.run_id if newest is not None and is_done else ""


def passed_by_word(s: Situation) -> str:
    """Id of the run with open looks that a person lets this move pass; empty if there is none."""
    newest = _newest_move(s)
    if newest is None or not newest.looks or not s.request.acknowledge:
        return ""
    return newest.run_id if is_by_word(newest, s.mirror.target) else ""


def _same_clusters(s: Situation) -> GateResult:
    accepted = s.request.accept_cluster
    return same_clusters(s.topology, s.observation.coordination, s.cluster_ids, accepted)


def _needed(s: Situation) -> GateResult:
    return as_far_as_known(s.observation.coordination, _needed_by_record(s))


def _needed_by_record(s: Situation) -> GateResult:
    part = s.observation.coordination
    limit = f"{s.mirror.target} has not taken over yet, and no run is open"
    if part.value is None:
        return absent("needed", part, limit)
    newest = _newest_move(s)
    if newest is None:
        return gate_result("needed", "ok", "no earlier run", limit, "it is still to be done")
    measured = f"run {newest.run_id}: {newest.outcome}"
    if is_by_word(newest, s.mirror.target):
        judged = _let_stand if newest.let_stand else not_seen_gate
        return judged(newest, s.request.acknowledge, measured, limit)
    if newest.outcome != "ok":
        hint = how_to_end(newest)
        return gate_result("needed", "refused", measured, limit, "an earlier run stopped on the way", hint)
    if done_by_run(s):
        reason = f"{s.mirror.target} has taken over already"
        return gate_result("needed", "refused", measured, limit, reason, "nothing is left to do")
    return gate_result("needed", "ok", measured, limit, f"{s.mirror.source} took over again since")


def _let_stand(run: EarlierRun, acknowledged: str, measured: str, limit: str) -> GateResult:
    """Nothing of it is under way, and something of it may be at work."""
    stands = f"it was taken back, but {listed(run.let_stand)} was let stand"
    if acknowledged:
        return gate_result("needed", "ok", measured, limit, f"{stands}; acknowledged by {acknowledged}")
    reason = f"{stands}: what was written there since would be passed over by the groups"
    hint = 'see that nothing of it is at work any more, then --acknowledge "OWNER: comment"'
    return gate_result("needed", "refused", measured, limit, reason, hint)


def _not_flapping(s: Situation) -> GateResult:
    part = s.observation.coordination
    return as_far_as_known(part, not_flapping(part, s.topology, s.now_s, s.request.acknowledge))


def _source_primary(s: Situation) -> GateResult:
    seen = Reality(connectors=s.observation.connectors.value)
    part = s.observation.coordination
    return as_far_as_known(part, source_primary(part, s.topology, s.mirror, s.mirror.source, seen))


def _newest_move(s: Situation) -> EarlierRun | None:
    part = s.observation.coordination
    return newest_move(part.value.runs if part.value else (), s.mirror.source, s.mirror.target)


def _source_unreachable(s: Situation) -> GateResult:
    part = s.observation.source
    limit = "no broker of the source answers, neither here nor to the watcher"
    if part.value is None:
        return absent("source-unreachable", part, limit)
    probe = part.value
    states = listed(f"{address} {state}" for address, state in probe.addresses.items())
    window = s.window
    coordination = s.observation.coordination.value
    closed = coordination.kept_closed if coordination is not None else ""
    if not probe.addresses:
        outcome: GateOutcome = "unknown"
        reason, hint = "nobody was asked: the file names no address", f"clusters.{s.mirror.source}.bootstrap"
    elif probe.answers and closed:
        outcome, hint = "ok", ""
        reason = f"it is back, but its guard keeps applications out: {closed}"
    elif probe.answers:
        outcome = "refused"
        reason = "the source answers: it is not lost"
        hint = (
            f"if it is well, a planned move loses nothing: dcctl switchover --to {s.mirror.target}; "
            f"if it is sick: --attest-sick {s.topology.clusters[s.mirror.source].datacenters[0]} "
            "in place of --attest-down"
        )
    elif probe.listening:
        outcome = "unknown"
        reason = f"{listed(probe.listening)} takes connections, but does not answer as Kafka"
        hint = "a sick site is not a lost one: stop its brokers, then try again"
    elif window is None and s.observation.samples.value is None:
        return replace(absent("source-unreachable", s.observation.samples, limit), measured=states)
    elif window is None:
        outcome = "unknown"
        reason = "the watcher has not seen the source fail"
        hint = "is it cut off only from here? otherwise wait a moment and try again"
    else:
        outcome, hint = "ok", ""
        reason = (
            f"no address answers here; the watcher sees it failing since {_clock(window.first_failed_at_s)}"
        )
    found = gate_result("source-unreachable", outcome, measured=states, limit=limit, reason=reason, hint=hint)
    return _with_guards(s, found) if outcome == "ok" else found


def _with_guards(s: Situation, found: GateResult) -> GateResult:
    """Whether a broker that nobody can see yet may be on its way to open."""
    said, since_s = guards_of(s.observation), open_since_s(s.observation, s.window)
    unclear = not_clear(said, since_s)
    if unclear:
        return replace(
            found,
            outcome="unknown",
            reason=f"{'; '.join(unclear)}: its broker may be starting, open to applications",
            hint="see that this broker is off, then remove the guard's node in the ensemble: "
            f"/dcctl/{s.topology.name}/guards/{s.mirror.source}/SERVER",
        )
    opening = may_open_yet(said, since_s)
    if not opening:
        return found
    servers = listed(f"{word.server} at {_clock(word.at_s)}" for word in opening)
    reason = f"guards have let brokers start open: {servers}; the run waits up to {WAITED_FOR_S:g} s for them"
    return replace(found, reason=f"{found.reason}; {reason}")


def _clock(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%H:%M:%S UTC")


def sick_partitions(topics: Mapping[str, TopicState]) -> list[str]:
    """Partitions that cannot be written: without a leader, or with too few replicas in sync."""
    return [
        f"{name}-{number}: "
        + ("no leader" if leader < 0 else f"{isr} in sync of {state.min_insync_replicas}")
        for name, state in sorted(topics.items())
        for number, (leader, isr) in enumerate(zip(state.leaders, state.isr, strict=True))
        if leader < 0 or isr < state.min_insync_replicas
    ]


def _target_healthy(s: Situation) -> GateResult:
    limit = "each partition has a leader and at least min.insync.replicas in sync"
    for part in (s.observation.brokers, s.observation.topics):
        if part.value is None:
            return absent("target-healthy", part, limit)
    brokers, topics = s.observation.brokers.value or {}, s.observation.topics.value or {}
    sick = sick_partitions(topics)
    partitions = sum(len(topic.leaders) for topic in topics.values())
    return gate_result(
        "target-healthy",
        "refused" if sick else "ok",
        measured=f"{plural(len(brokers), 'broker')}, {plural(partitions, 'partition')}",
        limit=limit,
        reason=listed(sick) if sick else "all of them can be written and read",
        hint=f"bring the brokers of {s.mirror.target} back first" if sick else "",
    )


def _target_topics(s: Situation) -> GateResult:
    limit = "every mirrored and landing topic, with the source's partitions"
    part = s.observation.topics
    if part.value is None:
        return absent("target-topics", part, limit)
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
    return gate_result(
        "target-topics",
        "refused" if wrong else "ok",
        measured=f"{len(part.value)} topics",
        limit=limit,
        reason=listed(wrong) if wrong else "all of them are there",
        hint=f"create them at {s.mirror.target}, or correct the file" if wrong else "",
    )


def _groups_idle(s: Situation) -> GateResult:
    limit = "no running member at the target in any group that moves"
    part = s.observation.members
    if part.value is None:
        return absent("groups-idle", part, limit)
    running = [f"{group} ({count})" for group, count in sorted(part.value.items()) if count]
    return gate_result(
        "groups-idle",
        "refused" if running else "ok",
        measured=f"{len(part.value)} groups, {len(running)} with members",
        limit=limit,
        reason=f"running: {listed(running)}" if running else "their offsets can be written",
        hint=f"stop these consumers at {s.mirror.target} first" if running else "",
    )


def _clients_startable(s: Situation) -> GateResult:
    """A host for each client, and a service manager that the playbooks know."""
    limit = f"a host in {listed(_target_datacenters(s))} for each client"
    clients = clients_of(s.topology, s.mirror.source)
    if not clients:
        return gate_result("clients-startable", "ok", "no client", limit, "there is nothing to start")
    if s.topology.inventory is None:
        return gate_result(
            "clients-startable",
            "refused",
            "no inventory",
            limit,
            "nobody could start the clients there",
            "add `inventory: PATH` to the file",
        )
    part = s.observation.inventory
    if part.value is None:
        return absent("clients-startable", part, limit)
    hosts = [host for host in part.value if host.dc in _target_datacenters(s)]
    reason, hint = _why_not_startable(s, clients, hosts)
    return gate_result(
        "clients-startable",
        "refused" if reason else "ok",
        measured=f"{len(clients)} clients, {len(hosts)} of {len(part.value)} hosts",
        limit=limit,
        reason=reason or "each has a host",
        hint=hint,
    )


def _why_not_startable(s: Situation, clients: Sequence[str], hosts: Sequence[ClientHost]) -> tuple[str, str]:
    """Reason and hint; empty where nothing is in the way."""
    datacenters = _target_datacenters(s)
    if not hosts:
        known = (
            listed(sorted({host.dc or "none" for host in s.observation.inventory.value or ()})) or "no host"
        )
        return f"no host is in {listed(datacenters)}: the inventory knows {known}", "give each host its `dc`"
    unmanaged = [host.name for host in hosts if host.service_manager not in SERVICE_MANAGERS]
    if unmanaged:
        return (
            f"no known service_manager: {listed(unmanaged)}",
            f"give each host its `service_manager`: {' or '.join(SERVICE_MANAGERS)}",
        )
    homeless = [client for client in clients if not any(host.runs(client, datacenters) for host in hosts)]
    if homeless:
        return f"no host would run {listed(homeless)}", "add them to `clients_on_host` of a host there"
    return "", ""


def _target_datacenters(s: Situation) -> tuple[str, ...]:
    return s.topology.clusters[s.mirror.target].datacenters


def _coordination(s: Situation) -> GateResult:
    return coordination_gate(s.observation.coordination, is_given_up=s.request.without_coordination)


def coordination_or_alone(s: Situation) -> GateResult:
    """Only a failover can do without: the ensemble may have died with the site."""
    found = _coordination(s)
    if found.outcome != "unknown":
        return found
    return replace(found, hint=f"{found.hint}; if it is lost as well: --without-coordination --reason TEXT")


def _not_held(s: Situation) -> GateResult:
    return not_held_gate(s.observation.coordination, s.topology, (s.mirror.source, s.mirror.target))


_GATES: tuple[Callable[[Situation], GateResult], ...] = (
    _attested,
    coordination_or_alone,
    _not_held,
    _same_clusters,
    _needed,
    _not_flapping,
    _source_primary,
    _source_unreachable,
    _target_healthy,
    _target_topics,
    mirror_controlled,
    mirror_trusted,
    watcher_alive,
    positions_fresh,
    map_complete,
    loss_within_budget,
    checkpoints_copied,
    _groups_idle,
    _clients_startable,
)
# What every move needs, planned or not.
MOVE_GATES: tuple[Callable[[Situation], GateResult], ...] = (
    _coordination,
    _not_held,
    _same_clusters,
    _needed,
    _not_flapping,
    _source_primary,
    _target_healthy,
    _target_topics,
    mirror_controlled,
    _groups_idle,
    _clients_startable,
)
