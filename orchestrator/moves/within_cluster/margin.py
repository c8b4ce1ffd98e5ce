"""What the next single loss would stop, once a plan is done, and whether that has to be asked. Pure.

By who is in sync now, with the settings that the plan leaves; voters by the file, as `explain` has them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from orchestrator.moves.within_cluster.order import assigned, brokers_at, not_in_sync, with_all_in_sync
from orchestrator.moves.within_cluster.writes import all_away, stopped
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Placement
from orchestrator.runs.gate import absent, gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.topology.durability.control_plane import control_plane_after
from orchestrator.topology.durability.losses import Loss, Server, servers_of
from orchestrator.topology.durability.margin import next_loss_in_words
from orchestrator.topology.durability.values import ControlPlane, NextLoss, Stopped
from orchestrator.topology.model import Topology
from orchestrator.wording import listed, plural

Unit = int | str
"""A broker, by its id, or a site: what can be lost at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A cluster once a plan is done.

    `placement`: who is in sync and up then; `min_insync`: by topic, as it is then; `waits`: topics that take
    no writes then. `lost`: sites that are lost; `is_alone`: the voters that are left are the whole quorum.
    """

    placement: Placement
    min_insync: Mapping[str, int]
    waits: Collection[str] = ()
    lost: Collection[str] = ()
    is_alone: bool = False


class _Touched(NamedTuple):
    """By broker and by site the topics of which it has a replica in sync, and those that stop with it."""

    has: Mapping[Unit, set[str]]
    stops: Mapping[Unit, set[str]]


def margin_of(topology: Topology, cluster: str, done: Done) -> tuple[NextLoss, ...]:
    """Each broker, voter or site whose loss would stop what goes on then; those together that stop the same.

    Brokers are called by their ids. A voter is one of its site: who of them is lost makes no difference.
    """
    described = topology.clusters[cluster]
    servers = [server for server in servers_of(topology) if server.cluster == cluster]
    gone = frozenset(server for server in servers if server.dc in done.lost)
    if done.is_alone:
        servers = [server for server in servers if server not in gone]
        # The files of the survivors have no groups any more.
        described, gone = replace(described, quorum="majority"), frozenset()

    def plane(taken: Collection[Server]) -> ControlPlane:
        return control_plane_after(described, servers, Loss(("it",), gone.union(taken)))[0]

    left = [server for server in servers if server not in gone]
    halted = {*done.waits, *stopped(done.placement, done.min_insync)}
    halted |= {partition.topic for partition in all_away(done.placement)}
    found = _touched(done.placement, done.min_insync, but_for=halted)
    is_decided = plane(()) == "continues"
    gathered: dict[tuple[ControlPlane | None, tuple[str, ...]], list[str]] = {}
    for name, unit, taken in _units(done.placement, left):
        then = plane(taken)
        ends = then if is_decided and then != "continues" else None
        topics = found.stops.get(unit, set()) | (found.has.get(unit, set()) if ends else set())
        if ends or topics:
            gathered.setdefault((ends, tuple(sorted(topics))), []).append(name)
    return tuple(NextLoss(tuple(names), {cluster: Stopped(*what)}) for what, names in gathered.items())


def _units(placement: Placement, left: Sequence[Server]) -> Iterator[tuple[str, Unit, Collection[Server]]]:
    """What can be lost next, by its name, with the voters that go along."""
    voters = {dc: [s for s in left if s.dc == dc and s.is_voter] for dc in dict.fromkeys(s.dc for s in left)}
    for broker in sorted(placement.living):
        site = placement.racks.get(broker, "")
        yield f"broker {broker}", broker, [s for s in voters.get(site, ()) if s.is_broker][:1]
    for site, its in voters.items():
        alone = [server for server in its if not server.is_broker]
        if alone:
            kind = alone[0].name.partition("-")[0]
            yield f"a {kind} at {site}", "", alone[:1]
        if sum(server.dc == site for server in left) > 1:
            yield site, site, its


def _touched(
    placement: Placement, min_insync: Mapping[str, int], *, but_for: Collection[str] = ()
) -> _Touched:
    has: dict[Unit, set[str]] = defaultdict(set)
    stops: dict[Unit, set[str]] = defaultdict(set)
    for one in assigned(placement):
        topic = one.partition.topic
        if topic in but_for:
            continue
        counted: Counter[Unit] = Counter(one.in_sync)
        counted.update(placement.racks[broker] for broker in one.in_sync if broker in placement.racks)
        for unit, count in counted.items():
            has[unit].add(topic)
            if len(one.in_sync) - count < max(min_insync.get(topic, 1), 1):
                stops[unit].add(topic)
    return _Touched(has, stops)


def margin_as_json(margin: Sequence[NextLoss]) -> list[dict[str, Any]]:
    """For the facts of a plan, as `explain` tells it."""
    return [
        {"next": list(one.names), "clusters": {name: asdict(its) for name, its in one.clusters.items()}}
        for one in margin
    ]


def margin_in_words(margin: Sequence[NextLoss]) -> str:
    """For a sentence."""
    return "; ".join(map(next_loss_in_words, margin)) or "no single loss more would stop anything"


def margin_after_loss(
    placement: Part[Placement],
    settings: GateResult,
    cluster: str,
    margin: Sequence[NextLoss],
    unsaid: Collection[str],
    *,
    is_accepted: bool,
) -> GateResult:
    """What the next loss would stop is told; only a record on one broker alone asks for a person's word.

    `settings`: whether `min.insync.replicas` is known. `unsaid`: topics that the plan lowers to one copy,
    though nobody has named them for this loss.
    """
    limit = f"a person has said so where an acknowledged record of {cluster} is to be on one broker alone"
    if placement.value is None:
        return absent("margin-after", placement, limit)
    if settings.outcome != "ok":
        return replace(settings, id="margin-after", limit=limit)
    measured = f"{plural(len(unsaid), 'topic')} lowered to one copy that nobody has named"
    told = margin_in_words(margin)
    if unsaid and not is_accepted:
        reason = f"one broker alone has the acknowledged records of {listed(sorted(unsaid))} then, and takes "
        reason += f"them along if it is lost; {told}"
        hint = "bring a broker of another replica back, or say that this is wanted: --accept-margin, or "
        hint += f"--lower-min-insync {','.join(sorted(unsaid))}"
        return gate_result("margin-after", "refused", measured, limit, reason, hint)
    return gate_result("margin-after", "ok", measured, limit, f"once it is done: {told}")


def margin_after_evacuation(
    placement: Part[Placement],
    min_insync: Part[Mapping[str, int]],
    topology: Topology,
    cluster: str,
    site: str,
    *,
    is_accepted: bool,
) -> GateResult:
    """Whether brokers elsewhere can be lost one at a time as if every replica there were in sync.

    Who leads is changed and no replica, so the layout's own margin is no question. Replicas at the site do
    not count against it: it is left because something is to be done there, or is out of order.
    """
    limit = f"the next broker of {cluster} lost outside {site} stops no more than with every replica in sync"
    if placement.value is None:
        return absent("margin-after", placement, limit)
    if min_insync.value is None:
        return absent("margin-after", min_insync, limit)
    now = _with_site_whole(placement.value, topology, cluster, site)
    elsewhere = now.living - brokers_at(now, site)
    stops = _touched(now, min_insync.value).stops
    layout = _touched(with_all_in_sync(now), min_insync.value).stops
    more = {broker: topics for broker in sorted(elsewhere) if (topics := stops[broker] - layout[broker])}
    lacking = not_in_sync(now)
    measured = f"{plural(len(lacking), 'partition')} with a replica elsewhere that is not in sync"
    if more and not is_accepted:
        gathered: dict[tuple[str, ...], list[str]] = {}
        for broker, topics in more.items():
            gathered.setdefault(tuple(sorted(topics)), []).append(f"broker {broker}")
        margin = [
            NextLoss(tuple(names), {cluster: Stopped(None, topics)}) for topics, names in gathered.items()
        ]
        reason = f"outside {site} replicas of {cluster} are not in sync: {listed(lacking)}; "
        reason += margin_in_words(margin)
        hint = "start their brokers and wait until all is in sync, or take the risk: --accept-margin"
        return gate_result("margin-after", "refused", measured, limit, reason, hint)
    return gate_result("margin-after", "ok", measured, limit, limit if not more else f"accepted: {measured}")


def _with_site_whole(placement: Placement, topology: Topology, cluster: str, site: str) -> Placement:
    """As if every replica at the site were in sync. A broker that is down tells no rack.

    It counts as one of the site's where no other site lacks a broker that the file has.
    """
    rows = topology.clusters[cluster].nodes
    up = Counter(placement.racks.get(broker) for broker in placement.living)
    wanted: Counter[str] = Counter()
    for row in rows:
        wanted[row.dc] += row.brokers
    is_whole_elsewhere = all(up[dc] >= count for dc, count in wanted.items() if dc != site)
    having = {broker for one in assigned(placement) for broker in one.replicas}
    here = brokers_at(placement, site) | (having - placement.living if is_whole_elsewhere else frozenset())
    topics = {
        name: replace(
            topic,
            isr=tuple(
                tuple(broker for broker in replicas if broker in isr or broker in here)
                for replicas, isr in zip(topic.replicas, topic.isr, strict=True)
            ),
        )
        for name, topic in placement.topics.items()
    }
    return replace(
        placement,
        topics=topics,
        living=placement.living | here,
        racks={**placement.racks, **dict.fromkeys(here, site)},
    )
