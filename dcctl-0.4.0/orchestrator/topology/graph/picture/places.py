"""Where everything stands: the columns, and from top to bottom the rows of cards and the lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.topology.graph.picture.chips import Strip, strip_of
from orchestrator.topology.graph.picture.columns import Columns, columns_of, far_networks
from orchestrator.topology.graph.picture.contents import styled_width
from orchestrator.topology.graph.picture.look import (
    MARGIN,
    ROW_GAP,
    SITE_HEADER,
    SITE_PADDING,
    STRIP_GAP,
    TRACK,
)
from orchestrator.topology.graph.picture.measured import Card, Contents
from orchestrator.topology.graph.picture.routes import End, Routes
from orchestrator.topology.graph.picture.shapes import Frame

TITLE_HEIGHT = 78
PORT_STEP = 12
_SLOT_HEIGHT = 58
_LANE_HEIGHT = 34
_NOTE_HEIGHT = 20
_LEAST_WIDTH = 320


@dataclass(frozen=True, slots=True)
class Block:
    """A card with the applications above and below it: only heights yet."""

    card: Card
    height: float
    producers: Strip
    consumers: Strip

    @property
    def above(self) -> float:
        """Room above the card."""
        return self.producers.height + STRIP_GAP if self.producers.lines else 0

    @property
    def below(self) -> float:
        """Room from the top of the card downwards."""
        return self.height + (STRIP_GAP + self.consumers.height if self.consumers.lines else 0)


@dataclass(frozen=True, slots=True)
class CardPlace:
    """A card and the applications above and below it."""

    card: Frame
    producers: Frame
    consumers: Frame
    producer_strip: Strip
    consumer_strip: Strip


@dataclass(frozen=True, slots=True)
class Places:
    """Frames of sites, gaps and cards; `gaps[i]` lies to the left of column `i`."""

    site_names: tuple[str, ...]
    sites: tuple[Frame, ...]
    gaps: tuple[Frame, ...]
    cards: Mapping[str, CardPlace]
    width: float
    height: float

    def lane_y(self, lane: int) -> float:
        """Height of a lane below the sites."""
        return self.sites[0].bottom + _LANE_HEIGHT * (lane + 1)

    def port(self, end: End) -> tuple[float, float]:
        """The point at a card's side where a detour begins or ends."""
        frame = self.cards[end.cluster].card
        return (frame.right if end.is_right else frame.x), frame.bottom - 14 - PORT_STEP * end.port

    def track_x(self, end: End) -> float:
        """Where a detour runs down its gap."""
        gap, away = self.gaps[end.gap], TRACK * (end.track + 0.5)
        return gap.x + away if end.is_right else gap.right - away


def places_of(contents: Contents, routes: Routes, headings: Sequence[tuple[str, str]]) -> Places:
    """Give everything its place. The picture is wide enough for `headings`: words and their style."""
    columns = columns_of(contents, routes)
    blocks = [_block(card, routes, columns) for card in contents.cards]
    rows = [[block for block in blocks if block.card.band.row == row] for row in range(contents.grid.rows)]
    cards: dict[str, CardPlace] = {}
    y: float = TITLE_HEIGHT + SITE_HEADER
    for row in rows:
        top = y + max(block.above for block in row)
        cards |= {block.card.name: _card_place(block, top, columns) for block in row}
        y = top + max(block.below for block in row) + ROW_GAP
    bottom = y - (ROW_GAP if rows else 0) + SITE_PADDING
    below = _LANE_HEIGHT * len(routes.detours) + _NOTE_HEIGHT * bool(far_networks(contents))
    needed = max(styled_width(words, style) for words, style in headings) + 2 * MARGIN
    return Places(
        site_names=contents.grid.sites,
        sites=tuple(Frame(x, TITLE_HEIGHT, width, bottom - TITLE_HEIGHT) for x, width in columns.sites),
        gaps=tuple(Frame(x, TITLE_HEIGHT, width, bottom - TITLE_HEIGHT) for x, width in columns.gaps),
        cards=cards,
        width=max(columns.right + MARGIN, min(needed, 2 * _LEAST_WIDTH), _LEAST_WIDTH),
        height=bottom + below + MARGIN,
    )


def _block(card: Card, routes: Routes, columns: Columns) -> Block:
    band = card.band
    _, width = columns.card(band)
    slots = max(routes.slots(band.first, band.row), routes.slots(band.last + 1, band.row))
    ports = PORT_STEP * routes.ports(card.name)
    height = max(card.height, slots * _SLOT_HEIGHT + ports + 16, ports + 60)
    return Block(
        card,
        height,
        strip_of("producers", card.producers, width, has_panel=band.is_stretched),
        strip_of("consumers", card.consumers, width, has_panel=band.is_stretched),
    )


def _card_place(block: Block, top: float, columns: Columns) -> CardPlace:
    x, width = columns.card(block.card.band)
    producers, consumers = block.producers, block.consumers
    return CardPlace(
        card=Frame(x, top, width, block.height),
        producers=Frame(x, top - block.above, width, producers.height),
        consumers=Frame(x, top + block.height + STRIP_GAP, width, consumers.height),
        producer_strip=producers,
        consumer_strip=consumers,
    )
