"""From addresses to a topology file: what can be seen, and its text for people to read, correct and keep."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from orchestrator.adapters.ansible import host_variables
from orchestrator.adapters.clock import SystemClock
from orchestrator.adapters.ensemble import Ensemble, describe_ensemble
from orchestrator.adapters.java.parts import kafka_versions
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.errors import CoordinationError, DcctlError
from orchestrator.estate.live.connections import kafka_cluster
from orchestrator.estate.live.observe import CALL_TIMEOUT_S, observe_cluster, zookeeper_hosts
from orchestrator.estate.observed import ObservedCluster, ObservedQuorum
from orchestrator.imports.live.request import LookAt
from orchestrator.imports.seen import INTERNAL_TOPICS_TOLD_BY, Imported, SeenCluster, SeenEstate
from orchestrator.imports.topology import imported_topology
from orchestrator.ports.clock import utc_text
from orchestrator.topology.loading import Checked, check_text, dump_topology
from orchestrator.topology.mirrored_topics import given_names
from orchestrator.topology.model import Cluster, Topology
from orchestrator.topology.reading import SELECTOR

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
    with kafka_cluster(provisional, place.name) as cluster:
        try:
            return _look_closer(seen, place, cluster)
        except DcctlError as error:
            return replace(seen, observed=ObservedCluster(name=place.name, problem=error.problem))


def _look_closer(seen: SeenCluster, place: LookAt, cluster: KafkaCluster) -> SeenCluster:
    levels = cluster.features(CALL_TIMEOUT_S).finalized
    is_kraft = "metadata.version" in levels
    seen = replace(
        seen,
        metadata="kraft" if is_kraft else "zookeeper",
        release=cluster.release(CALL_TIMEOUT_S),
        settings=_settings(cluster, seen.observed),
        groups=_groups(cluster),
    )
    if is_kraft:
        is_dynamic = levels.get("kraft.version", 0) > 0
        return replace(seen, voter_hosts=_controller_hosts(cluster), has_dynamic_voters=is_dynamic)
    try:
        ensemble = describe_ensemble(place.zookeeper or zookeeper_hosts(cluster))
    except CoordinationError:
        return seen
    return _with_ensemble(seen, ensemble)


def _settings(cluster: KafkaCluster, observed: ObservedCluster) -> dict[str, str]:
    """Settings of one broker: those by which Kafka makes its own topics, and whom consumers read from; empty
    where they must not be seen.
    """
    wanted = {SELECTOR, *(key for keys in INTERNAL_TOPICS_TOLD_BY.values() for key in keys)}
    one = str(min(broker.broker_id for broker in observed.brokers))
    try:
        told = cluster.configs("broker", [one], CALL_TIMEOUT_S).get(one, {})
    except DcctlError:
        return {}
    return {key: value for key, value in told.items() if key in wanted}


def _groups(cluster: KafkaCluster) -> dict[str, frozenset[str]] | None:
    try:
        offsets = cluster.committed(cluster.groups(CALL_TIMEOUT_S), CALL_TIMEOUT_S)
    except DcctlError:
        return None
    return {group: frozenset(tp.topic for tp in positions) for group, positions in offsets.items()}


def _controller_hosts(cluster: KafkaCluster) -> dict[int, str]:
    try:
        return dict(cluster.describe_quorum(CALL_TIMEOUT_S).hosts)
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


_WIDTH = 110
_ORDER = (
    "version",
    "name",
    "layout",
    "datacenters",
    "clusters",
    "topics",
    "replication",
    "producers",
    "consumers",
    "coordination",
    "inventory",
)
_ROWS = frozenset({"topics", "replication", "producers", "consumers"})
_SAID: Mapping[str, str] = {
    "topics": "",
    "clusters": "What stands under `unknown` could not be seen from where dcctl looked; fill it in by hand.",
    "replication": "`managed: false` belongs to somebody else: it is observed, and never changed.",
    "producers": "Kafka does not know who produces: these are principals with the right to write. "
    "What they wait for (acks) cannot be seen.",
    "consumers": "Consumer groups. Spark queries cannot be told apart: their offsets lie in checkpoints.",
}


def topology_text(imported: Imported, origin: str) -> str:
    """The file: `origin` says who wrote it from what, the notes follow, then the topology."""
    data = dump_topology(imported.topology)
    for mirror, row in zip(imported.topology.replication, data.get("replication", ()), strict=True):
        row["topics"] = [*given_names(mirror.topics), *mirror.patterns]
    keys = [*(key for key in _ORDER if key in data), *(key for key in data if key not in _ORDER)]
    text = _in_rows({key: data[key] for key in keys})
    head = [*_remark(origin), *(line for note in imported.notes for line in _remark(note, "- "))]
    return "\n".join([*head, *_with_remarks(text)]) + "\n"


def _in_rows(data: dict[str, Any]) -> str:
    """YAML in which every topic, mirror and client is one row, as people write them."""
    # What holds no further collection stands in one line by itself.
    representer: Any = yaml.representer.SafeRepresenter
    node = representer(default_flow_style=None, sort_keys=False).represent_data(data)
    for key, value in node.value:
        if key.value in _ROWS:
            for row in value.value:
                row.flow_style = True
    text: str = yaml.serialize(node, Dumper=yaml.CSafeDumper, allow_unicode=True, width=10_000)
    return text


def _with_remarks(text: str) -> Iterator[str]:
    for line in text.splitlines():
        key = line.partition(":")[0]
        if key in _SAID:
            yield ""
            yield from _remark(_SAID[key])
        yield line


def _remark(text: str, mark: str = "") -> Iterator[str]:
    """Lines of a comment."""
    first, rest = f"# {mark}", f"# {' ' * len(mark)}"
    yield from textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The file's text, what was guessed, and what the file's own rules say of it.

    `variables` are the environment variables that must hold the secrets from now on.
    """

    imported: Imported
    text: str
    checked: Checked
    variables: tuple[str, ...]


def import_estate(
    name: str,
    places: Sequence[LookAt],
    *,
    inventory: Path | None = None,
    coordination: str | None = None,
) -> ImportResult:
    """Look at the clusters and describe them. Raises as `look_at_estate` and `imported_topology` do."""
    seen = look_at_estate(name, places, inventory=inventory, coordination=coordination)
    imported = imported_topology(seen)
    text = topology_text(imported, _origin(seen))
    variables = tuple(variable for place in places for variable in place.variables)
    return ImportResult(imported, text, check_text(text, name), variables)


def _origin(seen: SeenEstate) -> str:
    listed = ", ".join(
        f"{name} ({len(cluster.observed.brokers)} brokers, cluster id {cluster.observed.cluster_id})"
        for name, cluster in seen.clusters.items()
    )
    at = utc_text(SystemClock().now_s())
    return f"Written by `dcctl import` at {at} from what could be seen of {listed}."
