"""What stands changed within clusters for a while: sites put last or off, settings lowered, quorums without
lost voters, services disabled, applications elsewhere, mirrors halted. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from orchestrator.ports.services import ServiceState
from orchestrator.runs.estate_record import Fact, standing
from orchestrator.runs.facts_within_clusters import (
    ApplicationsHome,
    ApplicationsPlaced,
    ClusterFact,
    LongestFirst,
    MinInsyncLowered,
    MinInsyncRestored,
    MirrorHalted,
    MirrorReleased,
    QuorumForced,
    QuorumFormed,
    QuorumRestoring,
    QuorumWhole,
    ServicesStarted,
    ServicesStopped,
    SiteEvacuated,
    SitesOff,
    SitesOn,
    SitesReturned,
    TopicOrder,
    VotersAdded,
    VotersDropped,
)
from orchestrator.wording import listed

LeftOut = Mapping[str, tuple[int, ...]]
"""By site the ids of voters that take no part in the quorum, though others of the site do."""


def numbers_in(left_out: LeftOut) -> frozenset[int]:
    """The ids of all of them."""
    return frozenset(number for ids in left_out.values() for number in ids)


def left_out_in_words(left_out: Mapping[str, Collection[int]]) -> list[str]:
    """Of each site which voters are left out."""
    return [f"voter {listed(map(str, ids))} of {site}" for site, ids in left_out.items() if ids]


def left_out_as_json(left_out: LeftOut) -> dict[str, list[int]]:
    """As plans, `status` and `leaders` tell it."""
    return {site: sorted(ids) for site, ids in left_out.items() if ids}


@dataclass(frozen=True, slots=True)
class Evacuated:
    """What stands evacuated of a cluster: its sites, in order, and how assignments stood before.

    Assignments whose longest replica was put first are among them, without a site.
    """

    sites: tuple[str, ...]
    orders: Mapping[str, TopicOrder]


@dataclass(frozen=True, slots=True)
class Quorum:
    """How often the quorum of a cluster was changed, and what stands of that.

    `forced`: the change to the survivors alone that stands, None where all voters are one quorum; `formed`:
    once it has come about; `restoring`: once somebody has begun to put the files back.
    `dropped`: voters of lost sites that were taken out while it lived, and do not vote again yet.
    """

    generation: int = 0
    forced: QuorumForced | None = None
    formed: QuorumFormed | None = None
    restoring: QuorumRestoring | None = None
    dropped: VotersDropped | None = None

    @property
    def dropped_at(self) -> tuple[str, ...]:
        """Sites all of whose voters were taken out."""
        return self.dropped.sites if self.dropped is not None else ()

    @property
    def without(self) -> tuple[str, ...]:
        """Sites whose voters are none at present."""
        forced = self.forced.sites if self.forced is not None else ()
        return tuple(dict.fromkeys([*forced, *self.dropped_at]))

    @property
    def stands_alone(self) -> bool:
        """Whether the survivors are the whole quorum, and nobody has begun to make all voters one again."""
        return self.formed is not None and self.restoring is None

    @property
    def is_between(self) -> bool:
        """Whether a change was begun, to survivors alone or to all voters, and has not come to its end."""
        return self.forced is not None and not self.stands_alone

    @property
    def left_out(self) -> LeftOut:
        """Voters that are none at present, though others of their site are."""
        return self.forced.left_out if self.forced is not None else {}

    def is_without(self, sites: Collection[str]) -> bool:
        """Whether the survivors of the loss of these sites are the whole quorum already."""
        lost = self.forced.sites if self.forced is not None else ()
        return bool(sites) and self.stands_alone and set(sites) <= set(lost)


QUORUM_FACTS = (
    QuorumForced,
    QuorumFormed,
    QuorumRestoring,
    QuorumWhole,
    VotersDropped,
    VotersAdded,
)
"""What `quorums` wants to know."""
SITE_FACTS = (SitesOff, SitesOn)
"""What `sites_off` wants to know."""
WITHIN_CLUSTERS: tuple[type[ClusterFact], ...] = tuple(ClusterFact.KINDS.values())
"""What all functions here want to know."""


def evacuated_sites(facts: Iterable[Fact]) -> dict[str, Evacuated]:
    """By cluster what has not been put back since."""
    found: dict[str, Evacuated] = {}
    for fact in standing(facts):
        if isinstance(fact.body, SiteEvacuated):
            known = found.get(fact.body.cluster, Evacuated((), {}))
            sites = tuple(dict.fromkeys([*known.sites, fact.body.site]))
            found[fact.body.cluster] = Evacuated(sites, joined_orders(known.orders, fact.body.orders))
        elif isinstance(fact.body, LongestFirst):
            known = found.get(fact.body.cluster, Evacuated((), {}))
            orders = joined_orders(known.orders, fact.body.orders)
            found[fact.body.cluster] = Evacuated(known.sites, orders)
        elif isinstance(fact.body, SitesReturned):
            known = found.pop(fact.body.cluster, Evacuated((), {}))
            left = {name: order for name, order in known.orders.items() if name in fact.body.but_for}
            if left:
                found[fact.body.cluster] = Evacuated(known.sites, left)
    return found


def joined_orders(older: Mapping[str, TopicOrder], newer: Mapping[str, TopicOrder]) -> dict[str, TopicOrder]:
    """Of each partition the older order, where the newer one is of the same topic and replicas."""
    found = dict(older)
    for name, order in newer.items():
        known = found.get(name)
        if known is None or known.topic_id != order.topic_id:
            found[name] = order
            continue
        replicas = dict(known.replicas)
        for number, now in order.replicas.items():
            if sorted(replicas.get(number, ())) != sorted(now):
                replicas[number] = now
        found[name] = TopicOrder(topic_id=order.topic_id, replicas=replicas)
    return found


def lowered_topics(facts: Iterable[Fact]) -> dict[str, MinInsyncLowered]:
    """By cluster the topics whose `min.insync.replicas` is lowered, and what they had at first."""
    found: dict[str, MinInsyncLowered] = {}
    for fact in standing(facts):
        if isinstance(fact.body, MinInsyncLowered):
            known = found.get(fact.body.cluster)
            found[fact.body.cluster] = MinInsyncLowered(
                cluster=fact.body.cluster,
                sites=tuple(dict.fromkeys([*(known.sites if known else ()), *fact.body.sites])),
                before={**fact.body.before, **(known.before if known else {})},
                lowered={**(known.lowered if known else {}), **fact.body.lowered},
            )
        elif isinstance(fact.body, MinInsyncRestored):
            before = found.pop(fact.body.cluster, None)
            left = {name for name in before.before if name in fact.body.but_for} if before else set()
            if before is not None and left:
                found[fact.body.cluster] = MinInsyncLowered(
                    cluster=before.cluster,
                    sites=before.sites,
                    before={name: value for name, value in before.before.items() if name in left},
                    lowered={name: value for name, value in before.lowered.items() if name in left},
                )
    return found


def halted_mirrors(facts: Iterable[Fact]) -> dict[str, tuple[MirrorHalted, ...]]:
    """By cluster the mirrors out of it that were stopped for an election, and have not gone on since."""
    found: dict[tuple[str, str], MirrorHalted] = {}
    for fact in standing(facts):
        match fact.body:
            case MirrorHalted() as halted:
                found[halted.cluster, halted.target] = halted
            case MirrorReleased(cluster=cluster, target=target):
                found.pop((cluster, target), None)
            case _:
                pass
    clusters = dict.fromkeys(cluster for cluster, _ in found)
    return {name: tuple(one for one in found.values() if one.cluster == name) for name in clusters}


def sites_off(facts: Iterable[Fact], *, of_voters: bool = False) -> dict[str, tuple[str, ...]]:
    """By cluster the sites at which no server of it is to run; `of_voters`: none of its voters.

    These run again before the brokers do, once all of them are one quorum.
    """
    found: dict[str, tuple[str, ...]] = {}
    for fact in standing(facts):
        match fact.body:
            case SitesOff() as off:
                found[off.cluster] = tuple(dict.fromkeys([*found.get(off.cluster, ()), *off.sites]))
            case SitesOn() as on:
                found.pop(on.cluster, None)
            case QuorumWhole() as whole if of_voters:
                found.pop(whole.cluster, None)
            case _:
                pass
    return found


def stopped_services(facts: Iterable[Fact]) -> dict[str, dict[str, ServiceState]]:
    """By cluster and server the services that are stopped, and how each was at first."""
    found: dict[str, dict[str, ServiceState]] = {}
    for fact in standing(facts):
        match fact.body:
            case ServicesStopped(cluster=cluster, before=before):
                found[cluster] = {**before, **found.get(cluster, {})}
            case ServicesStarted(cluster=cluster, but_for=but_for):
                known = found.pop(cluster, {})
                found[cluster] = {server: its for server, its in known.items() if server in but_for}
            case _:
                pass
    return {cluster: services for cluster, services in found.items() if services}


def sites_started(facts: Iterable[Fact]) -> dict[str, tuple[str, ...]]:
    """By cluster the sites where services that were stopped have started, and that are not let on yet."""
    stopped: dict[str, dict[str, ServiceState]] = {}
    found: dict[str, tuple[str, ...]] = {}
    for fact in standing(facts):
        match fact.body:
            case ServicesStopped(cluster=cluster, before=before):
                stopped[cluster] = {**stopped.get(cluster, {}), **before}
                found.pop(cluster, None)
            case ServicesStarted(cluster=cluster, but_for=but_for):
                services = stopped.pop(cluster, {})
                sites = dict.fromkeys(its.site for server, its in services.items() if server not in but_for)
                found[cluster] = tuple(dict.fromkeys([*found.get(cluster, ()), *sites]))
            case SitesOn(cluster=cluster):
                found.pop(cluster, None)
            case _:
                pass
    return found


def quorums(facts: Iterable[Fact]) -> dict[str, Quorum]:
    """By cluster what was changed of its quorum. Of who is taken out by a run its newest word counts."""
    found: dict[str, Quorum] = {}
    known_facts = standing(facts)
    newest = {(f.run_id, f.body.cluster): f for f in known_facts if isinstance(f.body, VotersDropped)}
    for fact in known_facts:
        match fact.body:
            case QuorumForced() as forced:
                known = found.get(forced.cluster, Quorum())
                found[forced.cluster] = Quorum(forced.generation, forced, dropped=known.dropped)
            case QuorumFormed() as formed if formed.cluster in found:
                found[formed.cluster] = replace(found[formed.cluster], formed=formed)
            case QuorumRestoring() as restoring if restoring.cluster in found:
                found[restoring.cluster] = replace(found[restoring.cluster], restoring=restoring)
            case QuorumWhole() as whole:
                known = found.get(whole.cluster, Quorum())
                found[whole.cluster] = Quorum(whole.generation, dropped=known.dropped)
            case VotersDropped() as dropped if newest[fact.run_id, dropped.cluster] is fact:
                known = found.get(dropped.cluster, Quorum())
                found[dropped.cluster] = replace(known, dropped=_joined(known.dropped, dropped))
            case VotersAdded(cluster=cluster):
                found[cluster] = replace(found.get(cluster, Quorum()), dropped=None)
            case _:
                pass
    return found


def _joined(older: VotersDropped | None, newer: VotersDropped) -> VotersDropped:
    """Both; of one voter, and of the whole configuration, as it was at first."""
    if older is None:
        return newer
    voters = {voter.number: voter for voter in (*newer.voters, *older.voters)}
    sites = tuple(dict.fromkeys([*older.sites, *newer.sites]))
    return VotersDropped(
        cluster=newer.cluster,
        sites=sites,
        voters=tuple(voters[number] for number in sorted(voters)),
        partly=tuple(site for site in dict.fromkeys([*older.partly, *newer.partly]) if site not in sites),
        lines=older.lines,
    )


@dataclass(frozen=True, slots=True)
class PlacedAt:
    """Where a program runs, other than the file has it. `is_seen`: it was seen at work there."""

    site: str
    is_seen: bool


def placed_applications(facts: Iterable[Fact]) -> dict[str, dict[str, PlacedAt]]:
    """By cluster the programs that run elsewhere than the file has them."""
    found: dict[str, dict[str, PlacedAt]] = {}
    for fact in standing(facts):
        match fact.body:
            case ApplicationsPlaced(cluster=cluster, at=at, seen=seen):
                rows = {program: PlacedAt(site, seen) for program, site in at.items()}
                found.setdefault(cluster, {}).update(rows)
            case ApplicationsHome(cluster=cluster, programs=programs):
                for program in programs:
                    found.get(cluster, {}).pop(program, None)
            case _:
                pass
    return {cluster: at for cluster, at in found.items() if at}
