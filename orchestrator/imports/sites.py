"""Which servers stand in which data centre: by rack, by inventory, or it is not known.

Brokers tell their racks. Controllers and ZooKeeper servers tell nothing of the kind: they stand where their
host does, if a broker on the same host or the inventory says where that is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.imports.seen import SeenCluster, SeenEstate
from orchestrator.topology.model import Nodes

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


@dataclass(frozen=True, slots=True)
class Sites:
    """The rows of one cluster, and what of them is not known. `combined` as the file would say it."""

    rows: tuple[Nodes, ...]
    combined: bool | None
    is_hierarchical: bool
    has_racks: bool
    has_quorum: bool
    notes: tuple[str, ...]


def seen_sites(seen: SeenCluster, estate: SeenEstate) -> Sites:
    """Where the servers of one cluster stand."""
    around = _around_racks(seen, estate)
    homes, notes = _broker_homes(seen, estate, around)
    voters = _voters(seen, estate, homes or {}, around)
    brokers = Counter(homes.values()) if homes else Counter({seen.name: len(seen.observed.brokers)})
    brokers, dead = _with_dead(seen, brokers)
    notes = (*notes, *dead)
    is_hierarchical = bool(seen.voter_groups)
    weights = _weights(seen, voters) if voters is not None and is_hierarchical else {}
    if voters is None or weights is None:
        where = "controllers" if seen.metadata == "kraft" else "ZooKeeper servers"
        notes = (*notes, f"where the {where} of {seen.name} stand could not be seen: unknown [quorum]")
        voters, weights, is_hierarchical = None, {}, False
    counted = Counter(voters.values()) if voters else Counter[str]()
    rows = [
        Nodes(
            dc=around or dc,
            rack=dc if around and dc != around else None,
            brokers=brokers[dc],
            controllers=counted[dc] if seen.metadata == "kraft" else 0,
            zookeepers=counted[dc] if seen.metadata == "zookeeper" else 0,
            zookeeper_weight=weights.get(dc, 1),
        )
        for dc in sorted(brokers | counted, key=lambda dc: (not brokers[dc], dc))
    ]
    return Sites(
        tuple(rows),
        _combined(seen, len({row.dc for row in rows})) if voters is not None else None,
        is_hierarchical,
        homes is not None,
        voters is not None,
        notes,
    )


def _with_dead(seen: SeenCluster, brokers: Counter[str]) -> tuple[Counter[str], tuple[str, ...]]:
    """Brokers that hold replicas and are not alive count as well; where they stand they do not tell."""
    holding = {broker for topic in seen.observed.topics.values() for ids in topic.replicas for broker in ids}
    dead = sorted(holding - seen.hosts.keys())
    if not dead:
        return brokers, ()
    listed = ", ".join(map(str, dead))
    if len(brokers) == 1:
        (home,) = brokers
        return brokers + Counter({home: len(dead)}), (f"brokers of {seen.name} that are not alive: {listed}",)
    where = "in which data centre they stand is not known: import again when they are alive"
    return brokers, (f"brokers of {seen.name} that are not alive are left out ({listed}); {where}",)


def _broker_homes(
    seen: SeenCluster, estate: SeenEstate, around: str | None
) -> tuple[dict[int, str] | None, tuple[str, ...]]:
    """Data centre of each broker, or its rack in the one that is `around`; None where it is not known."""
    brokers = seen.observed.brokers
    racks = {b.broker_id: b.rack for b in brokers}
    named = {rack for rack in racks.values() if rack is not None and _NAME.fullmatch(rack)}
    if len(estate.clusters) > 1:
        return _home_of_mirrored(seen, estate, named)
    if named and set(racks.values()) == named:
        taken = f"one of {around}, where the inventory has all brokers" if around else "a data centre"
        note = f"each rack of {seen.name} is taken for {taken}: {', '.join(sorted(named))}"
        return {number: str(rack) for number, rack in racks.items()}, (note,) if len(named) > 1 else ()
    by_host = {number: estate.dc_of_host.get(host) for number, host in seen.hosts.items()}
    if by_host and None not in by_host.values():
        return {number: str(dc) for number, dc in by_host.items()}, ()
    lacking = sorted(number for number, rack in racks.items() if rack is None)
    said = f"brokers {', '.join(map(str, lacking))} have no rack" if lacking else "its racks cannot be names"
    return None, (f"{seen.name}: {said}; all is written as one data centre: unknown [racks]",)


def _around_racks(seen: SeenCluster, estate: SeenEstate) -> str | None:
    """The one data centre that the inventory has around several racks, and all voters, of an only cluster."""
    racks = {broker.rack for broker in seen.observed.brokers}
    by_host = {estate.dc_of_host.get(host) for host in seen.hosts.values()}
    by_host |= {estate.dc_of_host.get(host) for host in seen.voter_hosts.values()} - {None}
    is_one = len(estate.clusters) == len(by_host) == 1 and len(racks) > 1
    if not is_one or not all(rack is not None and _NAME.fullmatch(rack) for rack in racks):
        return None
    (site,) = by_host
    return None if site in racks else site


def _home_of_mirrored(
    seen: SeenCluster, estate: SeenEstate, racks: set[str]
) -> tuple[dict[int, str], tuple[str, ...]]:
    """Mirrored clusters have one data centre each; racks within one are its zones."""
    others = {
        broker.rack
        for name, cluster in estate.clusters.items()
        for broker in cluster.observed.brokers
        if name != seen.name
    }
    by_host = {estate.dc_of_host.get(host) for host in seen.hosts.values()}
    home = seen.name
    notes: tuple[str, ...] = ()
    if len(racks) == 1 and not racks & others:
        (home,) = racks
    elif len(by_host) == 1 and None not in by_host:
        home = str(next(iter(by_host)))
    if len(racks) > 1:
        notes = (f"racks {', '.join(sorted(racks))} of {seen.name} are taken for zones of one data centre",)
    return {broker.broker_id: home for broker in seen.observed.brokers}, notes


def _voters(
    seen: SeenCluster, estate: SeenEstate, homes: Mapping[int, str], around: str | None
) -> dict[int, str] | None:
    """Data centre, or rack, of each voter; None where any of them is not known."""
    quorum = seen.observed.quorum
    if quorum is None or not quorum.voters:
        return None
    by_broker = _dc_of_hosts(seen, homes)
    by_host = {**estate.dc_of_host, **by_broker} if around else {**by_broker, **estate.dc_of_host}
    found = {}
    for voter in quorum.voters:
        is_broker = quorum.kind == "kraft" and voter in homes
        dc = homes[voter] if is_broker else by_host.get(seen.voter_hosts.get(voter, ""))
        if dc is None:
            return None
        found[voter] = dc
    return found


def _dc_of_hosts(seen: SeenCluster, homes: Mapping[int, str]) -> dict[str, str]:
    """Hosts whose brokers all belong to one data centre."""
    found: dict[str, set[str]] = {}
    for number, host in seen.hosts.items():
        if number in homes:
            found.setdefault(host, set()).add(homes[number])
    # On the loopback address everything is everywhere.
    return {
        host: next(iter(dcs))
        for host, dcs in found.items()
        if len(dcs) == 1 and not host.startswith("127.") and host != "localhost"
    }


def _combined(seen: SeenCluster, sites: int) -> bool | None:
    """What the file says of it; None where the default already does."""
    if seen.metadata != "kraft" or seen.observed.quorum is None:
        return None
    is_combined = set(seen.observed.quorum.voters) <= set(seen.hosts)
    return None if is_combined == (sites == 1) else is_combined


def _weights(seen: SeenCluster, voters: Mapping[int, str]) -> dict[str, int] | None:
    """Weight of each server of a data centre; None where groups are no data centres, or weights differ."""
    homes = [{voters[s] for s in members if s in voters} for members in seen.voter_groups.values()]
    if any(len(home) != 1 for home in homes) or len(set(map(frozenset, homes))) != len(homes):
        return None
    found: dict[str, set[int]] = {}
    for server, dc in voters.items():
        found.setdefault(dc, set()).add(seen.voter_weights.get(server, 1))
    if any(len(weights) != 1 for weights in found.values()):
        return None
    return {dc: next(iter(weights)) for dc, weights in found.items()}
