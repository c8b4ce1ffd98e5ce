"""Looks at an estate that no file describes: what a plan would observe, and what only a file must say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from orchestrator.adapters.ansible import host_variables
from orchestrator.adapters.ensemble import Ensemble, describe_ensemble
from orchestrator.adapters.java.parts import kafka_versions
from orchestrator.adapters.kafka.java_admin import JavaAdmin
from orchestrator.errors import CoordinationError, DcctlError
from orchestrator.operations.importing.request import LookAt
from orchestrator.operations.layout.observe import CALL_TIMEOUT_S, observe_cluster, zookeeper_hosts
from orchestrator.planning.importing.seen import INTERNAL_TOPICS_TOLD_BY, SeenCluster, SeenEstate
from orchestrator.planning.layout.observed import ObservedCluster, ObservedQuorum
from orchestrator.topology.model import Cluster, Topology

_DC_VARIABLES = ("dc", "datacenter", "data_center", "kafka_rack", "broker_rack", "rack")


def look_at_estate(
    name: str,
    places: Sequence[LookAt],
    *,
    inventory: Path | None = None,
    coordination: str | None = None,
) -> SeenEstate:
    """Everything that can be seen of the clusters, side by side.

    A cluster that cannot be read has its problem inside. Raises `PlaybookError` for an inventory that
    Ansible cannot read, and `JavaError` where Java's part cannot run.
    """
    provisional = _provisional(name, places)
    with ThreadPoolExecutor(max_workers=len(places), thread_name_prefix="look") as pool:
        found = list(pool.map(lambda place: _look(provisional, place), places))
    return SeenEstate(
        name=name,
        clusters={seen.name: seen for seen in found},
        dc_of_host=_dc_of_host(inventory) if inventory is not None else {},
        known_versions=kafka_versions(),
        coordination=coordination,
        inventory=str(inventory) if inventory is not None else None,
    )


def _provisional(name: str, places: Sequence[LookAt]) -> Topology:
    """Only what it takes to connect; it is never written down, for it holds the secrets themselves."""
    return Topology(
        version=1,
        name=name,
        layout="one-location",
        datacenters=(),
        clusters={
            place.name: Cluster(
                kafka="0.0.0",
                metadata="kraft",
                nodes=(),
                bootstrap=place.bootstrap,
                connect=place.connect,
                client=place.client,
                connect_client=place.connect_client,
            )
            for place in places
        },
    )


def _look(provisional: Topology, place: LookAt) -> SeenCluster:
    observed = observe_cluster(provisional, place.name)
    seen = SeenCluster(
        name=place.name,
        bootstrap=place.bootstrap,
        observed=observed,
        client=place.written_client,
        connect=place.connect,
        connect_client=place.written_connect_client,
    )
    if observed.problem:
        return seen
    with JavaAdmin(place.name, place.bootstrap, place.client) as admin:
        try:
            return _look_closer(seen, place, admin)
        except DcctlError as error:
            return replace(seen, observed=ObservedCluster(name=place.name, problem=error.problem))


def _look_closer(seen: SeenCluster, place: LookAt, admin: JavaAdmin) -> SeenCluster:
    is_kraft = "metadata.version" in admin.features(CALL_TIMEOUT_S).finalized
    seen = replace(
        seen,
        metadata="kraft" if is_kraft else "zookeeper",
        release=admin.release(CALL_TIMEOUT_S),
        settings=_settings(admin, seen.observed),
        groups=_groups(admin),
    )
    if is_kraft:
        return replace(seen, voter_hosts=_controller_hosts(admin))
    try:
        ensemble = describe_ensemble(place.zookeeper or zookeeper_hosts(admin))
    except CoordinationError:
        return seen
    return _with_ensemble(seen, ensemble)


def _settings(admin: JavaAdmin, observed: ObservedCluster) -> dict[str, str]:
    """Settings of one broker by which Kafka makes its own topics; empty where they must not be seen."""
    wanted = {key for keys in INTERNAL_TOPICS_TOLD_BY.values() for key in keys}
    one = str(min(broker.broker_id for broker in observed.brokers))
    try:
        told = admin.configs("broker", [one], own_only=False, timeout_s=CALL_TIMEOUT_S).get(one, {})
    except DcctlError:
        return {}
    return {key: value for key, value in told.items() if key in wanted}


def _groups(admin: JavaAdmin) -> dict[str, frozenset[str]] | None:
    try:
        offsets = admin.group_offsets(admin.groups(CALL_TIMEOUT_S), CALL_TIMEOUT_S)
    except DcctlError:
        return None
    return {group: frozenset(tp.topic for tp in positions) for group, positions in offsets.items()}


def _controller_hosts(admin: JavaAdmin) -> dict[int, str]:
    try:
        return dict(admin.describe_quorum(CALL_TIMEOUT_S).hosts)
    except DcctlError:
        return {}


def _with_ensemble(seen: SeenCluster, ensemble: Ensemble) -> SeenCluster:
    voters = tuple(sorted(number for number, server in ensemble.servers.items() if server.is_voter))
    quorum = ObservedQuorum(
        kind="zookeeper",
        voters=voters,
        observers=tuple(sorted(ensemble.servers.keys() - set(voters))),
        leader=ensemble.leader_id,
    )
    return replace(
        seen,
        observed=replace(seen.observed, quorum=quorum),
        voter_hosts={number: server.host for number, server in ensemble.servers.items()},
        voter_groups=ensemble.groups,
        voter_weights=ensemble.weights,
    )


def _dc_of_host(inventory: Path) -> dict[str, str]:
    """Data centre of each host by its name and address, where a variable of the inventory says it."""
    found: dict[str, set[str]] = {}
    for host, variables in host_variables(inventory).items():
        dc = _dc(variables)
        for name in {host, str(variables.get("ansible_host", host))} if dc else ():
            found.setdefault(name, set()).add(dc)
    return {host: next(iter(dcs)) for host, dcs in found.items() if len(dcs) == 1}


def _dc(variables: Mapping[str, object]) -> str:
    return next((str(variables[key]) for key in _DC_VARIABLES if variables.get(key)), "")
