"""How a picture looks: sizes, distances, colours for light and dark pages. Sizes are in pixels."""

from __future__ import annotations

# Style of text: font size, and whether it is bold.
TEXTS: dict[str, tuple[float, bool]] = {
    "title": (20, True),
    "subtitle": (13, False),
    "site": (15, True),
    "remark": (11, False),
    "cluster": (15, True),
    "mode": (12, False),
    "words": (12, False),
    "note": (11, False),
    "names": (12, True),
    "chip": (12, True),
    "chip-note": (11, False),
    "warning": (11, True),
    "mirror": (12, True),
    "mirror-note": (11, False),
}

MARGIN = 24
SITE_PADDING = 14
SITE_HEADER = 50
CARD_PADDING = 14
ROW_GAP = 26
STRIP_GAP = 22
GUTTER = 26
TRACK = 14
ICON = 16
ICON_STEP = 20
MOST_ICONS = 5
LABEL_WIDTH = 190
COLUMN_WIDTH = 272
MOST_COLUMN_WIDTH = 330

FONT = (
    "-apple-system, BlinkMacSystemFont, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Liberation Sans', "
    "sans-serif"
)

# One colour for each cluster and the mirrors that start from it: first on a light page, then on a dark one.
ACCENTS = (
    ("#1d5fd1", "#6ea8fe"),
    ("#0b7a6b", "#4fd1bd"),
    ("#b4480f", "#ffa057"),
    ("#7b3fc4", "#c39bff"),
    ("#b3246b", "#ff8cc0"),
    ("#5f6b00", "#cfdc4c"),
)

# Style: property and its colour on a light page, and on a dark one.
_COLOURS: dict[str, dict[str, tuple[str, str]]] = {
    "page": {"fill": ("#ffffff", "#0d1420")},
    "site-box": {"fill": ("#eef2f7", "#182334"), "stroke": ("#c3cedb", "#33445c")},
    "card": {"fill": ("#ffffff", "#0f1826")},
    "panel": {"fill": ("#ffffff", "#0f1826"), "stroke": ("#c3cedb", "#33445c")},
    "cell": {"fill": ("#eef2f7", "#182334"), "stroke": ("#d5dde7", "#2a3a50")},
    "pill": {"fill": ("#ffffff", "#233247"), "stroke": ("#aab7c7", "#4b5f7b")},
    "rule": {"stroke": ("#d9e0e9", "#2c3b50")},
    "flow": {"stroke": ("#7c8a9c", "#8495ab")},
    "flow-head": {"fill": ("#7c8a9c", "#8495ab")},
    "network": {"stroke": ("#7c8a9c", "#8495ab")},
    "sign-fill": {"fill": ("#526173", "#a3b1c4")},
    "sign-line": {"stroke": ("#526173", "#a3b1c4")},
    "strong": {"fill": ("#17202c", "#eef3fa")},
    "weak": {"fill": ("#526173", "#a3b1c4")},
    "warning": {"fill": ("#a8321c", "#ff9d85")},
}
_STRONG = ("title", "site", "words", "names", "chip", "mirror")
_WEAK = ("subtitle", "remark", "mode", "note", "chip-note", "mirror-note")


def style_sheet() -> str:
    """The CSS of every picture. Nothing but plain rules: drawing programs read little more."""
    rules = [f"text {{ font-family: {FONT}; }}"]
    for style, (size, bold) in TEXTS.items():
        weight = " font-weight: 600;" if bold else ""
        rules.append(f".{style} {{ font-size: {size:g}px;{weight} }}")
    rules += [
        ".site-box, .panel, .cell, .pill { stroke-width: 1; }",
        ".card { stroke-width: 1.5; }",
        ".quorum { fill: none; stroke-width: 1.5; stroke-dasharray: 5 3; }",
        ".join { fill: none; stroke-width: 1.5; stroke-dasharray: 5 3; }",
        ".mirror-line { fill: none; stroke-width: 2.5; stroke-linejoin: round; }",
        ".standby-line { fill: none; stroke-width: 1.5; stroke-dasharray: 5 4; stroke-linejoin: round; }",
        ".observed { stroke-dasharray: 7 4; }",
        ".flow { fill: none; stroke-width: 1.5; }",
        ".network { fill: none; stroke-width: 1.5; stroke-dasharray: 1 4; stroke-linecap: round; }",
        ".halo { paint-order: stroke; stroke-width: 4; stroke-linejoin: round; }",
    ]
    dark = "\n".join(f"  {rule}" for rule in _coloured(1))
    return "\n".join([*rules, *_coloured(0), "@media (prefers-color-scheme: dark) {", dark, "}"])


def _coloured(theme: int) -> list[str]:
    rules = []
    for style, properties in _COLOURS.items():
        names = {"strong": _STRONG, "weak": _WEAK}.get(style, (style,))
        body = " ".join(f"{name}: {colours[theme]};" for name, colours in properties.items())
        rules.append(f"{', '.join(f'.{name}' for name in names)} {{ {body} }}")
    page = _COLOURS["page"]["fill"][theme]
    rules.append(f".halo {{ stroke: {page}; }}")
    for number, colours in enumerate(ACCENTS):
        rules.append(f".a{number} {{ fill: {colours[theme]}; }} .s{number} {{ stroke: {colours[theme]}; }}")
    return rules
