"""A file with many mirrors: what its plan, its status and the plan of a failover take, held in memory."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from rich.table import Table

SIZES = (30, 100)
LIMITS_S = {"plan": 5.0, "status": 3.0}


def measure(mirrors: int) -> dict[str, Any]:
    """One size in a fresh process."""
    command = [sys.executable, "-m", "tests.bench.mirrors_run", str(mirrors)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    measured: dict[str, Any] = json.loads(answer.stdout)
    return measured


def missed(rows: list[dict[str, Any]]) -> list[str]:
    """Which promises are not kept, in words."""
    largest = rows[-1]
    return [
        f"{largest['mirrors']:,} mirrors: {phase} {largest[f'{phase}_cpu_s']:.1f} s, limit {limit_s:g}"
        for phase, limit_s in LIMITS_S.items()
        if largest[f"{phase}_cpu_s"] >= limit_s
    ]


def table(rows: list[dict[str, Any]]) -> Table:
    """Seconds and CPU seconds of each phase."""
    found = Table(title="A file of many mirrors into two centres", title_justify="left", min_width=90)
    for column in ("mirrors", *LIMITS_S, "steps of the plan", "positions in the status"):
        found.add_column(column, justify="right")
    for row in rows:
        found.add_row(
            f"{row['mirrors']:,}",
            *(f"{row[f'{phase}_s']:.2f} ({row[f'{phase}_cpu_s']:.2f})" for phase in LIMITS_S),
            f"{row['steps']:,}",
            f"{row['positions']:,}",
        )
    found.caption = "Seconds (CPU seconds). Servers answer from memory, which is part of the time."
    return found
