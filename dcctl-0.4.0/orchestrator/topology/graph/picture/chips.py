"""Applications as chips: their names and topics, flowing in lines above and below a card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.topology.graph.parts import Application
from orchestrator.topology.graph.picture.contents import cut, fitted_names, styled_width
from orchestrator.topology.graph.picture.shapes import Box, Frame, Shape, Text
from orchestrator.topology.graph.wording import few, read_boot_guard_statuses
from orchestrator.wording import and_n_more

_HEIGHT = 24
_GAP = 6
_PADDING = 9
_MOST = 9
_NAME_WIDTH = 130
_NOTE_WIDTH = 150
_CAPTION_WIDTH = 82
_CAPTION_HEIGHT = 17
_PANEL_PADDING = 8
_LEAST_NOTE_WIDTH = 70


@dataclass(frozen=True, slots=True)
class Chip:
    """One application, or how many more there are: words with their styles, from left to right."""

    words: tuple[tuple[str, str], ...]
    tooltip: str

    @property
    def width(self) -> float:
        """Room for the words in one line, with the edges."""
        return 2 * _PADDING + sum(styled_width(*word) for word in self.words) + 6 * (len(self.words) - 1)


@dataclass(frozen=True, slots=True)
class Strip:
    """Lines of chips under a caption; in a panel of their own above or below a stretched cluster.

    Applications of a stretched cluster are at no site in particular: the panel reaches over all of them.
    """

    caption: str
    lines: tuple[tuple[Chip, ...], ...]
    has_panel: bool

    @property
    def height(self) -> float:
        """Room for all lines; nothing for no chips."""
        if not self.lines:
            return 0
        chips = len(self.lines) * (_HEIGHT + _GAP) - _GAP
        return chips + (2 * _PANEL_PADDING if self.has_panel else _CAPTION_HEIGHT)


def strip_of(caption: str, applications: Sequence[Application], width: float, *, has_panel: bool) -> Strip:
    """Chips for applications, at most nine; the last one then tells how many more there are."""
    room = width - _CAPTION_WIDTH - _PANEL_PADDING if has_panel else width
    shown = applications if len(applications) <= _MOST else applications[: _MOST - 1]
    made = [_chip(application, room) for application in shown]
    if rest := applications[len(shown) :]:
        names = few([application.name for application in rest], 30)
        made.append(Chip(((and_n_more(len(rest)), "chip-note"),), names))
    lines: list[list[Chip]] = []
    for chip in made:
        # The first line with room for it: a wide chip between narrow ones costs no line of its own.
        fitting = (line for line in lines if sum(c.width + _GAP for c in line) + chip.width <= room)
        line = next(fitting, None)
        if line is None:
            lines.append([chip])
        else:
            line.append(chip)
    return Strip(caption, tuple(map(tuple, lines)), has_panel)


def strip_shapes(strip: Strip, frame: Frame) -> Iterator[Shape]:
    """The chips of a strip, beside its caption or, without a panel, below it and in the middle."""
    if not strip.lines:
        return
    if strip.has_panel:
        yield Box(frame, "panel", radius=10)
        yield Text(strip.caption, frame.x + 14, frame.y + _PANEL_PADDING + 16, "remark")
    else:
        yield Text(strip.caption, frame.middle[0], frame.y + 10, "remark", "middle")
    y = frame.y + (_PANEL_PADDING if strip.has_panel else _CAPTION_HEIGHT)
    for line in strip.lines:
        at = frame.x + _CAPTION_WIDTH
        if not strip.has_panel:
            at = frame.x + (frame.width - sum(chip.width for chip in line) - _GAP * (len(line) - 1)) / 2
        for chip in line:
            yield from _chip_shapes(chip, at, y)
            at += chip.width + _GAP
        y += _HEIGHT + _GAP


def _chip_shapes(chip: Chip, x: float, y: float) -> Iterator[Shape]:
    frame = Frame(x, y, chip.width, _HEIGHT)
    yield Box(frame, "pill", tooltip=chip.tooltip, radius=_HEIGHT / 2)
    at = x + _PADDING
    for words, style in chip.words:
        yield Text(words, at, y + 16, style, tooltip=chip.tooltip)
        at += styled_width(words, style) + 6


def _chip(application: Application, width: float) -> Chip:
    left = width - 2 * _PADDING
    words = [(cut(application.name, "chip", min(_NAME_WIDTH, left)), "chip")]
    left -= styled_width(*words[0])
    if application.acks not in ("", "all"):
        words.append((f"acks={application.acks}", "warning"))
        left -= styled_width(*words[-1]) + 6
    kind = f"{application.mark} · " if application.mark else ""
    room = min(_NOTE_WIDTH, left - 6) - styled_width(kind, "chip-note")
    if room >= _LEAST_NOTE_WIDTH and (application.topics or application.pattern):
        note = cut(application.pattern, "chip-note", room) if application.pattern else ""
        note = note or fitted_names(application.topics, "chip-note", room)
        words.insert(1, (kind + note, "chip-note"))
    topics = read_boot_guard_statuses(application, 30) or "nothing"
    return Chip(tuple(words), f"{application.name} {application.verb} {topics}")
