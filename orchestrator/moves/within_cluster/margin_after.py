"""What the next single loss would stop, once a plan is done, and whether that has to be asked. Pure.

By who is in sync now, with the settings that the plan leaves; voters by the file.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from orchestrator.moves.within_cluster.margin import (
    NextStop,
    deciding_without,
    margin_now,
    voters_by_site,
)
from orchestrator.moves.within_cluster.order import assigned, brokers_at, not_in_sync, with_all_in_sync
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Placement
from orchestrator.runs.gate import absent, gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.runs.within_clusters import LeftOut, Quorum
from orchestrator.topology.model import Topology
from orchestrator.wording import listed, plural


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterPlan:
    """A cluster once a plan is done.

    `placement`: who is in sync and up then; `min_insync`: by topic, as it is then. `lost`: sites that are
    lost; `without`: those whose voters are none any more; `left_out`: voters of others that are none.
    """

    placement: Placement
    min_insync: Mapping[str, int]
    lost: Collection[str] = ()
    without: Collection[str] = ()
    left_out: LeftOut = field(default_factory=dict)


def margin_of(topology: Topology, cluster: str, done: AfterPlan) -> tuple[NextStop, ...]:
    """Each next single loss that would stop what goes on then. Every voter that is left is taken to be up."""
    topology = deciding_without(topology, cluster, done.without, done.left_out)
    described = topology.clusters[cluster]
    voting = {site: count for site, count in voters_by_site(described).items() if site not in done.lost}
    return margin_now(topology, cluster, done.placement, done.min_insync, voting=voting, quorum=Quorum())


def _stopping(placement: Placement, min_insync: Mapping[str, int]) -> Mapping[int, set[str]]:
    """By broker the topics of which some partition takes no writes without it, or takes none already."""
    found: dict[int, set[str]] = defaultdict(set)
    for one in assigned(placement):
        if len(one.in_sync) <= max(min_insync.get(one.partition.topic, 1), 1):
            for broker in one.in_sync:
                found[broker].add(one.partition.topic)
    return found


def margin_in_words(margin: Sequence[NextStop]) -> str:
    """For a sentence."""
    return "; ".join(f"then {one}" for one in margin) or "no single loss more would stop anything"


def margin_after_loss(
    placement: Part[Placement],
    settings: GateResult,
    cluster: str,
    margin: Sequence[NextStop],
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
    stops = _stopping(now, min_insync.value)
    layout = _stopping(with_all_in_sync(now), min_insync.value)
    more = {
        broker: topics
        for broker in sorted(elsewhere)
        if (topics := stops.get(broker, set()) - layout.get(broker, set()))
    }
    lacking = not_in_sync(now)
    measured = f"{plural(len(lacking), 'partition')} with a replica elsewhere that is not in sync"
    if more and not is_accepted:
        gathered: dict[tuple[str, ...], list[str]] = {}
        for broker, topics in more.items():
            gathered.setdefault(tuple(sorted(topics)), []).append(f"broker {broker}")
        margin = [NextStop(tuple(names), None, topics) for topics, names in gathered.items()]
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
    up = Counter(placement.sites.get(broker) for broker in placement.living)
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
        sites={**placement.sites, **dict.fromkeys(here, site)},
    )
