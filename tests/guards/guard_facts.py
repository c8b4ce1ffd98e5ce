"""The estate record of a story about two sites, written line by line: for what guards make of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from orchestrator.guards.boot_guard import BootGuardStatus, Disk, boot_guard_status
from orchestrator.runs.estate_record import (
    Body,
    DenialInForce,
    DenialLifted,
    Fact,
    PrimaryMoved,
    RunBegun,
    RunEnded,
    Withdrawn,
)
from orchestrator.runs.writers import Topic

ORDERS, PAYMENTS, REFUNDS = ("west", "orders"), ("west", "payments"), ("east", "refunds")
TOPICS: tuple[Topic, ...] = (ORDERS, PAYMENTS, REFUNDS)


def writer_of(topic: Topic) -> str:
    """Each topic has one writer of its own."""
    return f"User:{topic[1]}"


WRITERS = {topic: frozenset({writer_of(topic)}) for topic in TOPICS}
"""At either side, with a mirror each way."""


@dataclass
class Story:
    """Facts in the order in which they are written."""

    facts: list[Fact] = field(default_factory=list)

    def begin(self, run_id: str, verb: str, source: str = "west", target: str = "east") -> Story:
        return self.write(run_id, RunBegun(verb=verb, source=source, target=target))

    def end(self, run_id: str, outcome: str = "ok") -> Story:
        return self.write(run_id, RunEnded(outcome=outcome))

    def move(self, run_id: str, primary: str, *topics: Topic) -> Story:
        for home in sorted({home for home, _ in topics}):
            names = tuple(name for at, name in topics if at == home)
            self.write(run_id, PrimaryMoved(home=home, primary=primary, topics=names))
        return self

    def deny(self, run_id: str, *topics: Topic, at: str = "west") -> Story:
        principals = tuple(map(writer_of, topics))
        return self.write(run_id, DenialInForce(cluster=at, topics=topics, principals=principals))

    def lift(self, run_id: str, *topics: Topic, at: str = "west") -> Story:
        return self.write(run_id, DenialLifted(cluster=at, topics=topics))

    def write(self, run_id: str, body: Body) -> Story:
        number = len(self.facts) + 1
        self.facts.append(Fact(number=number, run_id=run_id, at_s=0.0, body=body))
        return self

    def withdraw(self, run_id: str, *kinds: type[Body]) -> Story:
        """All that a run has written of these kinds."""
        own = [fact for fact in self.facts if fact.run_id == run_id and isinstance(fact.body, kinds)]
        for fact in own:
            self.write(run_id, Withdrawn(number=fact.number))
        return self

    def word(
        self, cluster: str = "west", topics: Iterable[Topic] = TOPICS, *, disk: Disk | None = None
    ) -> BootGuardStatus:
        """What guards of a cluster are told now."""
        writers = {topic: WRITERS[topic] for topic in topics}
        return boot_guard_status(cluster, writers, self.facts, disk=disk or Disk())
