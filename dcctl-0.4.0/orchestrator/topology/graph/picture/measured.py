"""Clusters with their contents and the room these need, before anything has a place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.topology.graph.parts import Application, Mirror, Network, Parts, Site, Standby
from orchestrator.topology.graph.picture.contents import (
    ROW_KINDS,
    Footer,
    RowKind,
    ServerRow,
    footers,
    icons_width,
    server_rows,
    styled_width,
)
from orchestrator.topology.graph.picture.grid import Band, Grid, placed
from orchestrator.topology.graph.picture.look import (
    CARD_PADDING,
    COLUMN_WIDTH,
    MOST_COLUMN_WIDTH,
    SITE_PADDING,
)
from orchestrator.topology.graph.wording import mode_words

HEADER_HEIGHT = 50
CELL_PADDING = 9
OUTLINE = 7
ROW_SPACE = 10
FOOTER_HEIGHT = 36
QUORUM_HEIGHT = 22
_WITNESS_WIDTH = 190
_FOOTER_WIDTH = 270


@dataclass(frozen=True, slots=True)
class Card:
    """A cluster as it will be drawn."""

    band: Band
    accent: int
    rows: Mapping[str, Mapping[RowKind, ServerRow]]
    footers: tuple[Footer, ...]
    producers: tuple[Application, ...]
    consumers: tuple[Application, ...]

    @property
    def name(self) -> str:
        """The cluster's name."""
        return self.band.cluster.name

    def row_heights(self) -> dict[RowKind, float]:
        """Height of each kind of row that any site has; a row stands at the same height in all of them."""
        heights: dict[RowKind, float] = {}
        for kind in ROW_KINDS:
            found = [rows[kind].height for rows in self.rows.values() if kind in rows]
            if found:
                heights[kind] = max(found)
        return heights

    @property
    def cells_height(self) -> float:
        """Room for the servers."""
        heights = self.row_heights().values()
        inner = sum(heights) + ROW_SPACE * max(len(heights) - 1, 0)
        return inner + 2 * (CELL_PADDING if self.band.is_stretched else 0)

    @property
    def height(self) -> float:
        """Room for the whole card."""
        feet = sum(footer_height(footer) for footer in self.footers)
        return HEADER_HEIGHT + self.cells_height + (feet + 6 if feet else 0) + CARD_PADDING

    def width_in(self, site: str) -> float:
        """Room that the column of a site needs for this card."""
        rows = list(self.rows.get(site, {}).values())
        inner = icons_width(rows) + max((row.words_width for row in rows), default=0) + 2 * OUTLINE
        edges = 2 * (SITE_PADDING + CARD_PADDING)
        if self.band.is_stretched:
            return inner + edges + 2 * CELL_PADDING
        wanted = [styled_width(self.name, "cluster"), styled_width(mode_words(self.band.cluster), "mode")]
        wanted += [styled_width(footer.note, "note") for footer in self.footers]
        return max(inner + edges, min(max(wanted), _FOOTER_WIDTH) + edges)


@dataclass(frozen=True, slots=True)
class Contents:
    """Everything that a picture shows."""

    name: str
    layout: str
    sites: tuple[Site, ...]
    grid: Grid
    cards: tuple[Card, ...]
    mirrors: tuple[Mirror, ...]
    networks: tuple[Network, ...]
    standbys: tuple[Standby, ...]

    def card(self, cluster: str) -> Card:
        """The card of one cluster."""
        return next(card for card in self.cards if card.name == cluster)

    def column_widths(self) -> list[float]:
        """Width of each site: the same for all that hold brokers, less for one that only votes."""
        needed = {
            site: max(_WITNESS_WIDTH, min(styled_width(site, "site") + 64, MOST_COLUMN_WIDTH))
            for site in self.grid.sites
        }
        for card in self.cards:
            for site in card.rows:
                needed[site] = max(needed[site], card.width_in(site))
        broad = {site for card in self.cards for site, rows in card.rows.items() if "brokers" in rows}
        common = max([COLUMN_WIDTH, *(needed[site] for site in broad)])
        return [common if site in broad else needed[site] for site in self.grid.sites]


def footer_height(footer: Footer) -> float:
    """One line for the quorum, two for topics."""
    return QUORUM_HEIGHT if footer.lead else FOOTER_HEIGHT


def contents_of(parts: Parts) -> Contents:
    """What a picture of the parts shows, measured."""
    sites: dict[str, Site] = {site.name: site for site in parts.sites}
    grid = placed(tuple(sites), parts.clusters, parts.mirrors)
    applications: dict[str, list[Application]] = {}
    for application in parts.applications:
        applications.setdefault(application.cluster, []).append(application)
    cards = []
    for number, band in enumerate(grid.bands):
        name = band.cluster.name
        found, quorum = applications.get(name, []), parts.quorums[name]
        cards.append(
            Card(
                band=band,
                accent=number,
                rows={s.site: server_rows(s, quorum) for s in parts.servers if s.cluster == name},
                footers=tuple(footers(band.cluster, quorum)),
                producers=tuple(each for each in found if each.role == "producer"),
                consumers=tuple(each for each in found if each.role != "producer"),
            )
        )
    drawn = {card.name for card in cards}
    return Contents(
        name=parts.name,
        layout=parts.layout,
        sites=tuple(sites[name] for name in grid.sites),
        grid=grid,
        cards=tuple(cards),
        mirrors=tuple(mirror for mirror in parts.mirrors if {mirror.source, mirror.target} <= drawn),
        networks=parts.networks,
        standbys=tuple(one for one in parts.standbys if {one.source, one.target} <= drawn),
    )
