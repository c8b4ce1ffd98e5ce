"""What a picture consists of: frozen shapes with their places, in pixels from the upper left corner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from orchestrator.topology.graph.picture.fonts import text_width
from orchestrator.topology.graph.picture.look import TEXTS

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Frame:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.y + self.height

    @property
    def middle(self) -> Point:
        """Its centre."""
        return self.x + self.width / 2, self.y + self.height / 2

    def grown(self, by: float) -> Frame:
        """The same rectangle with each edge `by` further out."""
        return Frame(self.x - by, self.y - by, self.width + 2 * by, self.height + 2 * by)


@dataclass(frozen=True, slots=True)
class Box:
    """A rounded rectangle; `style` is its kind, `accent` the number of its cluster's colour."""

    frame: Frame
    style: str
    accent: int | None = None
    tooltip: str = ""
    radius: float = 8


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text on its baseline at `y`; a halo keeps lines that pass away from it."""

    words: str
    x: float
    y: float
    style: str
    anchor: Literal["start", "middle", "end"] = "start"
    accent: int | None = None
    tooltip: str = ""
    has_halo: bool = False

    @property
    def frame(self) -> Frame:
        """The room that the text takes at most."""
        size, bold = TEXTS[self.style]
        width = text_width(self.words, size, bold=bold)
        left = {"start": self.x, "middle": self.x - width / 2, "end": self.x - width}[self.anchor]
        return Frame(left, self.y - 0.8 * size, width, 1.05 * size)


@dataclass(frozen=True, slots=True)
class Icon:
    """A small sign, sixteen pixels wide and high."""

    name: str
    x: float
    y: float
    accent: int | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A line through `points`, with an arrow's head at its end if it leads somewhere."""

    points: tuple[Point, ...]
    style: str
    accent: int | None = None
    has_head: bool = False
    tooltip: str = ""


Shape = Box | Text | Icon | Line


@dataclass(frozen=True, slots=True)
class Scene:
    """A whole picture: shapes in the order in which they are painted."""

    name: str
    title: str
    description: str
    width: float
    height: float
    shapes: tuple[Shape, ...]
