"""What a watcher costs in CPU and memory with thousands of groups, of which as many came and went."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from rich.table import Table

GROUPS, PARTITIONS, GONE = 3_000, 10, 3_000
LIMIT_MB, LIMIT_CPU_S = 300.0, 0.3


def measure() -> dict[str, Any]:
    """One measurement in a fresh process: its peak of memory is then its own."""
    command = [sys.executable, "-m", "tests.bench.many_groups_run", str(GROUPS), str(PARTITIONS), str(GONE)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    measured: dict[str, Any] = json.loads(answer.stdout)
    return measured


def table(row: dict[str, Any]) -> Table:
    """The figures before and after groups came and went."""
    shown = Table(
        title=f"A watcher of {row['groups']:,} groups, each of them moved in every round",
        title_justify="left",
        min_width=90,
    )
    shown.add_column("")
    shown.add_column("at first", justify="right")
    shown.add_column(f"after {row['gone']:,} more came and went", justify="right")
    for said, key in (
        ("CPU s a round: ask, record, encode, remember", "round_cpu_s"),
        ("CPU s a scrape of its metrics", "scrape_cpu_s"),
        ("peak MB", "peak_mb"),
        ("MB held", "held_mb"),
    ):
        digits = 0 if key.endswith("mb") else 3
        shown.add_row(said, *(f"{row[when][key]:.{digits}f}" for when in ("before", "after")))
    shown.caption = (
        f"{row['groups'] * row['partitions']:,} positions, {row['rounds']} rounds each. The cluster and the topic "
        "are models in memory; librdkafka and the process that it runs in are not in these figures."
    )
    return shown


def missed(row: dict[str, Any]) -> list[str]:
    """What is not kept, in words."""
    after = row["after"]
    found = []
    if after["peak_mb"] >= LIMIT_MB:
        found.append(f"a watcher of {row['groups']:,} groups: {after['peak_mb']:.0f} MB, limit {LIMIT_MB:g}")
    if after["round_cpu_s"] >= LIMIT_CPU_S:
        found.append(
            f"a watcher of {row['groups']:,} groups: {after['round_cpu_s']:.2f} s of CPU a round, "
            f"limit {LIMIT_CPU_S:g}"
        )
    return found
