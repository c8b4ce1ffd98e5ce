"""The words in a picture: counts, shortened lists of names, and what a quorum needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

from orchestrator.topology.graph.parts import (
    Application,
    Copies,
    KafkaCluster,
    Mirror,
    PlacedTopic,
    Quorum,
    Servers,
    Site,
    Standby,
)
from orchestrator.wording import listed, plural

_VOTERS = {"kraft": "controller", "zookeeper": "ZooKeeper"}


def few(names: Sequence[str], show: int = 2) -> str:
    """`a`, `a and b`, `a, b and 9,998 more`: at most `show` names."""
    if not show and names:
        return f"{len(names):,}"
    return listed(names, show) if len(names) > show else joined(names)


def joined(names: Sequence[str], word: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return f" {word} ".join(([", ".join(names[:-1])] if len(names) > 1 else []) + list(names[-1:]))


def fitted(names: Sequence[str], fits: Callable[[str], bool], shorten: Callable[[str], str]) -> str:
    """As many names as fit, then how many more there are; else their number alone.

    `shorten` cuts a single name.
    """
    for show in range(min(len(names), 6), 0, -1):
        text = few(names, show)
        if fits(text):
            return text
    if not names:
        return ""
    return shorten(names[0]) if len(names) == 1 else plural(len(names), "topic")


def quorum_words(quorum: Quorum) -> str:
    """What the quorum needs, as one sentence for the whole cluster."""
    total = sum(quorum.votes.values())
    voters = plural(total, _VOTERS[quorum.metadata])
    if not quorum.votes:
        return "Quorum: not known"
    if quorum.rule == "majority":
        return f"Quorum: {quorum.needed} of {voters}"
    groups = len(quorum.groups)
    inside = joined(sorted({quorum.needed_in(site) for site in quorum.groups}), "or")
    if groups == 2:
        return f"Quorum: both groups, each by {inside} {_VOTERS[quorum.metadata]}s"
    return f"Quorum: {quorum.groups_needed} of {plural(groups, 'group')}, each by {inside}"


def votes_words(quorum: Quorum, site: str) -> str:
    """What the voters of one site count for."""
    votes, total = quorum.votes[site], sum(quorum.votes.values())
    if quorum.rule == "hierarchical":
        if site not in quorum.groups:
            return "weight 0: not counted"
        return f"group {quorum.groups.index(site) + 1}: needs {quorum.needed_in(site)}"
    if votes == total:
        return f"quorum: {quorum.needed} of {total}"
    return f"{plural(votes, 'vote')} of {total}"


def broker_words(servers: Servers) -> str:
    """`3 brokers`, how many of them are controllers too, and over how many racks they are spread."""
    racks = f", {plural(len(servers.racks), 'rack')}" if servers.racks else ""
    return plural(servers.brokers, "broker") + _shared_words(servers) + racks


def _shared_words(servers: Servers) -> str:
    if not servers.shared:
        return ""
    if servers.shared == servers.brokers:
        return " + controller" if servers.brokers == 1 else " + controllers"
    return f", {servers.shared} + controller"


def milliseconds(latency_ms: float) -> str:
    """`20 ms`, `0.5 ms`."""
    return f"{latency_ms:g} ms"


def policy_words(mirror: Mirror) -> str:
    """`default policy`, and whether something else runs the mirror."""
    return f"{mirror.policy} policy" + ("" if mirror.managed else ", run by others")


def standby_words(standby: Standby) -> str:
    """Who goes there, where that is not everybody."""
    return "standby" if standby.is_all else f"standby of {few(standby.applications) or 'nobody'}"


def read_boot_guard_statuses(application: Application, show: int) -> str:
    """The topics of an application; for a consumer that has one, the pattern that finds them."""
    if application.pattern is None:
        return few(application.topics, show)
    return f"all that match {application.pattern}"


def coordination_words(site: Site) -> str:
    """How many of dcctl's own ZooKeeper servers stand in a site."""
    return f"lock and journal: {site.coordinators} of {site.all_coordinators}" if site.coordinators else ""


def mode_words(cluster: KafkaCluster) -> str:
    """`Kafka 4.3.1 · KRaft`."""
    return f"Kafka {cluster.kafka} · {'KRaft' if cluster.metadata == 'kraft' else 'ZooKeeper'}"


def alike_topics(topics: Iterable[PlacedTopic]) -> list[list[PlacedTopic]]:
    """Topics grouped by how they are copied, the largest group first."""

    def likeness(topic: PlacedTopic) -> tuple[int, int, tuple[tuple[str, int, int], ...]]:
        spread = tuple((site, copies.low, copies.high) for site, copies in topic.copies.items())
        return (topic.replicas, topic.min_insync_replicas, spread)

    ordered = sorted(topics, key=likeness)
    groups = [list(group) for _, group in groupby(ordered, key=likeness)]
    return sorted(groups, key=len, reverse=True)


def copies_words(topics: Sequence[PlacedTopic]) -> str:
    """How a group of alike topics is copied: `4 copies, 2 at each site, min ISR 3 · 6 partitions`."""
    topic = topics[0]
    partitions = plural(sum(each.partitions for each in topics), "partition")
    copies = f"{topic.replicas} {'copy' if topic.replicas == 1 else 'copies'}"
    return f"{copies}{_places(topic.copies)}, min ISR {topic.min_insync_replicas} · {partitions}"


def _places(copies: Mapping[str, Copies]) -> str:
    """Where copies lie, if that is to be told: `, 2 at each site`, `: 2 at dc1 and 1 at dc2`."""
    if len(copies) < 2:
        return ""
    if len({(each.low, each.high) for each in copies.values()}) == 1:
        return f", {_copies(next(iter(copies.values())))} at each site"
    return ": " + joined([f"{_copies(each)} at {site}" for site, each in copies.items() if each.high])


def _copies(copies: Copies) -> str:
    if copies.low == copies.high:
        return str(copies.low)
    return f"{copies.low} {'or' if copies.high - copies.low == 1 else 'to'} {copies.high}"
