"""The offset part of a failover of many groups: run in a process of its own, shown, held against its promise."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from rich.table import Table

GROUPS, PARTITIONS = 1_000, 10_000
SIZES = ((100, 1_000), (300, 3_000), (GROUPS, PARTITIONS))
LIMIT_S = 6.0
_PARTS = {
    "save": "save what the groups have there",
    "translate": "read syncs and ends, translate each position",
    "write": "write an offset for each partition",
    "verify": "read all of them back",
}
_WATCHED = {
    "a round of the watcher: ask the source": "round_sampled_s",
    "a round of the watcher: write what it said": "round_written_s",
    "reading ten such rounds": "rounds_read_s",
}


def measure(groups: int, partitions: int) -> dict[str, Any]:
    """One measurement on brokers of its own."""
    command = [sys.executable, "-m", "tests.bench.groups_run", str(groups), str(partitions)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    measured: dict[str, Any] = json.loads(answer.stdout)
    return measured


def offset_part_s(row: dict[str, Any]) -> float:
    """Seconds by the clock from the first question to the last answer."""
    return sum(float(row[f"{part}_s"]) for part in _PARTS)


def table(rows: list[dict[str, Any]]) -> Table:
    """One column a size."""
    shown = Table(
        title="The offset part of a failover, on three real brokers", title_justify="left", min_width=90
    )
    shown.add_column("seconds")
    for row in rows:
        shown.add_column(f"{row['groups']:,} groups\n{row['partitions']:,} partitions", justify="right")
    for part, said in _PARTS.items():
        shown.add_row(said, *(f"{row[f'{part}_s']:.2f}" for row in rows))
    shown.add_row("in all", *(f"[bold]{offset_part_s(row):.2f}[/bold]" for row in rows))
    shown.add_row("  of which CPU of dcctl itself", *(f"{_cpu_s(row):.2f}" for row in rows))
    shown.add_row("planned beforehand", *(f"{row['plan_s']:.2f}" for row in rows))
    shown.add_row(
        f"Kafka's tool, group by group, from {rows[0]['tool_groups']}",
        *(f"{row['tool_all_s']:,.0f}" for row in rows),
    )
    shown.add_row("times as long", *(f"{row['tool_all_s'] / offset_part_s(row):,.0f}" for row in rows))
    for said, key in _WATCHED.items():
        shown.add_row(said, *(f"{row[key]:.2f}" for row in rows))
    written = rows[-1]
    shown.caption = (
        f"{written['offsets']:,} offsets written in the last column, {written['exact']:,} of "
        f"{written['translated']:,} positions exact. Kafka's tool is given our offsets: it writes, and neither "
        "translates nor verifies."
    )
    return shown


def missed(rows: list[dict[str, Any]]) -> list[str]:
    """What is not kept, in words."""
    largest_s = offset_part_s(rows[-1])
    size = f"{rows[-1]['groups']:,} groups over {rows[-1]['partitions']:,} partitions"
    return [f"{size}: {largest_s:.1f} s, limit {LIMIT_S:g}"] if largest_s >= LIMIT_S else []


def _cpu_s(row: dict[str, Any]) -> float:
    return sum(float(row[f"{part}_cpu_s"]) for part in _PARTS)
