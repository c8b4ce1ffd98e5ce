"""How long each client got nothing done, around a loss or a move, and its work second by second. Pure.

All clients of a rehearsal are on one machine, so that their times are of one clock.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.evidence.origins.told import Told
from orchestrator.topology.model import Topology
from orchestrator.topology.standby import READ

_GIVEN = "assigned"


@dataclass(frozen=True, slots=True)
class Successes:
    """When each client's records were acknowledged, or processed: sorted Unix epoch seconds.

    Of a consumer that leaves what is new where it goes to somebody else there may be nothing to be read: for
    it, being given its partitions counts as well.
    """

    producers: Mapping[str, Sequence[float]]
    consumers: Mapping[str, Sequence[float]]

    @classmethod
    def of(cls, topology: Topology, told: Told) -> Successes:
        """By the ledgers that could be read."""
        producers: dict[str, list[float]] = {
            p.name: [] for p in topology.producers if p.name not in told.unreadable
        }
        for record, ack in told.acked.items():
            if record.producer in producers:
                producers[record.producer].append(ack.at_ms / 1000)
        consumers: dict[str, list[float]] = {}
        for consumer in topology.consumers:
            if consumer.name in told.unreadable:
                continue
            done = told.processed.get(consumer.name, {})
            times = [one.at_ms / 1000 for readings in done.values() for one in readings]
            if consumer.landing not in {None, READ}:
                notes = told.notes.get(consumer.name, ())
                times += [note.at_ms / 1000 for note in notes if note.event == _GIVEN]
            consumers[consumer.name] = times
        return cls(
            {name: sorted(times) for name, times in producers.items()},
            {name: sorted(times) for name, times in consumers.items()},
        )

    @property
    def every(self) -> Mapping[str, Sequence[float]]:
        """All clients."""
        return {**self.producers, **self.consumers}


@dataclass(frozen=True, slots=True)
class Window:
    """From a loss or a command up to the next one, or to the end of the load. Unix epoch seconds."""

    begins_s: float
    ends_s: float


def pause_s(times: Sequence[float], window: Window) -> float | None:
    """The longest that a client got nothing done in a window; None where it was not seen again.

    A pause that lasts beyond the window counts whole.
    """
    first = bisect_left(times, window.begins_s)
    if first == len(times):
        return None
    last, longest = times[first - 1] if first else window.begins_s, 0.0
    for at_s in times[first:]:
        if last >= window.ends_s:
            break
        longest = max(longest, at_s - last)
        last = at_s
    return round(longest, 3)


def longest(pauses: Sequence[float | None]) -> float | None:
    """The longest; None where one is not known."""
    known = [one for one in pauses if one is not None]
    return max(known, default=None) if len(known) == len(pauses) else None


def series_of(successes: Successes, zero_s: float) -> dict[str, Any]:
    """`series` of a report: what each client did in each second, counted from `zero_s` on."""
    seconds = {
        name: Counter(int((at_s - zero_s) // 1) for at_s in times) for name, times in successes.every.items()
    }
    every = [second for counts in seconds.values() for second in counts]
    if not every:
        return {"producers": [], "consumers": []}
    axis = range(min(every), max(every) + 1)
    t_s = [float(second) for second in axis]
    return {
        "producers": [
            {"name": name, "t_s": t_s, "acked_per_s": [float(seconds[name][at]) for at in axis]}
            for name in successes.producers
        ],
        "consumers": [
            {
                "name": name,
                "t_s": t_s,
                "processed_per_s": [float(seconds[name][at]) for at in axis],
                "lag_records": [None] * len(t_s),
            }
            for name in successes.consumers
        ],
    }
