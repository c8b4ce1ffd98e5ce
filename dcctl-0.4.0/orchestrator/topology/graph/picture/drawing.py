"""From a topology's parts to a scene: the page, the sites, and everything in its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.topology.graph.parts import Parts
from orchestrator.topology.graph.picture.arrows import edge_shapes, flow_shapes
from orchestrator.topology.graph.picture.cards import card_shapes
from orchestrator.topology.graph.picture.chips import strip_shapes
from orchestrator.topology.graph.picture.columns import far_networks, near_networks
from orchestrator.topology.graph.picture.contents import cut
from orchestrator.topology.graph.picture.description import described
from orchestrator.topology.graph.picture.look import MARGIN, SITE_PADDING
from orchestrator.topology.graph.picture.measured import Contents, contents_of
from orchestrator.topology.graph.picture.places import Places, places_of
from orchestrator.topology.graph.picture.routes import routes_of
from orchestrator.topology.graph.picture.shapes import Box, Frame, Icon, Line, Scene, Shape, Text
from orchestrator.topology.graph.wording import coordination_words, few, milliseconds
from orchestrator.wording import plural


def drawn(parts: Parts) -> Scene:
    """The picture of a topology's parts."""
    contents = contents_of(parts)
    routes = routes_of(contents.grid, (*contents.mirrors, *contents.standbys))
    headings = _headings(contents)
    places = places_of(contents, routes, headings)
    shapes = [
        Box(Frame(0, 0, places.width, places.height), "page", radius=0),
        *_heading_shapes(headings, places),
        *_sites(contents, places),
        *_networks(contents, places),
        *(shape for card in contents.cards for shape in card_shapes(card, places)),
        *_applications(places),
        *edge_shapes(contents, routes, places),
    ]
    title = f"{contents.name}: {contents.layout} over {plural(len(contents.grid.sites), 'site')}"
    return Scene(
        name=contents.name,
        title=title,
        description=described(parts, contents),
        width=places.width,
        height=places.height,
        shapes=tuple(shapes),
    )


def _headings(contents: Contents) -> list[tuple[str, str]]:
    topics = sum(len(card.band.cluster.topics) for card in contents.cards)
    counts = [
        plural(len(contents.grid.sites), "site"),
        plural(len(contents.cards), "cluster"),
        plural(topics, "topic"),
    ]
    return [(contents.name, "title"), (" · ".join([contents.layout, *counts]), "subtitle")]


def _heading_shapes(headings: Sequence[tuple[str, str]], places: Places) -> Iterator[Shape]:
    for (words, style), y in zip(headings, (38, 58), strict=True):
        yield Text(cut(words, style, places.width - 2 * MARGIN), MARGIN, y, style, tooltip=words)


def _sites(contents: Contents, places: Places) -> Iterator[Shape]:
    with_brokers = {site for card in contents.cards for site, rows in card.rows.items() if "brokers" in rows}
    with_servers = {site for card in contents.cards for site, rows in card.rows.items() if rows}
    for site, frame in zip(contents.sites, places.sites, strict=True):
        name = site.name
        yield Box(frame, "site-box", tooltip=f"site {name}", radius=14)
        yield Icon("site", frame.x + SITE_PADDING, frame.y + 12)
        x, room = frame.x + SITE_PADDING + 24, frame.width - 2 * SITE_PADDING - 24
        yield Text(cut(name, "site", room), x, frame.y + 25, "site", tooltip=name)
        remarks = (
            [] if name in with_brokers else ["votes only, no data" if name in with_servers else "no server"]
        )
        remarks += [coordination_words(site)] if site.coordinators else []
        remark = " · ".join(remarks)
        if remark:
            yield Text(cut(remark, "remark", room), x, frame.y + 40, "remark", tooltip=remark)


def _networks(contents: Contents, places: Places) -> Iterator[Shape]:
    for gap, network in near_networks(contents):
        frame = places.gaps[gap]
        y = frame.y + 30
        yield Line(((frame.x + 2, y), (frame.right - 2, y)), "network")
        yield Text(milliseconds(network.latency_ms), frame.middle[0], y - 6, "remark", "middle")
    if others := far_networks(contents):
        told = [f"{' – '.join(n.between)} {milliseconds(n.latency_ms)}" for n in others]
        words = cut(f"Network: {few(told, 4)}", "remark", places.width - 2 * MARGIN)
        yield Text(words, MARGIN, places.height - MARGIN + 6, "remark", tooltip=few(told, 30))


def _applications(places: Places) -> Iterator[Shape]:
    for place in places.cards.values():
        yield from flow_shapes(place)
        for strip, frame in (
            (place.producer_strip, place.producers),
            (place.consumer_strip, place.consumers),
        ):
            yield from strip_shapes(strip, frame)
