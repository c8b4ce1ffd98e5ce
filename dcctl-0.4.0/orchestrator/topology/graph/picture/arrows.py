"""Arrows: mirrors and standbys between clusters, and the flow between applications and their cluster."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.topology.graph.parts import Standby
from orchestrator.topology.graph.picture.columns import edge_words
from orchestrator.topology.graph.picture.contents import cut, styled_width
from orchestrator.topology.graph.picture.look import LABEL_WIDTH, MARGIN, STRIP_GAP
from orchestrator.topology.graph.picture.measured import Contents
from orchestrator.topology.graph.picture.places import PORT_STEP, CardPlace, Places
from orchestrator.topology.graph.picture.routes import Detour, Edge, Routes, Straight
from orchestrator.topology.graph.picture.shapes import Line, Shape, Text
from orchestrator.topology.graph.wording import few, policy_words, standby_words

_LANE_LABEL_WIDTH = 320


def edge_shapes(contents: Contents, routes: Routes, places: Places) -> Iterator[Shape]:
    """All mirrors and standbys: first every line, then the words, so that no line runs through words."""
    for straight in routes.straight:
        yield _straight(straight, contents, routes, places)
    for detour in routes.detours:
        yield _detour(detour, contents, places)
    for straight in routes.straight:
        yield from _straight_words(straight, routes, places)
    for detour in routes.detours:
        yield from _detour_words(detour, places)


def flow_shapes(place: CardPlace) -> Iterator[Shape]:
    """From the producers into the card, and out of it to the consumers."""
    middle = place.card.middle[0]
    if place.producer_strip.lines:
        yield Line(
            ((middle, place.card.y - STRIP_GAP + 3), (middle, place.card.y - 1)), "flow", has_head=True
        )
    if place.consumer_strip.lines:
        start = place.card.bottom
        yield Line(((middle, start + 1), (middle, start + STRIP_GAP - 3)), "flow", has_head=True)


def _straight(route: Straight, contents: Contents, routes: Routes, places: Places) -> Line:
    source, target = places.cards[route.edge.source].card, places.cards[route.edge.target].card
    y = _slot_y(route, routes, places)
    points = ((source.right, y), (target.x - 1, y))
    if target.x < source.x:
        points = ((source.x, y), (target.right + 1, y))
    accent = contents.card(route.edge.source).accent
    return Line(points, _style(route.edge), accent, has_head=True, tooltip=_told(route.edge))


def _straight_words(route: Straight, routes: Routes, places: Places) -> Iterator[Shape]:
    gap, y = places.gaps[route.gap], _slot_y(route, routes, places)
    left, right = (routes.tracks(route.gap, is_right=side) for side in (True, False))
    x = gap.middle[0] + (left - right) * 7
    topics, policy = edge_words(route.edge, LABEL_WIDTH)
    yield Text(topics, x, y - 9, "mirror", "middle", tooltip=_told(route.edge))
    if policy:
        yield Text(policy, x, y + 18, "mirror-note", "middle")


def _slot_y(route: Straight, routes: Routes, places: Places) -> float:
    """The mirrors of a gap share the height of the cards that is free of detours."""
    source, target = places.cards[route.edge.source].card, places.cards[route.edge.target].card
    ports = max(routes.ports(route.edge.source), routes.ports(route.edge.target))
    free = min(source.height, target.height) - PORT_STEP * ports
    slots = routes.slots(route.gap, route.row)
    return source.y + free * (2 * route.slot + 1) / (2 * slots)


def _detour(detour: Detour, contents: Contents, places: Places) -> Line:
    start, end = places.port(detour.source), places.port(detour.target)
    out, back, lane = places.track_x(detour.source), places.track_x(detour.target), places.lane_y(detour.lane)
    tip = end[0] + (1 if detour.target.is_right else -1)
    points = (start, (out, start[1]), (out, lane), (back, lane), (back, end[1]), (tip, end[1]))
    accent = contents.card(detour.edge.source).accent
    return Line(points, _style(detour.edge), accent, has_head=True, tooltip=_told(detour.edge))


def _detour_words(detour: Detour, places: Places) -> Iterator[Shape]:
    out, back = places.track_x(detour.source), places.track_x(detour.target)
    topics, policy = edge_words(detour.edge, LABEL_WIDTH)
    words = cut(
        " · ".join(filter(None, (topics, policy))),
        "mirror",
        min(_LANE_LABEL_WIDTH, places.width - 2 * MARGIN),
    )
    half = styled_width(words, "mirror") / 2
    x = min(max((out + back) / 2, MARGIN + half), places.width - MARGIN - half)
    y = places.lane_y(detour.lane) - 7
    yield Text(words, x, y, "mirror", "middle", tooltip=_told(detour.edge), has_halo=True)


def _style(edge: Edge) -> str:
    if isinstance(edge, Standby):
        return "standby-line"
    return "mirror-line" if edge.managed else "mirror-line observed"


def _told(edge: Edge) -> str:
    if isinstance(edge, Standby):
        return f"{standby_words(edge)}: applications of {edge.source} go to {edge.target}"
    mirror = edge
    topics = few(mirror.topics, 30) or "no topics"
    return f"mirror {mirror.source} → {mirror.target}, {policy_words(mirror)}: {topics}"
