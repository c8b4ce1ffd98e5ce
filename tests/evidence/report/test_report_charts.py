"""Axes and paths of the plots."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.evidence.report import parse_report
from orchestrator.evidence.report.charts import (
    Axis,
    line_path,
    nice_step,
    steady_values,
    time_axis,
    value_axis,
)
from orchestrator.evidence.report.page import page
from tests.evidence.report.report_samples import valid_report

counts = st.floats(min_value=0, max_value=1e12)


@given(st.lists(counts | st.none(), max_size=20))
def test_no_value_passes_its_axis(values: list[float | None]) -> None:
    """An axis begins at 0, ends at a tick, and has a handful of them."""
    axis = value_axis(values)

    assert axis.ticks[0] == axis.low == 0
    assert axis.ticks[-1] == axis.high
    assert 2 <= len(axis.ticks) <= 6
    assert all(value is None or value <= axis.high * (1 + 1e-9) for value in values)


@given(st.floats(min_value=-1e6, max_value=1e6), st.floats(min_value=0, max_value=1e6))
def test_time_axis_keeps_its_ends(low: float, span: float) -> None:
    """Ticks lie inside, are few, and zero is one of them when it is inside."""
    axis = time_axis(low, low + span)

    assert axis.low == low
    assert len(axis.ticks) <= 10
    assert all(axis.low - 1e-6 <= tick <= axis.high + 1e-6 for tick in axis.ticks)
    if axis.low <= 0 <= axis.high:
        assert 0 in axis.ticks


@given(st.floats(min_value=1e-6, max_value=1e12), st.integers(min_value=1, max_value=12))
def test_steps_are_round_and_enough(span: float, most: int) -> None:
    """A step is 1, 2 or 5 times a power of ten."""
    step = nice_step(span, most)

    assert step * most >= span * (1 - 1e-9)
    assert f"{step:e}"[0] in "125"


def test_points_outside_the_time_axis_are_left_out() -> None:
    """A line ends at the plot's edge; it is not bent back into it."""
    axis = Axis(0.0, 10.0, (0.0, 10.0))

    assert line_path([-5.0, 0.0, 10.0, 20.0], [1.0, 2.0, 3.0, 4.0], axis, axis) == "M0.0 80.0L1000.0 70.0"
    assert axis.percent(20.0) == 100.0


def test_a_burst_at_the_start_does_not_flatten_the_rest() -> None:
    """The scale is that of the steady load; a peak after the fault, such as a catch-up, is never cut."""
    t_s = [float(t) for t in range(-6, 4)]
    burst = [18_473.0, 18_000.0, 0.0, 2_000.0, 2_000.0, 2_000.0, 0.0, 0.0, 2_100.0, 2_000.0]
    assert value_axis(steady_values(t_s, burst)).high < 5_000
    caught_up = [*burst[:-1], 18_400.0]
    assert value_axis(steady_values(t_s, caught_up)).high >= 18_473
    nothing_since = [18_473.0, *([None] * 9)]
    assert steady_values(t_s, nothing_since) == nothing_since


def test_every_label_of_an_axis_stands_under_its_tick() -> None:
    """None is shifted to make room for a unit, which hangs beside the last one."""
    text = page(parse_report(valid_report()))
    labels = re.findall(r'<div class="axis"[^>]*>(.*?)</div>', text, re.DOTALL)
    assert labels
    for axis in labels:
        assert "class=" not in axis.replace('class="unk"', "")
    assert re.search(r"<i>&nbsp;s</i></span>\s*$", labels[0].strip())


def test_what_is_cut_off_is_said() -> None:
    """How high it was, and when."""
    data = valid_report()
    data["series"] = {
        "producers": [
            {"name": "p", "t_s": [-9.0, -2.0, 1.0, 2.0], "acked_per_s": [18_000.0, 20.0, 0.0, 20.0]}
        ]
    }
    assert "peak 18\u202f000 at −9.0\u00a0s, cut off" in page(parse_report(data))
