"""The small signs of a picture, sixteen pixels wide and high, as SVG elements with the kind of their paint.

`fill` is painted in the cluster's colour, `line` is drawn in it, and `hole` shows the page.
"""

from __future__ import annotations

from collections.abc import Mapping

Sign = tuple[tuple[str, str, Mapping[str, str]], ...]

_LINE = {"fill": "none", "stroke-width": "1.5", "stroke-linecap": "round", "stroke-linejoin": "round"}
_HEXAGON = "8,1.2 13.9,4.6 13.9,11.4 8,14.8 2.1,11.4 2.1,4.6"

_BROKER: Sign = (
    ("rect", "line", {**_LINE, "x": "1.2", "y": "1.8", "width": "13.6", "height": "5.4", "rx": "1.6"}),
    ("rect", "line", {**_LINE, "x": "1.2", "y": "8.8", "width": "13.6", "height": "5.4", "rx": "1.6"}),
    ("circle", "fill", {"cx": "4.2", "cy": "4.5", "r": "1.1"}),
    ("circle", "fill", {"cx": "4.2", "cy": "11.5", "r": "1.1"}),
)

SIGNS: Mapping[str, Sign] = {
    "broker": _BROKER,
    "broker-voter": (
        *_BROKER,
        ("circle", "hole", {"cx": "12", "cy": "12", "r": "4.9"}),
        ("circle", "fill", {"cx": "12", "cy": "12", "r": "3.4"}),
    ),
    "controller": (
        ("circle", "line", {**_LINE, "cx": "8", "cy": "8", "r": "6.4"}),
        ("circle", "fill", {"cx": "8", "cy": "8", "r": "3.4"}),
    ),
    "zookeeper": (
        ("polygon", "line", {**_LINE, "points": _HEXAGON}),
        ("circle", "fill", {"cx": "8", "cy": "8", "r": "3.2"}),
    ),
    "worker": (
        ("path", "line", {**_LINE, "d": "M1.5 5.2h12M10.4 2l3.4 3.2-3.4 3.2"}),
        ("path", "line", {**_LINE, "d": "M14.5 11.2h-12M5.6 8l-3.4 3.2 3.4 3.2"}),
    ),
    "quorum": (
        ("path", "line", {**_LINE, "d": "M3.5 12.5L8 3.5l4.5 9z"}),
        ("circle", "fill", {"cx": "8", "cy": "3.5", "r": "2.3"}),
        ("circle", "fill", {"cx": "3.5", "cy": "12.5", "r": "2.3"}),
        ("circle", "fill", {"cx": "12.5", "cy": "12.5", "r": "2.3"}),
    ),
    "site": (
        ("path", "line", {**_LINE, "d": "M2.5 14.5v-11l6-2.5v13.5M8.5 5.5l5 1.8v7.2M1 14.5h14"}),
        ("path", "line", {**_LINE, "d": "M5.5 5.2v.1M5.5 8.2v.1M5.5 11.2v.1M11 9.4v.1M11 12v.1"}),
    ),
}
