"""A scene as SVG: one file that needs nothing else, for light and dark pages, and readable aloud."""

from __future__ import annotations

import re
from math import hypot
from xml.etree import ElementTree as Xml

from orchestrator.topology.graph.picture.look import ACCENTS, style_sheet
from orchestrator.topology.graph.picture.shapes import Box, Icon, Line, Point, Scene, Shape, Text
from orchestrator.topology.graph.picture.signs import SIGNS

_HEAD_LENGTH = 9.0
_HEAD_WIDTH = 9.0


def svg_text(scene: Scene) -> str:
    """The SVG document of a scene, ending with a newline."""
    # Several pictures may stand in one page: ids are told apart by the topology's name.
    prefix = "dcctl-" + re.sub(r"[^A-Za-z0-9_-]", "-", scene.name)
    width, height = round(scene.width), round(scene.height)
    root = Xml.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width} {height}",
            "width": str(width),
            "height": str(height),
            "role": "img",
            "aria-labelledby": f"{prefix}-title {prefix}-desc",
        },
    )
    Xml.SubElement(root, "title", {"id": f"{prefix}-title"}).text = scene.title
    Xml.SubElement(root, "desc", {"id": f"{prefix}-desc"}).text = scene.description
    Xml.SubElement(root, "style").text = "\n" + style_sheet() + "\n"
    for shape in scene.shapes:
        root.append(_element(shape))
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode") + "\n"


def _element(shape: Shape) -> Xml.Element:
    match shape:
        case Box():
            element = _box(shape)
        case Text():
            element = _text(shape)
        case Icon():
            return _icon(shape)
        case Line():
            element = _line(shape)
    if shape.tooltip:
        title = Xml.Element("title")
        title.text = shape.tooltip
        element.insert(0, title)
    return element


def _box(box: Box) -> Xml.Element:
    frame = box.frame
    place = {"x": frame.x, "y": frame.y, "width": frame.width, "height": frame.height, "rx": box.radius}
    classes = box.style if box.accent is None else f"{box.style} s{box.accent % len(ACCENTS)}"
    return Xml.Element("rect", {"class": classes, **{key: _number(value) for key, value in place.items()}})


def _text(text: Text) -> Xml.Element:
    classes = [text.style] + ([] if text.accent is None else [f"a{text.accent % len(ACCENTS)}"])
    attributes = {
        "class": " ".join(classes + ["halo"] * text.has_halo),
        "x": _number(text.x),
        "y": _number(text.y),
    }
    attributes |= {"textLength": _number(text.frame.width), "lengthAdjust": "spacingAndGlyphs"}
    if text.anchor != "start":
        attributes["text-anchor"] = text.anchor
    element = Xml.Element("text", attributes)
    if not text.tooltip:
        element.text = text.words
        return element
    # The words follow the tooltip's element, which is put in first.
    span = Xml.SubElement(element, "tspan")
    span.text = text.words
    return element


def _icon(icon: Icon) -> Xml.Element:
    group = Xml.Element("g", {"transform": f"translate({_number(icon.x)} {_number(icon.y)})"})
    number = "" if icon.accent is None else str(icon.accent % len(ACCENTS))
    for tag, kind, attributes in SIGNS[icon.name]:
        style = (
            {"fill": f"a{number}", "line": f"s{number}", "hole": "page"}[kind] if number else f"sign-{kind}"
        )
        Xml.SubElement(group, tag, {"class": style, **attributes})
    return group


def _line(line: Line) -> Xml.Element:
    number = "" if line.accent is None else str(line.accent % len(ACCENTS))
    group = Xml.Element("g")
    points = line.points
    if line.has_head:
        base = _head_base(points)
        points = (*points[:-1], base)
        classes = f"a{number}" if number else f"{line.style}-head"
        Xml.SubElement(group, "polygon", {"class": classes, "points": _points(_head(line.points, base))})
    classes = f"{line.style} s{number}" if number else line.style
    Xml.SubElement(group, "polyline", {"class": classes, "points": _points(points)})
    return group


def _head_base(points: tuple[Point, ...]) -> Point:
    """Where an arrow's head begins: its length before the end."""
    (x, y), (end_x, end_y) = points[-2:]
    length = hypot(end_x - x, end_y - y) or 1.0
    back = min(_HEAD_LENGTH / length, 1.0)
    return end_x - (end_x - x) * back, end_y - (end_y - y) * back


def _head(points: tuple[Point, ...], base: Point) -> tuple[Point, ...]:
    end = points[-1]
    length = hypot(end[0] - base[0], end[1] - base[1]) or 1.0
    across = ((base[1] - end[1]) / length * _HEAD_WIDTH / 2, (end[0] - base[0]) / length * _HEAD_WIDTH / 2)
    return (
        end,
        (base[0] + across[0], base[1] + across[1]),
        (base[0] - across[0], base[1] - across[1]),
    )


def _points(points: tuple[Point, ...]) -> str:
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in points)


def _number(value: float) -> str:
    """A coordinate with at most one decimal: the same text on every machine."""
    return f"{value:.1f}".removesuffix(".0")
