"""A cluster's card: its name, its servers site by site, who decides, and how its topics are copied."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from orchestrator.topology.graph.picture.contents import (
    Footer,
    ServerRow,
    cut,
    fitted_names,
    icons_width,
)
from orchestrator.topology.graph.picture.look import CARD_PADDING, ICON, ICON_STEP, SITE_PADDING
from orchestrator.topology.graph.picture.measured import (
    CELL_PADDING,
    HEADER_HEIGHT,
    OUTLINE,
    ROW_SPACE,
    Card,
    footer_height,
)
from orchestrator.topology.graph.picture.places import Places
from orchestrator.topology.graph.picture.shapes import Box, Frame, Icon, Line, Shape, Text
from orchestrator.topology.graph.wording import mode_words


def card_shapes(card: Card, places: Places) -> Iterator[Shape]:
    """Everything inside a card, and the card itself first."""
    frame = places.cards[card.name].card
    left, inner = frame.x + CARD_PADDING, frame.width - 2 * CARD_PADDING
    yield Box(frame, "card", card.accent, tooltip=f"cluster {card.name}", radius=10)
    name = cut(card.name, "cluster", inner)
    yield Text(name, left, frame.y + 22, "cluster", accent=card.accent, tooltip=card.name)
    yield Text(cut(mode_words(card.band.cluster), "mode", inner), left, frame.y + 38, "mode")
    yield from _cells(card, places, frame.y + HEADER_HEIGHT)
    y = frame.y + HEADER_HEIGHT + card.cells_height + 14
    if card.footers:
        yield Line(((left, y - 4), (left + inner, y - 4)), "rule")
    for footer in card.footers:
        yield from _footer(footer, card, Frame(left, y, inner, footer_height(footer)))
        y += footer_height(footer)


def _cells(card: Card, places: Places, y: float) -> Iterator[Shape]:
    """The servers of each site, and what joins the members of the quorum across sites."""
    heights = card.row_heights()
    outlines: list[Frame] = []
    shapes: list[Shape] = []
    for column in range(card.band.first, card.band.last + 1):
        site, rows = places.sites[column], card.rows.get(places.site_names[column], {})
        frame = Frame(
            site.x + SITE_PADDING + CARD_PADDING,
            y,
            site.width - 2 * (SITE_PADDING + CARD_PADDING),
            card.cells_height,
        )
        if card.band.is_stretched and rows:
            shapes.append(Box(frame, "cell"))
            frame = frame.grown(-CELL_PADDING)
        at = frame.y
        words_x = frame.x + OUTLINE + icons_width(list(rows.values()))
        for kind, height in heights.items():
            if kind in rows:
                room = Frame(frame.x, at, frame.width, height)
                shapes += _row(rows[kind], card, room, words_x)
                if rows[kind].is_voting:
                    outlines.append(room)
            at += height + ROW_SPACE
    for before, after in pairwise(outlines):
        yield _join(before, after, card)
    yield from shapes


def _row(row: ServerRow, card: Card, room: Frame, words_x: float) -> Iterator[Shape]:
    if row.is_voting:
        yield Box(room, "quorum", card.accent, tooltip=row.note)
    y = room.y + 5
    for number in range(row.icons):
        badge = "-voter" if number < row.shared else ""
        yield Icon(row.icon + badge, room.x + OUTLINE + number * ICON_STEP, y, card.accent)
    yield Text(row.words, words_x, y + 12.5, "words")
    if row.note:
        yield Text(row.note, room.x + OUTLINE, y + 34, "note")


def _join(before: Frame, after: Frame, card: Card) -> Line:
    """A line between the voters of two sites, with a bend in the gap where they differ in height."""
    (_, y), (_, end_y) = before.middle, after.middle
    bend = (before.right + after.x) / 2
    points = ((before.right, y), (bend, y), (bend, end_y), (after.x, end_y))
    return Line(points if y != end_y else (points[0], points[3]), "join", card.accent)


def _footer(footer: Footer, card: Card, room: Frame) -> Iterator[Shape]:
    if footer.lead:
        yield Icon(footer.lead, room.x, room.y + 1, card.accent)
        words = cut(footer.names[0], "words", room.width - ICON - 6)
        yield Text(words, room.x + ICON + 6, room.y + 13, "words", tooltip=footer.names[0])
        return
    names = fitted_names(footer.names, "names", room.width)
    yield Text(names, room.x, room.y + 13, "names", tooltip=footer.tooltip)
    yield Text(cut(footer.note, "note", room.width), room.x, room.y + 28, "note", tooltip=footer.note)
