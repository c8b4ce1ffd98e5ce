"""Does the table of order bite? `python -m tests.golden.bite` takes each edge out of each plan and asks the table.

Prints the edges of policy that no pair misses. Those that are known, and why they need not be, stand in `UNNOTICED`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping

import networkx as nx

from orchestrator.runs.plan import NEEDS_RESULT
from tests.golden.order import judge, move_of
from tests.golden.play import PlayedRun, play
from tests.golden.situations import groups

Edge = tuple[str, str, str]
"""Move, step, and the step that waits for it."""

_HELD = "the side that came back is held all the while: at any moment its rules and its ends are the same"
_JUDGES = "it judges what was looked at before, mostly with no look of its own"
UNNOTICED: Mapping[Edge, str] = {
    ("failback", "caught-up", "record-target-rules"): _HELD,
    ("failback", "tail-arrives", "record-target-rules"): _HELD,
    ("failback", "keep-off", "deny-writing"): _HELD,
    ("failback", "all-arrived", "close-reverse-map"): _JUDGES,
    ("failback", "all-arrived", "relocate-revenue"): _JUDGES,
    ("failback", "all-arrived", "translate-positions"): _JUDGES,
    ("switchover", "all-arrived", "relocate-revenue"): _JUDGES,
    ("switchover", "all-arrived", "thaw"): _JUDGES,
    ("switchover", "all-arrived", "translate-positions"): _JUDGES,
}
"""Edges that no pair misses, and why none need to."""

SAMPLE: tuple[tuple[str, str], ...] = (
    ("failover, by file", "query"),
    ("failover, by file", "itself"),
    ("leaving a sick site, by file", "query"),
    ("leaving a sick site, by file", "itself"),
    ("leaving a sick site, by file", "all themselves"),
    ("leaving a sick site, by word", "unfenced"),
    ("leaving a sick site, by word", "itself, the target has no authorizer"),
    ("switchover, by file", "query"),
    ("switchover, by file", "itself"),
    ("switchover, by file", "no consumers"),
    ("failback after switchover, by file", "query"),
    ("failback after switchover, by file", "itself"),
    ("failback, by state", "its log is cut behind the mirror"),
    ("failback, by state", "its applications run"),
    ("failback, by state", "landing topics held records before"),
    ("fence", "the standby fenced for all, then a switchover"),
    ("fence", "small, west"),
    ("hooks", "failover, well"),
    ("hooks", "leaving a sick site, well"),
    ("hooks", "failback, well"),
    ("hooks", "unfence, well"),
)
"""Situations that have every kind of edge between them; all of them take a minute."""


def unnoticed(runs: Iterable[PlayedRun]) -> dict[Edge, str]:
    """Edges on which order hangs, and that no pair misses in any run; with the number of runs that have them."""
    missed: dict[Edge, int] = {}
    noticed: set[Edge] = set()
    for run in runs:
        for edge in _edges(run):
            if edge in noticed:
                continue
            missed[edge] = missed.get(edge, 0) + 1
            graph = run.plan.graph()
            graph.remove_edge(*edge[1:])
            if any(found.wrong for found in judge(run, graph)):
                noticed.add(edge)
    return {edge: f"in {times} runs" for edge, times in missed.items() if edge not in noticed}


def _edges(run: PlayedRun) -> Iterator[Edge]:
    """Those of policy. Without those that follow from others: taken out, they change nothing.

    Whoever takes another's result cannot be put together without waiting for it.
    """
    for before, after in nx.transitive_reduction(run.plan.graph()).edges:
        if run.plan.step(after).reasons.get(before) != NEEDS_RESULT:
            yield move_of(run), before, after


def main() -> int:
    """Play everything, and print what no pair misses."""
    runs = [
        run for group in groups().values() for situation in group.values() for run in play(situation).runs
    ]
    found = unnoticed(runs)
    for edge, times in sorted(found.items()):
        sys.stdout.write("  ".join((*edge, times, UNNOTICED.get(edge, "not known"))) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
