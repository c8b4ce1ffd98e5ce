"""Applications at a site that is lost or left: they go on at another site of the same cluster, and come home.

What they need is in the cluster: the same logs, and the positions that Kafka keeps. So nothing is translated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.moves.clients import StartElsewhere, StopClients
from orchestrator.moves.participants import Accepted, Ground, Kind, Left, Participants
from orchestrator.moves.way import Item, Place, Reach, Way
from orchestrator.moves.within_cluster.placing import RecordHome, RecordPlaced
from orchestrator.runs.effect import Handle, Nothing
from orchestrator.runs.runbook import After, Runbook, behind
from orchestrator.runs.within_clusters import PlacedAt
from orchestrator.snapshot.clients import SERVICE_MANAGERS, ClientHost
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.durability.shapes import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from orchestrator.topology.instances import is_free, serving_sites, sites_of
from orchestrator.topology.model import Consumer, Producer, Topology
from orchestrator.wording import listed

_Found = dict[tuple[tuple[str, ...], tuple[str, ...], bool, str], list[tuple[Item, str]]]
"""Who goes from which sites to which, and whether that is home."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """Applications that go from sites of a cluster to others of it. `programs`: as hosts know them.

    `is_home`: to where the file has them.
    """

    way: Way
    programs: tuple[str, ...]
    is_home: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """Who goes, and who cannot, with why: program -> reason. `stays`: what is said of these.

    `forgotten`: programs that are recorded elsewhere, and that the file does not have any more.
    """

    going: tuple[Going, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    stays: str = "not started elsewhere"
    forgotten: tuple[str, ...] = ()

    @property
    def at(self) -> dict[str, str]:
        """Where each goes: program -> site."""
        return {program: one.way.entered.sites[0] for one in self.going for program in one.programs}

    @property
    def said(self) -> str:
        """For the first line of a plan; empty where there is nothing to say."""
        entered: dict[tuple[str, ...], list[str]] = {}
        for one in self.going:
            entered.setdefault(one.way.entered.sites, []).extend(one.programs)
        found = [
            f"{listed(programs)} {'start' if len(programs) > 1 else 'starts'} at {listed(sites)}"
            for sites, programs in entered.items()
        ]
        reasons: dict[str, list[str]] = {}
        for program, why in self.left_out.items():
            reasons.setdefault(why, []).append(program)
        for why, programs in reasons.items():
            found.append(f"{self.stays}, since {why}: {listed(programs)}")
        if self.forgotten:
            found.append(f"where {listed(self.forgotten)} ran is forgotten: the file has them no more")
        return "".join(f"; {one}" for one in found)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingTopics:
    """Topics that wait for the site: with too few replicas in sync to be written, or with a partition that
    nobody leads (`unled`).
    """

    unwritten: Collection[str] = ()
    unled: Collection[str] = ()

    def keeps(self, topology: Topology, kind: Kind, name: str) -> bool:
        """Whether nothing can be seen of an application before they do not wait any more.

        Who reads commits its positions, and who writes in transactions begins them, in topics of Kafka's own.
        """
        waiting = {*self.unwritten, *self.unled}
        if kind.writes:
            own = [one for one in topology.producers if one.name == name]
            topics = {topic for one in own for topic in one.topics}
            if any(one.transactional_ids for one in own):
                topics.add(TRANSACTIONS_TOPIC)
            return not topics.isdisjoint(waiting)
        topics = {t for one in topology.consumers if one.name == name for t in topology.topics_read(one)}
        return OFFSETS_TOPIC in waiting or not topics.isdisjoint(self.unled)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sites:
    """`emptied`: those that applications leave, `off`: at which no server runs, `evacuated`: taken last.

    `one_by_one`: each application goes by itself.
    """

    emptied: tuple[str, ...]
    off: tuple[str, ...] = ()
    evacuated: tuple[str, ...] = ()
    one_by_one: bool = False

    @property
    def gone(self) -> frozenset[str]:
        """Where nobody is to run."""
        return frozenset([*self.emptied, *self.off])


def leaving(  # noqa: PLR0917 - who leaves what, and what is known of it
    topology: Topology,
    them: Participants,
    seen: Snapshot,
    cluster: str,
    sites: Sites,
    waiting: WaitingTopics = WaitingTopics(),
) -> Leaving:
    """Applications of which no instance is anywhere but at sites that are left.

    Who was started elsewhere and never seen there is started once more: a run ended on its way, or topics
    waited (`waiting`: those that still do) and do no more.
    """
    at, hosts = _placed(seen, cluster), seen.inventory
    found: _Found = {}
    left_out: dict[str, str] = {}
    for item, one, program in _applications(topology, them, cluster):
        homes, placed = sites_of(topology, one), at.get(program)
        here = homes if placed is None else (placed.site,)
        is_unsure = placed is not None and not placed.is_seen and sites.gone.issuperset(homes)
        if is_unsure and not sites.gone.issuperset(here):
            is_unsure = not waiting.keeps(topology, them.kind(item.kind), item.name)
        if not sites.gone.issuperset(here) and not is_unsure:
            continue
        if not is_free(one):
            left_out[program] = f"it keeps its state at {listed(here)}"
            continue
        others = [dc for dc in serving_sites(topology, cluster) if dc not in sites.gone]
        others.sort(key=lambda dc: (dc not in here, dc in sites.evacuated, dc not in homes))
        to = next((dc for dc in others if _runs(hosts.value or (), program, dc)), None)
        if to is not None:
            alone = program if sites.one_by_one else ""
            found.setdefault((here, (to,), to in homes, alone), []).append((item, program))
        elif not others:
            left_out[program] = "no other site has brokers"
        else:
            left_out[program] = (
                hosts.problem if hosts.value is None else f"no host at {listed(others)} has it"
            )
    return Leaving(going=_goings(topology, cluster, found, reach="gone"), left_out=left_out)


def coming_home(topology: Topology, them: Participants, seen: Snapshot, cluster: str) -> Leaving:
    """Those that run elsewhere than the file has them, as far as hosts at both places have them."""
    at, hosts = _placed(seen, cluster), seen.inventory
    found: _Found = {}
    left_out: dict[str, str] = {}
    known = set[str]()
    for item, one, program in _applications(topology, them, cluster):
        known.add(program)
        if program not in at:
            continue
        here, homes = at[program].site, sites_of(topology, one)
        if hosts.value is None:
            left_out[program] = hosts.problem
        elif not _runs(hosts.value, program, here):
            left_out[program] = f"no host at {here}, where it was started, has it"
        elif not any(_runs(hosts.value, program, home) for home in homes):
            left_out[program] = f"no host at {listed(homes)} has it"
        else:
            found.setdefault(((here,), homes, True, ""), []).append((item, program))
    return Leaving(
        going=_goings(topology, cluster, found, reach="whole"),
        left_out=left_out,
        stays="not brought home",
        forgotten=tuple(program for program in at if program not in known),
    )


def go_elsewhere(
    book: Runbook,
    them: Participants,
    leaving: Leaving,
    *,
    after: Sequence[After],
    stops: bool,
    waiting: WaitingTopics = WaitingTopics(),
) -> list[After]:
    """Their steps: stopped where they are (`stops`: their site is there), started elsewhere, seen at work.

    Where they are stopped one goes after the other. Whom `waiting` keeps from working is started, and not
    waited for. Returns what comes behind all of it.
    """
    seen: list[Handle[Any]] = []
    for one in leaving.going:
        before = [behind(seen[-1], because="one at a time: the others work on")] if stops and seen else after
        order = _stop(book, one, before) if stops else list(after)
        cluster, at = one.way.left.cluster, dict.fromkeys(one.programs, one.way.entered.sites[0])
        if one.is_home:
            found = _start(book, them, one, order, waiting)
            seen.append(_record_home(book, one, found))
            continue
        record = RecordPlaced(cluster=cluster, at=at)
        placed = book.add(record, id=one.way.id("record-applications"), after=order)
        recorded = behind(placed, because="failback brings home whoever was started elsewhere")
        found = _start(book, them, one, [recorded], waiting)
        done = [behind(*found, because="until then they are started once more, whoever asks")]
        to_see = {
            program: site
            for item, (program, site) in zip(one.way.items, at.items(), strict=True)
            if not waiting.keeps(one.way.topology, them.kind(item.kind), item.name)
        }
        if to_see:
            record = RecordPlaced(cluster=cluster, at=to_see, seen=True)
            seen.append(book.add(record, id=one.way.id("record-applications-seen"), after=done))
        else:
            seen.extend(found)
    return [behind(*seen, because="applications go on first")] if seen else list(after)


def go_home(
    book: Runbook, them: Participants, leaving: Leaving, cluster: str, *, after: Sequence[After]
) -> None:
    """Their steps: stopped where they are, started where the file has them, seen at work."""
    for one in leaving.going:
        _record_home(book, one, _start(book, them, one, _stop(book, one, after), WaitingTopics()))
    if leaving.forgotten:
        title = f"Forget where {listed(leaving.forgotten)} ran: the file has them no more"
        book.add(
            RecordHome(cluster=cluster, programs=leaving.forgotten),
            id="forget-applications",
            title=title,
            after=after,
        )


def _record_home(book: Runbook, one: Going, seen: Sequence[Handle[Any]]) -> Handle[Nothing]:
    home = RecordHome(cluster=one.way.left.cluster, programs=one.programs)
    order = [behind(*seen, because="they are at work where the file has them")]
    return book.add(home, id=one.way.id("record-home"), after=order)


def _stop(book: Runbook, one: Going, after: Sequence[After]) -> list[After]:
    way = one.way
    stop = StopClients(cluster=way.left.cluster, clients=one.programs, sites=way.left.sites)
    title = f"Stop {listed(one.programs)} of {way.left.cluster} at {listed(way.left.sites)}"
    stopped = book.add(stop, id=way.id("stop-applications"), title=title, after=after)
    return [behind(stopped, because="an application that stops cleanly commits what it has processed")]


def _start(
    book: Runbook, them: Participants, one: Going, after: Sequence[After], waiting: WaitingTopics
) -> list[Handle[Any]]:
    """Started, and those of whom something is to be seen seen."""
    way = one.way
    to_see = (item for item in way.items if not waiting.keeps(way.topology, them.kind(item.kind), item.name))
    watched = replace(way, items=tuple(to_see))
    kinds = [kind for kind in them.kinds if watched.named(kind.name)]
    ground = Ground(accepted=Accepted(), arrived=tuple(after))
    ready = {kind.name: kind.place(book, watched, ground, Left()) for kind in kinds}
    looked = [handle for found in ready.values() for handle in found]
    order = [behind(*looked, because="what they write from here on is new")] if looked else list(after)
    start = StartElsewhere(cluster=way.entered.cluster, clients=one.programs, sites=way.entered.sites)
    started = book.add(start, id=way.id("start-elsewhere"), after=order)
    since = [behind(started, because="they are looked for once they were started")]
    seen = [kind.see(book, watched, ready[kind.name], started, ground, since) for kind in kinds]
    return [handle for handle in seen if handle is not None] or [started]


def _placed(seen: Snapshot, cluster: str) -> Mapping[str, PlacedAt]:
    return seen.coordination.value.applications_at.get(cluster, {}) if seen.coordination.value else {}


def _applications(
    topology: Topology, them: Participants, cluster: str
) -> Iterator[tuple[Item, Producer | Consumer, str]]:
    """Those that dcctl starts and stops, with the programs that hosts run of them."""
    for kind in them.kinds:
        everybody: Sequence[Producer | Consumer] = (
            topology.producers_of(cluster) if kind.writes else topology.consumers_of(cluster)
        )
        here = set(kind.at(topology, cluster))
        for one in everybody:
            for program in kind.programs(topology, [one.name]) if one.name in here else ():
                yield Item(name=one.name, kind=kind.name), one, program


def _runs(hosts: Sequence[ClientHost], program: str, site: str) -> bool:
    return any(host.runs(program, [site]) and host.service_manager in SERVICE_MANAGERS for host in hosts)


def _goings(
    topology: Topology,
    cluster: str,
    found: _Found,
    *,
    reach: Reach,
) -> tuple[Going, ...]:
    goings = []
    for number, ((left, entered, is_home, alone), who) in enumerate(found.items()):
        several = f"-{entered[0]}-{number + 1}" if len(found) > 1 else ""
        way = Way(
            topology=topology,
            left=Place(cluster, left),
            entered=Place(cluster, entered),
            reach=reach,
            items=tuple(item for item, _ in who),
            home=cluster,
            mark=f"-{alone}" if alone else several,
        )
        programs = tuple(program for _, program in who)
        goings.append(Going(way=way, programs=programs, is_home=is_home))
    return tuple(goings)
