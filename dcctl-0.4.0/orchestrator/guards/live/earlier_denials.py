"""Denials that an earlier dcctl has made: it did not record them, and only its runs' journals tell.

Until version 0.2.0 a failback held the returned side in a step of its own, and a planned move left its rules
where it led away from. Both are told here as the facts that a later version writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.runs.estate_record import DenialInForce, Fact, PrimaryMoved, RunBegun, Topics
from orchestrator.runs.live.journal import runs_path, unpacked
from orchestrator.runs.live.run_outline import RunOutline, read_outline
from orchestrator.runs.writers import writers_at
from orchestrator.topology.model import Topology

# Journals name their version since 0.1.0.
_WITHOUT_FACTS = frozenset({"", "0.1.0", "0.2.0"})
_HOLD = "hold-returned"


Says: TypeAlias = Callable[[Coordination, str, RunOutline], bool]


class EarlierDenials:
    """Those at one cluster, by the runs that the record has. A journal that changes no more is read once."""

    def __init__(self, topology: Topology, cluster: str) -> None:
        self._topology, self._cluster = topology.name, cluster
        self._writers = writers_at(topology, cluster)
        self._known: dict[str, bool] = {}

    def among(self, coordination: Coordination, facts: Sequence[Fact]) -> Iterator[Fact]:
        """Each as a fact that stands right behind the beginning of its run. Raises `CoordinationError`."""
        led_away = self._led_away(facts)
        for fact in facts:
            body = fact.body
            if not isinstance(body, RunBegun):
                continue
            if body.verb == "failback" and body.target == self._cluster:
                says: Says = _has_held
                topics: Topics = tuple(self._writers)
            elif body.verb == "switchover" and body.source == self._cluster:
                says, topics = _was_not_undone, led_away.get(fact.run_id, ())
            else:
                continue
            if topics and self._is_said(coordination, fact.run_id, says):
                yield self._denial(fact, topics)

    def _is_said(self, coordination: Coordination, run_id: str, says: Says) -> bool:
        if run_id in self._known:
            return self._known[run_id]
        run = read_outline(coordination, self._topology, run_id)
        is_earlier = run is not None and run.text("dcctl_version") in _WITHOUT_FACTS
        found = run is not None and is_earlier and says(coordination, self._topology, run)
        if run is not None and (not is_earlier or run.outcome in {"ok", "undone"}):
            self._known[run_id] = found
        return found

    def _led_away(self, facts: Iterable[Fact]) -> dict[str, Topics]:
        found: dict[str, Topics] = {}
        for fact in facts:
            body = fact.body
            if isinstance(body, PrimaryMoved) and body.primary != self._cluster:
                topics = tuple((body.home, name) for name in body.topics)
                found[fact.run_id] = (*found.get(fact.run_id, ()), *topics)
        return found

    def _denial(self, begun: Fact, topics: Topics) -> Fact:
        # Whoever wrote there by the file was denied.
        principals = frozenset().union(*self._writers.values())
        body = DenialInForce(cluster=self._cluster, topics=topics, principals=tuple(sorted(principals)))
        return Fact(number=0, run_id=begun.run_id, at_s=begun.at_s, body=body, after=begun.number)


def _has_held(coordination: Coordination, topology: str, run: RunOutline) -> bool:
    """Whether a failback has held the side that it leads to; one that ended well has let go of it."""
    holds = [name for name in run.names if name.endswith(f"-step-outcome-{_HOLD}")]
    if not holds or run.outcome == "ok":
        return False
    path = f"{runs_path(topology)}/{run.run_id}"
    told = unpacked(coordination.read(f"{path}/{holds[-1]}") or b"{}", path)
    return bool(told.get("outcome") == "ok")


def _was_not_undone(_coordination: Coordination, _topology: str, run: RunOutline) -> bool:
    return run.outcome != "undone"
