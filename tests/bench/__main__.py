"""The figures that are promised, measured: `python -m tests.bench`, or `make bench`.

Exit status 1 if one of them is not kept. Maps and files are one thread without IO, so on an idle machine
seconds and CPU seconds are the same; CPU seconds decide, so that a busy machine does not fail them. Moving
groups is mostly waiting for brokers: there the clock decides. `--no-kafka` leaves out what needs Java.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.bench import forced, groups, layouts, many_groups, mirrors, start, stretched
from tests.bench.kafka_client import Comparison, compare
from tests.bench.syncs import CASES

_LIMIT_BUILD_S = 10.0
_LIMIT_PEAK_MB = 500.0
_LIMIT_TRANSLATE_S = 1.0
_TEN_MILLION = 10_000_000
_HARD = "half folds"


def main() -> int:
    """Measure, print, and say whether the promises are kept."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "--no-kafka",
        action="store_true",
        help="leave out what needs Java: Kafka's own client, and real brokers",
    )
    options = parser.parse_args()
    console = Console(width=100)
    with console.status("the start of three commands"):
        console.print(start.table(start.measure()["here"]))
    runs = [(1_000_000, _HARD), (3_000_000, _HARD), *((_TEN_MILLION, case) for case in CASES)]
    measured = []
    for count, case in runs:
        with console.status(f"a map of {count:,} syncs, {case}"):
            measured.append(_measure(count, case))
    console.print(_builds(measured))
    console.print(_translations(measured))
    # Before what makes this process large: on Linux a process starts with its parent's peak of memory.
    files = []
    for topics in layouts.SIZES:
        with console.status(f"a topology file of {topics:,} topics"):
            files.append(layouts.measure(topics))
    console.print(layouts.table(files))
    many_mirrors = []
    for count in mirrors.SIZES:
        with console.status(f"a file of {count:,} mirrors"):
            many_mirrors.append(mirrors.measure(count))
    console.print(mirrors.table(many_mirrors))
    with console.status(f"a watcher of {many_groups.GROUPS:,} groups"):
        watched = many_groups.measure()
    console.print(many_groups.table(watched))
    if not options.no_kafka:
        with console.status("a million translations by Kafka's own client and by ours"):
            comparison = compare()
        console.print(_beside_kafka(comparison))
    moved = []
    for size in groups.SIZES if not options.no_kafka else ():
        with console.status(f"{size[0]:,} groups over {size[1]:,} partitions"):
            moved.append(groups.measure(*size))
    if moved:
        console.print(groups.table(moved))
    within = _stretched(console, with_kafka=not options.no_kafka)
    missed = [problem for row in measured if row["syncs"] == _TEN_MILLION for problem in _missed(row)]
    missed += layouts.missed(files)
    missed += mirrors.missed(many_mirrors)
    missed += many_groups.missed(watched)
    missed += groups.missed(moved) if moved else []
    missed += within
    for problem in missed:
        console.print(f"[red]missed[/red]: {problem}")
    if not missed:
        console.print(
            f"Kept for 10 million syncs, in each case: built in under {_LIMIT_BUILD_S:g} s (CPU), under "
            f"{_LIMIT_PEAK_MB:g} MB; 1 million translations in under {_LIMIT_TRANSLATE_S:g} s (CPU).\n"
            f"Kept for {layouts.SIZES[-1]:,} topics: each of {', '.join(layouts.PHASES)} in under 5 s (CPU), "
            "all in under 1 GB, and growing with the file.\n"
            f"Kept for {mirrors.SIZES[-1]:,} mirrors in one file: "
            + ", ".join(f"{phase} in under {limit:g} s" for phase, limit in mirrors.LIMITS_S.items())
            + " (CPU).\n"
            f"Kept for a watcher of {many_groups.GROUPS:,} groups of {many_groups.PARTITIONS} partitions, after as "
            f"many came and went: under {many_groups.LIMIT_MB:g} MB, and {many_groups.LIMIT_CPU_S:g} s of CPU a round."
        )
        if moved:
            console.print(
                f"Kept for {groups.GROUPS:,} groups over {groups.PARTITIONS:,} partitions: the offset part of a "
                f"failover in under {groups.LIMIT_S:g} s by the clock."
            )
    return 1 if missed else 0


def _stretched(console: Console, *, with_kafka: bool) -> list[str]:
    """Measure and print what is promised within a stretched cluster; returns what is not kept."""
    plans, asked = [], None
    for partitions in stretched.PLANNED:
        with console.status(f"plans for {partitions:,} partitions"):
            plans.append(stretched.planned(partitions))
    console.print(stretched.plans_table(plans))
    if with_kafka:
        with console.status(f"{stretched.PARTITIONS:,} partitions of a stretched cluster"):
            asked = stretched.moved()
        console.print(stretched.cluster_table(asked))
    losses = []
    for layout in forced.LAYOUTS if with_kafka else ():
        with console.status(f"{layout}: a quorum of the survivors, and a bare script of it"):
            losses.append(forced.measure(layout))
        console.print(forced.table(losses[-1]))
    return [*stretched.missed(plans, asked), *forced.missed(losses)]


def _measure(count: int, case: str) -> dict[str, Any]:
    """One measurement in a fresh process: its peak of memory is then its own."""
    command = [sys.executable, "-m", "tests.bench.map_run", str(count), case]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    measured: dict[str, Any] = json.loads(answer.stdout)
    return measured


def _missed(row: dict[str, Any]) -> list[str]:
    figures = [
        ("build", row["build_cpu_s"], _LIMIT_BUILD_S, "s"),
        ("peak memory", row["peak_mb"], _LIMIT_PEAK_MB, "MB"),
        ("a million translations", row["many_cpu_s"], _LIMIT_TRANSLATE_S, "s"),
    ]
    return [
        f"{row['case']}: {name} {value:.1f} {unit}, limit {limit:g}"
        for name, value, limit, unit in figures
        if value >= limit
    ]


def _builds(measured: list[dict[str, Any]]) -> Table:
    table = Table(
        title="A map built from the bytes of offset syncs (one partition)", title_justify="left", min_width=90
    )
    for column in ("syncs", "case", "runs", "seconds", "CPU s", "peak MB", "MB a million", "µs a sync"):
        table.add_column(column, justify="left" if column == "case" else "right")
    for row in measured:
        millions = row["syncs"] / 1e6
        table.add_row(
            f"{row['syncs']:,}",
            row["case"],
            f"{row['runs']:,}",
            f"{row['build_s']:.2f}",
            f"{row['build_cpu_s']:.2f}",
            f"{row['peak_mb']:.0f}",
            f"{(row['peak_mb'] - row['interpreter_mb']) / millions:.0f}",
            f"{row['build_cpu_s'] / millions:.2f}",
        )
    table.caption = "Peak memory of the whole process, Python and numpy included; without them per million."
    return table


def _translations(measured: list[dict[str, Any]]) -> Table:
    table = Table(
        title="A million random positions translated by those maps", title_justify="left", min_width=90
    )
    for column in ("syncs", "case", "at once: s", "CPU s", "one by one: s", "CPU s", "exact"):
        table.add_column(column, justify="left" if column == "case" else "right")
    for row in measured:
        table.add_row(
            f"{row['syncs']:,}",
            row["case"],
            f"{row['many_s']:.2f}",
            f"{row['many_cpu_s']:.2f}",
            f"{row['single_s']:.2f}",
            f"{row['single_cpu_s']:.2f}",
            f"{row['exact'] / row['translated']:.1%}",
        )
    table.caption = "One by one comes with the bound of re-reads and the reason in words."
    return table


def _beside_kafka(comparison: Comparison) -> Table:
    ours_s = comparison.read_s + comparison.decode_s + comparison.translate_s
    table = Table(
        title=f"{comparison.translations:,} translations, from the checkpoints topic of a real broker",
        title_justify="left",
        min_width=90,
    )
    table.add_column("")
    table.add_column("seconds", justify="right")
    table.add_row("Kafka's RemoteClusterUtils.translateOffsets", f"{comparison.kafka_s:.2f}")
    table.add_row("ours, in all", f"{ours_s:.2f}")
    table.add_row("  reading the topic", f"{comparison.read_s:.2f}")
    table.add_row("  decoding checkpoints, one by one", f"{comparison.decode_s:.2f}")
    table.add_row("  translating by the map of 10 million syncs", f"{comparison.translate_s:.2f}")
    table.caption = (
        "Kafka's client looks up what MirrorMaker had translated; ours translates anew. "
        "How they are made comparable: docs/benchmarks.md."
    )
    return table


if __name__ == "__main__":
    sys.exit(main())
