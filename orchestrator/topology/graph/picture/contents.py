"""What stands in a card: the servers of each site in rows, and lines about quorum and topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from orchestrator.topology.graph.parts import KafkaCluster, Quorum, Servers
from orchestrator.topology.graph.picture.fonts import shortened, text_width
from orchestrator.topology.graph.picture.look import ICON_STEP, MOST_ICONS, TEXTS
from orchestrator.topology.graph.wording import (
    alike_topics,
    broker_words,
    copies_words,
    few,
    fitted,
    quorum_words,
    votes_words,
)
from orchestrator.wording import plural

RowKind = Literal["brokers", "voters", "workers"]
ROW_KINDS: tuple[RowKind, ...] = ("brokers", "voters", "workers")


@dataclass(frozen=True, slots=True)
class ServerRow:
    """Servers of one kind in one site: `shared` of the icons bear the badge of a controller."""

    kind: RowKind
    icon: str
    count: int
    words: str
    shared: int = 0
    note: str = ""

    @property
    def icons(self) -> int:
        """How many are drawn; the words tell how many there are."""
        return min(self.count, MOST_ICONS)

    @property
    def is_voting(self) -> bool:
        """Whether these servers are members of the quorum; the note then says what they count for."""
        return bool(self.note)

    @property
    def height(self) -> float:
        """Room from the top of the icons to the end of the note."""
        return 50 if self.is_voting else 26

    @property
    def words_width(self) -> float:
        """Room for the words and the note."""
        return max(styled_width(self.words, "words"), styled_width(self.note, "note"))


@dataclass(frozen=True, slots=True)
class Footer:
    """Two lines in a card: names in bold, of which as many are shown as fit, and what is said of them."""

    names: tuple[str, ...]
    note: str
    lead: str = ""

    @property
    def tooltip(self) -> str:
        """More of the names than the line may hold."""
        return few(self.names, 30)


def styled_width(words: str, style: str) -> float:
    """Width of words in a style of text."""
    size, bold = TEXTS[style]
    return text_width(words, size, bold=bold)


def cut(words: str, style: str, width: float) -> str:
    """Words shortened to a width in a style of text."""
    size, bold = TEXTS[style]
    return shortened(words, width, size, bold=bold)


def fitted_names(names: Sequence[str], style: str, width: float) -> str:
    """As many names as fit a width, and how many more there are."""
    return fitted(
        names,
        fits=lambda words: styled_width(words, style) <= width,
        shorten=lambda name: cut(name, style, width),
    )


def server_rows(servers: Servers, quorum: Quorum) -> dict[RowKind, ServerRow]:
    """The rows of one site's servers, by kind; kinds without a server are left out."""
    note = votes_words(quorum, servers.site) if servers.site in quorum.votes else ""
    apart = servers.voters - servers.shared
    rows: dict[RowKind, ServerRow] = {}
    if servers.brokers:
        words = broker_words(servers)
        shared_note = note if servers.shared and not apart else ""
        rows["brokers"] = ServerRow("brokers", "broker", servers.brokers, words, servers.shared, shared_note)
    if apart:
        icon, noun = ("zookeeper", "ZooKeeper") if servers.zookeepers else ("controller", "controller")
        rows["voters"] = ServerRow("voters", icon, apart, plural(apart, noun), note=note)
    if servers.connect_workers:
        words = plural(servers.connect_workers, "Connect worker")
        rows["workers"] = ServerRow("workers", "worker", servers.connect_workers, words)
    return rows


def icons_width(rows: Sequence[ServerRow]) -> float:
    """Room that the longest line of icons takes, and a gap."""
    return max((row.icons for row in rows), default=0) * ICON_STEP + 6


def footers(cluster: KafkaCluster, quorum: Quorum) -> list[Footer]:
    """Lines for the quorum of a stretched cluster, for its topics, and for what is mirrored into it."""
    lines = []
    if len(cluster.sites) > 1 or not quorum.votes:
        lines.append(Footer((quorum_words(quorum),), "", lead="quorum"))
    groups = alike_topics(cluster.topics)
    shown = groups if len(groups) <= 3 else groups[:2]
    lines += [Footer(tuple(topic.name for topic in group), copies_words(group)) for group in shown]
    others = tuple(topic.name for group in groups[len(shown) :] for topic in group)
    if others:
        lines.append(Footer(others, f"copied in {len(groups) - len(shown)} other ways"))
    lines += [Footer(names, f"copied from {source}") for source, names in cluster.copied.items() if names]
    return lines
