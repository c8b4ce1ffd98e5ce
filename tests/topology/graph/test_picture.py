"""The picture: nothing overlaps that is not meant to, everything keeps inside, and it says what it shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations, pairwise
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given, settings

from orchestrator.topology.graph.gathering import parts_of
from orchestrator.topology.graph.picture.drawing import drawn
from orchestrator.topology.graph.picture.shapes import Box, Frame, Line, Scene, Text
from orchestrator.topology.graph.picture.svg import svg_text
from orchestrator.topology.model import Topology
from tests.topology.graph import estates

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", estates.ALL)
def test_nothing_overlaps(name: str) -> None:
    """Sites, cards and chips are apart, words are apart and inside, and no mirror runs through words."""
    scene = scene_of(estates.ALL[name])
    check_geometry(scene)
    check_mirrors_miss_words(scene, mirror_lines(scene))


@settings(max_examples=60, deadline=None)
@given(estates.topologies())
def test_any_topology_is_drawn_without_overlap(topology: Topology) -> None:
    """Whatever the model allows: names of any length, clusters across any sites, mirrors everywhere."""
    scene = scene_of(topology)
    check_geometry(scene)
    check_mirrors_miss_words(scene, [line for line in mirror_lines(scene) if len(line.points) == 2])
    Xml.fromstring(svg_text(scene))  # noqa: S314 - our own text


@pytest.mark.parametrize("name", estates.ALL)
def test_the_svg_stands_alone_and_can_be_read_aloud(name: str) -> None:
    """Well formed, with a title and a description, a light and a dark look, and no outside address."""
    text = svg_text(scene_of(estates.ALL[name]))
    root = Xml.fromstring(text)  # noqa: S314 - our own text
    title, described, style = root[0], root[1], root[2]
    assert root.get("aria-labelledby") == f"{title.get('id')} {described.get('id')}"
    assert estates.ALL[name].name in (title.text or "")
    for cluster in estates.ALL[name].clusters:
        assert f"Cluster {cluster} " in (described.text or "")
    assert "prefers-color-scheme: dark" in (style.text or "")
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text) == []
    used = {name for element in root.iter() for name in (element.get("class") or "").split()}
    assert {name for name in used if f".{name}" not in (style.text or "")} == set()


def test_ten_thousand_topics_are_three_words() -> None:
    """Names are shortened, and the picture stays small."""
    text = svg_text(scene_of(estates.HUGE))
    assert "orders, payments and 9,998 more" in text
    assert "and 292 more" in text
    assert len(text) < 100_000


def test_a_stretched_cluster_lies_across_its_sites() -> None:
    """Its card reaches over all of them; the voters are joined from site to site."""
    scene = scene_of(estates.WITNESS)
    sites, (card,) = boxes(scene, "site-box"), boxes(scene, "card")
    assert all(not is_apart_from(card.frame, site.frame) for site in sites)
    joins = [shape for shape in scene.shapes if isinstance(shape, Line) and shape.style == "join"]
    assert len(joins) == 2
    words = {shape.words for shape in scene.shapes if isinstance(shape, Text)}
    assert {"2 votes of 5", "1 vote of 5", "Quorum: 3 of 5 controllers", "votes only, no data"} <= words


def test_a_hierarchical_quorum_tells_its_groups() -> None:
    """Two groups, each with its own majority."""
    words = {shape.words for shape in scene_of(estates.HIERARCHICAL).shapes if isinstance(shape, Text)}
    assert {"group 1: needs 2 of 3", "group 2: needs 2 of 3"} <= words
    assert "Quorum: both groups, each by 2 of 3 ZooKeepers" in words


def test_mirrors_in_both_directions_are_two_arrows() -> None:
    """Each with its topics and its policy, one below the other, pointing at each other's start."""
    scene = scene_of(estates.BOTH_WAYS)
    first, second = mirror_lines(scene)
    assert first.points[0][0] < first.points[-1][0]
    assert second.points[0][0] > second.points[-1][0]
    assert first.points[0][1] != second.points[0][1]


def test_neighbours_of_the_target_need_no_detour() -> None:
    """The target of an aggregation stands between its sources as far as there is room beside it."""
    bends = sorted(len(line.points) for line in mirror_lines(scene_of(estates.GATHERED)))
    assert bends == [2, 2, 6]


def test_standbys_are_dashed_arrows_of_the_clusters_colour() -> None:
    """With words at them, and a sentence for those who cannot see it."""
    scene = scene_of(estates.CENTRES)
    lines = [shape for shape in scene.shapes if isinstance(shape, Line) and shape.style == "standby-line"]
    assert [line.has_head for line in lines] == [True, True]
    check_mirrors_miss_words(scene, lines)
    words = [shape.words for shape in scene.shapes if isinstance(shape, Text)]
    assert words.count("standby") + words.count("standby · of stock") == 2
    assert "Standby of centre: reserve." in scene.description
    assert "Standby of dc1 (stock): reserve." in scene.description


def scene_of(topology: Topology) -> Scene:
    """The picture of a topology."""
    return drawn(parts_of(topology))


def boxes(scene: Scene, *styles: str) -> list[Box]:
    """All boxes of some styles."""
    return [shape for shape in scene.shapes if isinstance(shape, Box) and shape.style in styles]


def mirror_lines(scene: Scene) -> list[Line]:
    """All mirrors."""
    return [s for s in scene.shapes if isinstance(s, Line) and s.style.startswith("mirror-line")]


def check_geometry(scene: Scene) -> None:
    """Boxes of a kind are apart and nested as they should be; words are apart and inside their boxes."""
    sites, cards, cells = (boxes(scene, style) for style in ("site-box", "card", "cell"))
    words = [shape for shape in scene.shapes if isinstance(shape, Text)]
    for group in (
        sites,
        [*cards, *boxes(scene, "pill")],
        [*cards, *boxes(scene, "panel")],
        cells,
        [w for w in words if not w.has_halo],
    ):
        check_apart(group)
    for cell in cells:
        assert sum(has_inside(card.frame, cell.frame) for card in cards) == 1
        assert sum(has_inside(site.frame, cell.frame) for site in sites) == 1
    for text in words:
        for box in [*cards, *cells, *boxes(scene, "pill", "quorum", "panel")]:
            assert has_inside(box.frame, text.frame) or is_apart_from(box.frame, text.frame), (text, box)
    check_inside(scene)


def check_apart(shapes: Sequence[Box | Text]) -> None:
    """No two of the shapes share any area."""
    for one, other in combinations(shapes, 2):
        assert is_apart_from(one.frame, other.frame), (one, other)


def check_inside(scene: Scene) -> None:
    """Nothing is cut off by the picture's edge."""
    page = Frame(0, 0, scene.width, scene.height)
    for shape in scene.shapes:
        if isinstance(shape, Line):
            assert all(has_inside(page, Frame(x, y, 0, 0)) for x, y in shape.points), shape
        elif isinstance(shape, Box | Text):
            assert has_inside(page, shape.frame), shape


def check_mirrors_miss_words(scene: Scene, mirrors: Sequence[Line]) -> None:
    """No mirror's line runs through words, its own or others'."""
    words = [shape.frame for shape in scene.shapes if isinstance(shape, Text)]
    for line in mirrors:
        for (x, y), (end_x, end_y) in pairwise(line.points):
            part = Frame(min(x, end_x), min(y, end_y), abs(end_x - x), abs(end_y - y)).grown(1.25)
            assert all(is_apart_from(part, word) for word in words), line


def has_inside(outer: Frame, inner: Frame) -> bool:
    """Whether `inner` lies inside `outer`, edges included (to a hundredth of a pixel)."""
    return (
        inner.x >= outer.x - 0.01
        and inner.y >= outer.y - 0.01
        and inner.right <= outer.right + 0.01
        and inner.bottom <= outer.bottom + 0.01
    )


def is_apart_from(one: Frame, other: Frame) -> bool:
    """Whether the two share no area (to a hundredth of a pixel)."""
    return (
        one.right <= other.x + 0.01
        or other.right <= one.x + 0.01
        or one.bottom <= other.y + 0.01
        or other.bottom <= one.y + 0.01
    )
