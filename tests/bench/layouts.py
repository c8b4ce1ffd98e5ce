"""Large topology files: what it takes to load, validate, explain and plan them, and how that grows."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from rich.table import Table

SIZES = (1_000, 3_000, 10_000)
PHASES = ("load", "validate", "explain", "plan")
_LIMIT_S = 5.0
_LIMIT_PEAK_MB = 1_000.0
# How much more one topic may cost in the largest file than in the middle one. A tenth of a second is noise.
_LIMIT_GROWTH = 1.5
_NOISE_S = 0.1


def measure(topics: int) -> dict[str, Any]:
    """One size in a fresh process."""
    command = [sys.executable, "-m", "tests.bench.layout_run", str(topics)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    measured: dict[str, Any] = json.loads(answer.stdout)
    return measured


def missed(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Which promises are not kept, in words."""
    middle, largest = rows[-2], rows[-1]
    problems = [
        f"{largest['topics']:,} topics: {phase} {largest[f'{phase}_cpu_s']:.1f} s, limit {_LIMIT_S:g}"
        for phase in PHASES
        if largest[f"{phase}_cpu_s"] >= _LIMIT_S
    ]
    if largest["peak_mb"] >= _LIMIT_PEAK_MB:
        problems.append(f"peak memory {largest['peak_mb']:.0f} MB, limit {_LIMIT_PEAK_MB:g}")
    for phase in PHASES:
        was, grown = (row[f"{phase}_cpu_s"] / row["topics"] for row in (middle, largest))
        if largest[f"{phase}_cpu_s"] > _NOISE_S and grown > was * _LIMIT_GROWTH:
            problems.append(f"{phase} grows faster than the file: {grown / was:.1f} times a topic")
    return problems


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """Seconds and CPU seconds of each phase."""
    found = Table(title="A topology file, and the plan for it", title_justify="left", min_width=90)
    for column in ("topics", "partitions", *PHASES, "peak MB", "seen", "differ", "steps"):
        found.add_column(column, justify="right")
    for row in rows:
        found.add_row(
            f"{row['topics']:,}",
            f"{row['partitions']:,}",
            *(f"{row[f'{phase}_s']:.2f} ({row[f'{phase}_cpu_s']:.2f})" for phase in PHASES),
            f"{row['peak_mb']:.0f}",
            f"{row['observed']['topics']:,}",
            f"{row['differences']:,}",
            str(row["steps"]),
        )
    found.caption = (
        "Seconds (CPU seconds). All topics are mirrored: planned is against both clusters, with three times "
        "as many topics and partitions in memory (seen), of which a fifth are not as the file says."
    )
    return found
