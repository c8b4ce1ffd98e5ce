"""How long each client got nothing done, around a loss or a move, and its work second by second. Pure.

All clients of a rehearsal are on one machine, so that their times are of one clock.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from orchestrator.evidence.origins.told import Told
from orchestrator.topology.model import Topology
from orchestrator.topology.standby import READ

_GIVEN = "assigned"


class Success(NamedTuple):
    """A record was acknowledged, or processed: when (Unix epoch seconds), and in which life of the client."""

    at_s: float
    life: int


@dataclass(frozen=True, slots=True)
class Successes:
    """Of each client all of them, in order.

    Of a consumer that leaves to somebody else what is new where it goes (`idle`) there may be nothing to be
    read: for it, being given its partitions counts as well.
    """

    producers: Mapping[str, Sequence[Success]]
    consumers: Mapping[str, Sequence[Success]]
    idle: frozenset[str]

    @classmethod
    def of(cls, topology: Topology, told: Told) -> Successes:
        """By the ledgers that could be read."""
        producers: dict[str, list[Success]] = {
            p.name: [] for p in topology.producers if p.name not in told.unreadable
        }
        for record, ack in told.acked.items():
            if record.producer in producers:
                producers[record.producer].append(Success(ack.at_ms / 1000, record.life))
        consumers: dict[str, list[Success]] = {}
        idle = {one.name for one in topology.consumers if one.landing not in {None, READ}}
        for consumer in topology.consumers:
            if consumer.name in told.unreadable:
                continue
            done = told.processed.get(consumer.name, {})
            found = [Success(one.at_ms / 1000, one.life) for times in done.values() for one in times]
            if consumer.name in idle:
                notes = told.notes.get(consumer.name, ())
                found += [Success(note.at_ms / 1000, note.life) for note in notes if note.event == _GIVEN]
            consumers[consumer.name] = found
        return cls(
            {name: sorted(found) for name, found in producers.items()},
            {name: sorted(found) for name, found in consumers.items()},
            frozenset(idle),
        )

    @property
    def every(self) -> Mapping[str, Sequence[Success]]:
        """All clients."""
        return {**self.producers, **self.consumers}

    def between_lives(self, client: str, life: int, begins_s: float) -> float | None:
        """From the last success of a life to the first one of the next: None where there is none.

        Who may have had nothing to do is out of service from `begins_s` on.
        """
        found = self.every[client]
        last = max((one.at_s for one in found if one.life == life), default=begins_s)
        first = min((one.at_s for one in found if one.life == life + 1), default=None)
        if client in self.idle:
            last = max(last, begins_s)
        return None if first is None else round(max(0.0, first - last), 3)


@dataclass(frozen=True, slots=True)
class Window:
    """From a loss or a command up to the next one, or to the end of the load. Unix epoch seconds."""

    begins_s: float
    ends_s: float


def pause_s(found: Sequence[Success], window: Window) -> float | None:
    """The longest that a client which stays where it is got nothing done in a window; None where it was not
    seen again. A pause that lasts beyond the window counts whole.
    """
    times = [one.at_s for one in found]
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


def longest_gap_s(found: Sequence[Success], window: Window) -> float:
    """The longest time without a success in a window, up to the first and behind the last one as well."""
    inside = [one.at_s for one in found if window.begins_s < one.at_s < window.ends_s]
    times = [window.begins_s, *inside, max(window.begins_s, window.ends_s)]
    return round(max(after - before for before, after in pairwise(times)), 3)


def longest(pauses: Sequence[float | None]) -> float | None:
    """The longest; None where one is not known."""
    known = [one for one in pauses if one is not None]
    return max(known, default=None) if len(known) == len(pauses) else None


def series_of(successes: Successes, zero_s: float) -> dict[str, Any]:
    """`series` of a report: what each client did in each second, counted from `zero_s` on."""
    seconds = {
        name: Counter(int((one.at_s - zero_s) // 1) for one in found)
        for name, found in successes.every.items()
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
