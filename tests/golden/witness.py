"""What a run did to the world, in words that do not depend on when exactly it did it.

An offset as such depends on how long producers could still write. What matters to users does not: where in its
log it stood at that moment, and what a group would skip or read again from there, by what it has really processed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from orchestrator.ports.servers import Access
from orchestrator.topology.model import Topology
from orchestrator.values import Acl, TopicPartition
from tests.twin.clusters import TwinCluster
from tests.twin.estate import TwinEstate
from tests.twin.record import Entry, Kind

T = TypeVar("T")
_COMMITTED = re.compile(r"(\S+) (\S+)-(\d+) → (-?\d+)")
_SET = re.compile(r"(\S+) (\S+) (\S+)-(\d+) → (-?\d+|None)")


@dataclass(frozen=True, slots=True)
class Done:
    """One change of the world: as the estate records it, and in words that are kept."""

    entry: Entry
    told: str

    @property
    def kept(self) -> tuple[str, str]:
        """What was done where, and the value."""
        return f"{self.entry.verb} {self.entry.object}", self.told


class Witness:
    """Looks on while an estate's record is written; `done` holds the changes so far, in order."""

    def __init__(self, estate: TwinEstate) -> None:
        self._estate = estate
        self.done: list[Done] = []
        self._ends: dict[tuple[str, TopicPartition], int] = {}
        self._do = estate.record.do
        estate.record.do = self._look_on  # type: ignore[method-assign]

    def begin(self) -> None:
        """A command is given now."""
        self._ends = {
            (name, TopicPartition(topic, at)): log.end
            for name, cluster in self._estate.clusters.items()
            for topic, known in cluster.topics.items()
            for at, log in enumerate(known.logs)
        }

    def _before(self, cluster: TwinCluster, tp: TopicPartition) -> int | None:
        return self._ends.get((cluster.name, tp))

    def _look_on(
        self,
        verb: str,
        where: str,
        value: str | Sequence[str],
        effect: Callable[[], T],
        *,
        failed: Callable[[str], Exception],
        kind: Kind = "do",
    ) -> T:
        values = [value] if isinstance(value, str) else list(value)
        told = [self._told(verb, where, one) for one in values] if kind == "do" else values
        before = len(self._estate.record.entries)
        try:
            return self._do(verb, where, values, effect, failed=failed, kind=kind)
        finally:
            # Also where the process dies just behind it: the change is made.
            new = self._estate.record.entries[before:]
            self.done += [Done(entry, words) for entry, words in zip(new, told, strict=False) if kind == "do"]

    def _told(self, verb: str, where: str, value: str) -> str:
        if verb == "commit offset" and (found := _COMMITTED.fullmatch(value)):
            return self._position(self._estate.clusters[where], *found.groups())
        if verb == "set source offset" and (found := _SET.fullmatch(value)):
            return self._start(*found.groups())
        if verb == "record fact":
            kind, _, body = value.partition(": ")
            return f"{kind}: {self._fact(kind, json.loads(body))}" if body.startswith("{") else value
        return value

    def _position(self, cluster: TwinCluster, group: str, topic: str, partition: str, offset: str) -> str:
        tp, at = TopicPartition(topic, int(partition)), int(offset)
        log = cluster.log(tp)
        if log is None:
            return f"{group} {tp} → {at}, where no log is"
        seen = self._estate.applications.ledger.processed.get(group, {})
        skipped = sum(r is not None and r.value not in seen for r in log.records[log.start : at])
        again = sum(r is not None and r.value in seen for r in log.records[at:])
        told = f"{group} {tp} → {_place(cluster, tp, at, self._before(cluster, tp))}"
        return told + (f", skips {skipped}" if skipped else "") + (f", reads {again} again" if again else "")

    def _start(self, connector: str, source: str, topic: str, partition: str, offset: str) -> str:
        tp = TopicPartition(topic, int(partition))
        if offset == "None":
            return f"{connector} reads {source} {tp} from its start"
        cluster = self._estate.clusters[source]
        return f"{connector} reads {source} {tp} from {_place(cluster, tp, int(offset) + 1)}"

    def _fact(self, kind: str, body: dict[str, Any]) -> str:
        clusters = self._estate.clusters
        if kind == "logs_left":
            cluster = clusters[body["cluster"]]
            ends = [
                f"{t}-{p} {_place(cluster, TopicPartition(t, p), end)}{'' if epoch < 0 else f' in epoch {epoch}'}"
                for t, p, end, epoch in body["ends"]
            ]
            known = ", ".join(body["topic_ids"]) or "none"
            return f"{cluster.name}: {'; '.join(ends) or 'nothing known'}; ids of {known}"
        if kind == "reverse_starts":
            cluster = clusters[body["standby"]]
            rows = [(TopicPartition(t, p), at) for t, p, at in body["starts"]]
            starts = [f"{tp} {_place(cluster, tp, at, self._before(cluster, tp))}" for tp, at in rows]
            is_set = "set" if body["is_set"] else "not set"
            return f"{cluster.name} to {body['home']}, {is_set}: {'; '.join(starts)}"
        if kind == "primary":
            return f"{', '.join(body['topics'])} of {body['home']} at {body['primary']}"
        if kind in {"denial", "denial_lifted"}:
            topics = ", ".join(f"{name} of {home}" for home, name in body["topics"])
            whom = f" to {', '.join(body['principals'])}" if kind == "denial" else ""
            return f"{topics} at {body['cluster']}{whom}"
        if kind == "cluster_ids":
            return ", ".join(f"{name} is {found}" for name, found in sorted(body["ids"].items()))
        return json.dumps(body, sort_keys=True)


def _place(cluster: TwinCluster, tp: TopicPartition, offset: int, before: int | None = None) -> str:
    """In words. `before` is where the log ended when the command began: who writes there since is beside it."""
    log = cluster.log(tp)
    if log is None:
        return str(offset)
    if offset == log.start:
        return "start"
    left = log.end - offset
    return "end" if left == 0 or offset == before else f"end - {left}" if left > 0 else f"end + {-left}"


def look_closer(estate: TwinEstate) -> None:
    """Record as looks also: access rules that are read, and the words of guards."""
    servers, record, ensemble = estate.servers, estate.record, estate.ensemble
    give_access, read_children = servers.access, ensemble.read_children

    def access(topology: Topology, name: str, **asked: Any) -> Access:
        found = give_access(topology, name, **asked)
        read_rules = found.rules

        def rules(principals: Any = None) -> frozenset[Acl]:
            said = read_rules(principals)
            record.see("see", name, "access rules")
            return said

        found.rules = rules  # type: ignore[method-assign]
        return found

    def children(path: str) -> dict[str, bytes]:
        said = read_children(path)
        if "guard" in path:
            record.see("see", "ensemble", "words of guards")
        return said

    servers.access = access  # type: ignore[method-assign]
    ensemble.read_children = children  # type: ignore[method-assign]
