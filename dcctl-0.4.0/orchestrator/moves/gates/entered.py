"""Gates on the place that is entered: it is well, has hosts, and where it was lost is what it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.moves.fence_gates import fenceable
from orchestrator.moves.situation import Situation
from orchestrator.runs.gate import absent, asked_again, gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.snapshot.clients import SERVICE_MANAGERS, ClientHost
from orchestrator.snapshot.observation import degraded_partitions
from orchestrator.wording import all_of, listed, plural


@asked_again()
def target_healthy(s: Situation) -> GateResult:
    """All of it can be written and read."""
    limit = "each partition has a leader and at least min.insync.replicas in sync"
    for part in (s.target.brokers, s.target.topics):
        if part.value is None:
            return absent("target-healthy", part, limit)
    brokers, topics = s.target.brokers.value or {}, s.target.topics.value or {}
    sick = degraded_partitions(topics)
    partitions = sum(len(topic.leaders) for topic in topics.values())
    return gate_result(
        "target-healthy",
        "refused" if sick else "ok",
        measured=f"{plural(len(brokers), 'broker')}, {plural(partitions, 'partition')}",
        limit=limit,
        reason=f"{s.entered} is not healthy: {listed(sick)}"
        if sick
        else f"{s.entered} is healthy: {all_of(partitions, 'partition')} readable and writable",
        hint=f"bring the brokers of {s.entered} back first" if sick else "",
    )


def same_topics(s: Situation) -> GateResult:
    """By the ids that they had when applications left, else by what the watcher has seen."""
    limit = "the topics are those that were mirrored, by their ids"
    part, samples, past = s.target.topics, s.own_copying.samples, s.seen.past
    if part.value is None:
        return absent("same-topics", part, limit)
    if past.value is None:
        return absent("same-topics", past, limit)
    recorded = dict(past.value.left.topic_ids) if past.value.left is not None else {}
    others = [name for name in s.way.topics if not recorded.get(name)]
    if others and samples.value is None:
        return absent("same-topics", samples, limit)
    recreated = samples.value.recreated if samples.value is not None else {}
    if samples.value is not None:
        recorded |= {
            name: samples.value.topics[name].topic_id for name in others if name in samples.value.topics
        }
    missing = [name for name in s.way.topics if name not in part.value]
    anew = [
        name
        for name in s.way.topics
        if name in part.value and recorded.get(name) and recorded[name] != part.value[name].topic_id
    ]
    reasons = [f"{name} does not exist at {s.entered}" for name in missing] + [
        f"{name} was deleted and created again" for name in anew
    ]
    undated = [name for name in others if name in recreated and name not in (*missing, *anew)]
    said = (
        f"topics at {s.entered} that were deleted and created again, before applications left or since "
        f"(not recorded which): {listed(undated)}"
    )
    measured = plural(len(part.value), "topic")
    if undated and not reasons and not s.words.accept_unrecorded:
        hint = f"compare these topics with {s.left} yourself, then --accept-unrecorded"
        return gate_result("same-topics", "unknown", measured, limit, said, hint)
    return gate_result(
        "same-topics",
        "refused" if reasons else "ok",
        measured=measured,
        limit=limit,
        reason=listed(reasons)
        or (
            said if undated else f"the topics at {s.entered} are those that were mirrored: no id has changed"
        ),
        hint="a topic that was created again does not continue the copies "
        "of the one before: see docs/copies.md"
        if reasons
        else "",
    )


def clients_startable(s: Situation, clients: Sequence[str]) -> GateResult:
    """A host for each client, and a service manager that the playbooks know."""
    limit = f"a host in {listed(s.topology.clusters[s.entered].datacenters)} for each client"
    if not clients:
        return gate_result("clients-startable", "ok", "no client", limit, "no client is to be started")
    if s.topology.inventory is None:
        return gate_result(
            "clients-startable",
            "refused",
            "no inventory",
            limit,
            f"the file names no inventory, so nothing can start clients at {s.entered}",
            "add `inventory: PATH` to the file",
        )
    part = s.seen.inventory
    if part.value is None:
        return absent("clients-startable", part, limit)
    hosts = [host for host in part.value if host.dc in s.topology.clusters[s.entered].datacenters]
    reason, hint = _why_not_startable(s, clients, hosts)
    return gate_result(
        "clients-startable",
        "refused" if reason else "ok",
        measured=f"{len(clients)} clients, {len(hosts)} of {len(part.value)} hosts",
        limit=limit,
        reason=reason or f"each client has a host at {s.entered}",
        hint=hint,
    )


def _why_not_startable(s: Situation, clients: Sequence[str], hosts: Sequence[ClientHost]) -> tuple[str, str]:
    """Reason and hint; empty where nothing is in the way."""
    datacenters = s.topology.clusters[s.entered].datacenters
    if not hosts:
        known = listed(sorted({host.dc or "none" for host in s.seen.inventory.value or ()})) or "no host"
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


def entered_fenceable(s: Situation, principals: tuple[str, ...]) -> GateResult:
    """Rules reach all whom it is to be kept free of until it takes over."""
    found = fenceable(s.target.access, s.topology, s.entered, principals)
    return replace(found, id="fenceable-returned" if s.case == "back" else "fenceable-target")
