"""The facts of one run, written into the coordination ensemble under its topology's lock."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from orchestrator.adapters.clock import SystemClock
from orchestrator.adapters.zookeeper import HeldLock
from orchestrator.ports.clock import Clock
from orchestrator.runs.estate_record import KIND_OF, Body, Fact, RecordBegun, Withdrawn, is_about_the_same
from orchestrator.runs.live.estate_facts import old_facts
from orchestrator.runs.live.estate_record import (
    FIRST,
    FactName,
    bulk_path,
    estate_path,
    fact_names,
    written_facts,
)
from orchestrator.runs.live.journal import packed, write_bulk
from orchestrator.runs.plan import canonical_json, digest

_CLOCK: Clock = SystemClock()
# What is larger lies in parts of its own: a transaction carries a megabyte in all.
_BODY_BYTES = 4_000
_AT_ONCE = 100
B = TypeVar("B", bound=Body)


class EnsembleRecord:
    """The facts of one run, written while its lock is held. May be used by several threads."""

    def __init__(self, lock: HeldLock, topology: str, run_id: str, clock: Clock = _CLOCK) -> None:
        self._clock = clock
        self._lock, self._coordination = lock, lock.coordination
        self._topology, self._run_id = topology, run_id
        self._guard = threading.Lock()
        self._has_begun = False

    def append(
        self,
        bodies: Iterable[Body],
        *,
        nodes: Mapping[str, bytes] | None = None,
        at_s: float | None = None,
        after: int | None = None,
    ) -> None:
        """Write facts of this run and further `nodes`: all of them, or none.

        `after`: the number of the fact behind which they stand. Raises as `HeldLock.create_all` does.
        """
        with self._guard:
            self._begin_record()
            names = fact_names(self._coordination, self._topology)
            newest = max(name.number for name in names)
            facts = []
            for number, body in enumerate(bodies, start=newest + 1):
                now_s = self._clock.now_s() if at_s is None else at_s
                facts.append(Fact(number=number, run_id=self._run_id, at_s=now_s, body=body, after=after))
            self._lock.create_all({**dict(map(self._node, facts)), **(nodes or {})})

    def _begin_record(self) -> None:
        """Unless the record has begun, write what an earlier dcctl has left, and then its first fact.

        It holds from that one on. What somebody left who died before is written anew: meanwhile an earlier
        dcctl may have gone on.
        """
        coordination, topology = self._coordination, self._topology
        self._has_begun = self._has_begun or bool(fact_names(coordination, topology))
        if self._has_begun:
            return
        for name in coordination.names(estate_path(topology)):
            self._lock.remove(f"{estate_path(topology)}/{name}")
        old = old_facts(coordination, topology)
        for at in range(0, len(old), _AT_ONCE):
            self._lock.create_all(dict(map(self._node, old[at : at + _AT_ONCE])))
        first = RecordBegun(life=secrets.token_hex(8))
        begun = Fact(number=FIRST, run_id=self._run_id, at_s=self._clock.now_s(), body=first)
        self._lock.create_all(dict([self._node(begun)]))
        self._has_begun = True

    def write(self, body: Body) -> None:
        """See `EstateRecord`."""
        if self.find(type(body), like=body) != body:
            self.append([body])

    def withdraw(self, kind: type[Body], *, like: Body | None = None, leaving: Body | None = None) -> None:
        """See `EstateRecord`."""
        own = [fact for fact in self._own(kind) if like is None or is_about_the_same(fact.body, like)]
        left = [leaving] if leaving is not None else []
        if own or left:
            self.append([*(Withdrawn(number=fact.number) for fact in own), *left])

    def find(self, kind: type[B], *, like: B | None = None) -> B | None:
        """See `EstateRecord`."""
        own = (fact.body for fact in self._own(kind))
        found = [
            body for body in own if isinstance(body, kind) and (like is None or is_about_the_same(body, like))
        ]
        return found[-1] if found else None

    def _own(self, kind: type[Any]) -> tuple[Fact, ...]:
        with self._guard:
            self._begin_record()
        return written_facts(self._coordination, self._topology, [kind], of_run=self._run_id)

    def _node(self, fact: Fact) -> tuple[str, bytes]:
        name = FactName(fact.number, KIND_OF[type(fact.body)], fact.run_id, fact.after)
        data = fact.as_json()
        body = canonical_json(data["body"])
        if len(packed(body)) > _BODY_BYTES:
            # Parts count once the fact's own node is there; who dies before that leaves some behind.
            path = bulk_path(self._topology, name, digest(data["body"]))
            index = write_bulk(self._lock, path, data["body"])
            data = {**data, "body": None, **index}
        return f"{estate_path(self._topology)}/{name.text}", packed(canonical_json(data))
