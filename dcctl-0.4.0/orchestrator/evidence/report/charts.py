"""Geometry of the plots: nice axes, and points as percentages of a plot's box. Pure.

Plots are inline SVG that stretches with the page, with labels as ordinary text beside it; the reason
is in `docs/decisions/`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# The plot's box in SVG units; it is stretched to whatever the page gives it.
WIDTH = 1000.0
HEIGHT = 100.0

# Every rehearsal's load has been steady for at least so long when its fault is done.
_STEADY_S = 3.0


@dataclass(frozen=True, slots=True)
class Axis:
    """A range with round ticks, all in the unit of the data."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def percent(self, value: float) -> float:
        """Where a value lies, 0 to 100 from the low end; values outside are moved to the edge."""
        if self.high <= self.low:
            return 0.0
        return round(min(100.0, max(0.0, 100 * (value - self.low) / (self.high - self.low))), 3)


def nice_step(span: float, most_ticks: int) -> float:
    """The smallest of 1, 2, 5 times a power of ten that needs at most that many steps for the span."""
    if span <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(span / most_ticks))
    return next(factor * power for factor in (1, 2, 5, 10, 20) if factor * power * most_ticks >= span)


def steady_values(t_s: Sequence[float], values: Sequence[float | None]) -> Sequence[float | None]:
    """Those by which a plot is scaled: all, or those since shortly before the fault.

    A workload that first writes its stock as fast as the cluster takes it would flatten before and after, the
    point of the plot, into a line at its foot: where what came earlier is more than twice as high, it is cut.
    """
    since = [value for at, value in zip(t_s, values, strict=True) if at >= -_STEADY_S]
    highest = max((value for value in values if value is not None), default=0.0)
    highest_since = max((value for value in since if value is not None), default=0.0)
    return since if 0 < highest_since < highest / 2 else values


def value_axis(values: Iterable[float | None], most_ticks: int = 4) -> Axis:
    """From 0 up to a round number that no value passes."""
    highest = max((value for value in values if value is not None), default=0.0)
    if highest < 1e-9:
        return Axis(0.0, 1.0, (0.0, 1.0))
    step = nice_step(highest, most_ticks)
    count = max(1, math.ceil(round(highest / step, 9)))
    return Axis(0.0, count * step, tuple(index * step for index in range(count + 1)))


def time_axis(low: float, high: float, most_ticks: int = 8) -> Axis:
    """Exactly from `low` to `high` seconds, with round ticks inside; zero is the fault."""
    if high - low < 0.001:
        high = low + 1.0
    step = time_step(high - low, most_ticks)
    first = math.ceil(round(low / step, 9))
    last = math.floor(round(high / step, 9))
    ticks = (index * step for index in range(first, last + 1))
    # Rounding lets a tick count as inside that lies a hair before the axis begins.
    return Axis(low, high, tuple(tick for tick in ticks if low - 1e-6 <= tick <= high + 1e-6))


def time_step(span_s: float, most_ticks: int) -> float:
    """Like `nice_step`, with steps that people count in: 15 and 30 seconds, whole minutes and hours."""
    steps = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)
    if span_s <= most_ticks:
        return nice_step(span_s, most_ticks)
    return next((float(step) for step in steps if step * most_ticks >= span_s), nice_step(span_s, most_ticks))


def line_path(xs: Sequence[float], ys: Sequence[float | None], x: Axis, y: Axis) -> str:
    """SVG path of a line; it is broken where nothing was measured, and ends at the axis' edges."""
    return "".join("M" + "L".join(f"{px:.1f} {py:.1f}" for px, py in run) for run in _runs(xs, ys, x, y))


def area_path(xs: Sequence[float], ys: Sequence[float | None], x: Axis, y: Axis) -> str:
    """SVG path of the area between a line and zero."""
    return "".join(
        f"M{run[0][0]:.1f} {HEIGHT:.0f}L"
        + "L".join(f"{px:.1f} {py:.1f}" for px, py in run)
        + f"L{run[-1][0]:.1f} {HEIGHT:.0f}Z"
        for run in _runs(xs, ys, x, y)
    )


def _runs(
    xs: Sequence[float], ys: Sequence[float | None], x: Axis, y: Axis
) -> list[list[tuple[float, float]]]:
    """Unbroken stretches of points inside the time axis, in SVG units."""
    runs: list[list[tuple[float, float]]] = [[]]
    for at, value in zip(xs, ys, strict=True):
        if value is None or not x.low <= at <= x.high:
            runs.append([])
        else:
            runs[-1].append((x.percent(at) * WIDTH / 100, HEIGHT - y.percent(value) * HEIGHT / 100))
    return [run for run in runs if run]
