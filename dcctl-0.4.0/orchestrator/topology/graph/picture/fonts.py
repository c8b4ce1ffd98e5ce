"""How wide text is, without a browser to ask.

The widths are Arial's (those of Helvetica and Liberation Sans are the same). The picture names the
width of each text in its `textLength`, so that a browser with another font makes that take the same room.
"""

from __future__ import annotations

# Advance widths in thousandths of the font's size, measured with a browser's `measureText`.
_REGULAR = {
    191: "'",
    222: "ijl’",
    260: "|",
    278: " !,./:;I[\\]ft·",
    333: "()-`r{}",
    355: '"',
    389: "*",
    469: "^",
    500: "Jcksvxyz",
    556: "0123456789#$?L_abdeghnopqu–≥",
    584: "+<=>~×",
    611: "FTZ",
    667: "&ABEKPSVXY",
    722: "CDHNRUw",
    778: "GOQ",
    833: "Mm",
    889: "%",
    944: "W",
    1000: "→←—…",
    1015: "@",
}
_BOLD = {
    238: "'",
    278: " ,./I\\ijl·’|",
    333: "!()-:;[]`ft",
    389: "*r{}",
    474: '"',
    500: "z",
    556: "0123456789#$J_aceksvxy–≥",
    584: "+<=>^~×",
    611: "?FLTZbdghnopqu",
    667: "EPSVXY",
    722: "&ABCDHKNRU",
    778: "GOQw",
    833: "M",
    889: "%m",
    944: "W",
    975: "@",
    1000: "→←—…",
}
_WIDTHS = {
    bold: {character: width for width, characters in table.items() for character in characters}
    for bold, table in ((False, _REGULAR), (True, _BOLD))
}
_UNKNOWN = 1000

ELLIPSIS = "…"


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Width of `text` at a font size, in the size's unit."""
    widths = _WIDTHS[bold]
    return sum(widths.get(character, _UNKNOWN) for character in text) * size / 1000


def shortened(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """`text`, or its beginning and end with an ellipsis between them, so that it is at most `width` wide."""
    if text_width(text, size, bold=bold) <= width:
        return text
    # Names of one estate often share their beginning: the end tells them apart.
    for kept in range(len(text) - 1, 1, -1):
        head = (kept + 1) // 2
        cut = f"{text[:head]}{ELLIPSIS}{text[len(text) - (kept - head) :]}"
        if text_width(cut, size, bold=bold) <= width:
            return cut
    return ELLIPSIS
