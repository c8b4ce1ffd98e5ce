"""Whether a mirror's connectors are those that the file would make: then the file may take care of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from orchestrator.planning.importing.mirrors import SeenMirror
from orchestrator.planning.layout.desired import configurations
from orchestrator.replication.connectors import connector_names
from orchestrator.topology.flows import FIXED_CONNECTOR_PROPERTIES
from orchestrator.topology.model import Replication, Topology
from orchestrator.topology.secrecy import NOT_SHOWN

_PREFIX = {"source": "source.cluster.", "target": "target.cluster."}
_NOT_CLIENT = ("alias", "bootstrap.servers")


@dataclass(frozen=True, slots=True)
class MirrorClients:
    """How the source connector of a mirror reaches both clusters: addresses, and Java client properties."""

    source_bootstrap: tuple[str, ...]
    target_bootstrap: tuple[str, ...]
    source: Mapping[str, str]
    target: Mapping[str, str]


def mirror_clients(seen: SeenMirror) -> MirrorClients | None:
    """What the connector's configuration says of both clusters; None without one that can be written down."""
    connector = seen.connectors.get(connector_names(seen.mirror).source)
    if connector is None:
        return None
    sides = {side: _side(connector.config, prefix) for side, prefix in _PREFIX.items()}
    if any(NOT_SHOWN in client.values() for client in sides.values()):
        return None
    addresses = {
        side: tuple(
            part.strip() for part in connector.config.get(f"{prefix}bootstrap.servers", "").split(",") if part
        )
        for side, prefix in _PREFIX.items()
    }
    return MirrorClients(addresses["source"], addresses["target"], sides["source"], sides["target"])


def managed_mirror(topology: Topology, seen: SeenMirror) -> tuple[Replication, str]:
    """The mirror as the file would have it to make exactly these connectors; else the reason why it cannot.

    `topology` holds both clusters with the addresses and `mirror_client`s that the connectors use.
    """
    names = connector_names(seen.mirror)
    missing = [name for name in names if name not in seen.connectors]
    if missing:
        return seen.mirror, f"its connectors are not called as the file would ({missing[0]})"
    if seen.mirror.offset_syncs != "target":
        return seen.mirror, "its offset syncs lie at the source, and are lost with it"
    mirror = replace(seen.mirror, managed=True)
    wanted = configurations(topology, mirror)
    overrides = _overrides(wanted[names.source], seen.connectors[names.source].config)
    fixed = sorted(overrides.keys() & {*FIXED_CONNECTOR_PROPERTIES, "topics", "tasks.max"})
    if fixed or NOT_SHOWN in overrides.values():
        return (
            seen.mirror,
            f"its connectors have settings that the file cannot have ({', '.join(fixed) or 'secrets'})",
        )
    mirror = replace(mirror, connectors=overrides)
    for name, config in configurations(topology, mirror).items():
        has = seen.connectors[name].config
        other = sorted(key for key in config.keys() | has.keys() if config.get(key) != has.get(key))
        if other:
            return seen.mirror, f"its connector {name} is set up otherwise ({', '.join(other[:3])})"
    return mirror, ""


def _overrides(wanted: Mapping[str, str], has: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in sorted(has.items()) if wanted.get(key) != value}


def _side(config: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        key.removeprefix(prefix): value
        for key, value in sorted(config.items())
        if key.startswith(prefix) and key.removeprefix(prefix) not in _NOT_CLIENT
    }
