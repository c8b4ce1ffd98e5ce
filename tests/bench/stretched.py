"""Stretched clusters of many partitions: plans, elections and settings, beside Kafka's own tools."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from rich.table import Table

PLANNED = (10_000, 30_000, 100_000)
PARTITIONS = 10_000
_LIMIT_PLAN_S = 5.0
_LIMIT_ORDER_S = 20.0
_LIMIT_SETTINGS_S = 5.0


def planned(partitions: int) -> dict[str, Any]:
    """Plans of one size, in a fresh process."""
    return _measured("plan", partitions)


def moved() -> dict[str, Any]:
    """On real brokers."""
    return _measured("cluster", PARTITIONS)


def _measured(kind: str, partitions: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.bench.stretched_run", kind, str(partitions)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    measured: dict[str, Any] = json.loads(answer.stdout)
    return measured


def order_s(row: dict[str, Any]) -> float:
    """Seconds for another order of every assignment, and the election of all."""
    return float(row["evacuated"]["put-site-last"] + row["evacuated"]["elect-preferred"])


def missed(plans: Sequence[dict[str, Any]], row: dict[str, Any] | None) -> list[str]:
    """Which promises are not kept, in words."""
    largest = plans[-1]
    problems = [
        f"{largest['partitions']:,} partitions: the plan of {verb} {plan['cpu_s']:.1f} s, limit {_LIMIT_PLAN_S:g}"
        for verb, plan in largest["plans"].items()
        if plan["cpu_s"] >= _LIMIT_PLAN_S
    ]
    if row is None:
        return problems
    if order_s(row) >= _LIMIT_ORDER_S:
        said = f"{row['partitions']:,} partitions: order and election {order_s(row):.1f} s"
        problems.append(f"{said}, limit {_LIMIT_ORDER_S:g}")
    for run, step in (("lost", "lower-min-insync"), ("returned", "restore-min-insync")):
        if row[run][step] >= _LIMIT_SETTINGS_S:
            said = f"{row['topics']:,} topics: {step} {row[run][step]:.1f} s"
            problems.append(f"{said}, limit {_LIMIT_SETTINGS_S:g}")
    return problems


def plans_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Seconds and CPU seconds of each plan."""
    verbs = list(rows[0]["plans"])
    found = Table(title="Plans within a stretched cluster", title_justify="left", min_width=90)
    for column in ("partitions", *verbs):
        found.add_column(column, justify="right")
    for row in rows:
        plans = [row["plans"][verb] for verb in verbs]
        told = (f"{plan['s']:.2f} ({plan['cpu_s']:.2f})" for plan in plans)
        found.add_row(f"{row['partitions']:,}", *told)
    found.caption = "Seconds (CPU seconds). Four replicas each; all that is seen of the cluster is in memory."
    return found


def cluster_table(row: dict[str, Any]) -> Table:
    """What real brokers take for it, beside Kafka's tools."""
    title = (
        f"{row['partitions']:,} partitions of {row['topics']:,} topics, two replicas each, on real brokers"
    )
    found = Table(title=title, title_justify="left", min_width=90)
    for column in ("", "dcctl", "Kafka's tools", "ratio"):
        found.add_column(column, justify="right" if column else "left")

    def add(what: str, ours: float, theirs: float | None) -> None:
        ratio = "" if theirs is None else f"{theirs / ours:.1f}"
        found.add_row(what, f"{ours:.1f} s", "" if theirs is None else f"{theirs:.1f} s", ratio)

    order, elected = row["evacuated"]["put-site-last"], row["evacuated"]["elect-preferred"]
    add("another order of each assignment, verified", order, row["tool_order_s"])
    add("every preferred leader elected, verified", elected, row["tool_election_s"])
    add("the recorded order put back, and elected", sum(row["led_again"].values()), None)
    add("min.insync.replicas lowered, verified", row["lost"]["lower-min-insync"], row["tool_settings_s"])
    add("min.insync.replicas put back, verified", row["returned"]["restore-min-insync"], None)
    add("all in sync again after a site's return", row["returned"]["await-in-sync"], None)
    found.caption = (
        "Kafka's tools do not record what there was, nor verify; settings by kafka-configs topic by topic, from "
        "the first ten."
    )
    return found
