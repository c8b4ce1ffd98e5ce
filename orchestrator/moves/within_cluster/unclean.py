"""Who is to lead where every replica in sync is lost: whoever has most, and what it lacks. Pure.

Rules (facts: Kafka, "Data rules" and "An unclean leader can be chosen"): of two replicas the one with the
higher leader epoch has more, and of one epoch the one with the longer log. Kafka elects the first living
replica of the assignment, so whoever is to lead is put first.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from orchestrator.moves.within_cluster.order import Assigned, Replicas, assigned
from orchestrator.moves.within_cluster.writes import all_away
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Placement
from orchestrator.runs.gate import absent, asked_again, gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.values import ReplicaEnd, TopicPartition
from orchestrator.wording import listed, plural

Ends = Mapping[TopicPartition, Mapping[int, ReplicaEnd | str]]
"""By partition and broker where a replica's log ends, or why nobody can tell."""
AcceptUnclean = int | Literal["all"]


@dataclass(frozen=True, slots=True)
class Choice:
    """Who is to lead a partition, where its log ends, and the order of the assignment with it in front."""

    partition: TopicPartition
    broker: int
    end: ReplicaEnd
    order: Replicas

    def lacks(self, now_s: float) -> int | None:
        """About how many acknowledged records it lacks; None where that cannot be told.

        As many as came in a second while its broker followed, for each second since then. Times of records
        are those of producers' clocks.
        """
        if self.end.followed_until_s is None or self.end.records_per_s is None:
            return None
        return math.ceil(max(0.0, now_s - self.end.followed_until_s) * self.end.records_per_s)

    def in_words(self, now_s: float) -> str:
        """For a sentence."""
        lacks, at_s = self.lacks(now_s), self.end.followed_until_s
        last = "" if at_s is None else f", and followed until {max(0.0, now_s - at_s):.0f} s ago"
        about = "how many are lost cannot be told" if lacks is None else f"about {lacks:,} are lost"
        who = f"broker {self.broker} has most, {self.end.log_end:,} records of epoch {self.end.leader_epoch}"
        return f"{self.partition} ({who}{last}; {about})"


def led_by_nobody(placement: Placement) -> list[Assigned]:
    """Partitions of which no replica in sync is up, though another one is."""
    return [one for one in assigned(placement) if one.living and not one.in_sync]


def choices(stuck: Iterable[Assigned], ends: Ends) -> tuple[list[Choice], list[str]]:
    """Who is to lead each of these, and of which that is not known, with why: all that are up are asked."""
    found: list[Choice] = []
    unknown: list[str] = []
    for one in stuck:
        living = [broker for broker in one.replicas if broker in one.living]
        told = ends.get(one.partition, {})
        silent = [f"broker {b}: {told.get(b, 'was not asked')}" for b in living if not _is_end(told.get(b))]
        if silent:
            unknown.append(f"{one.partition} ({'; '.join(silent)})")
            continue
        by_broker = {broker: end for broker in living if isinstance(end := told[broker], ReplicaEnd)}
        # Of equal ones whoever stands first already.
        best = max(living, key=lambda broker: by_broker[broker].reaches)
        order = (best, *(broker for broker in one.replicas if broker != best))
        found.append(Choice(one.partition, best, by_broker[best], order))
    return found, unknown


def _is_end(told: ReplicaEnd | str | None) -> bool:
    return isinstance(told, ReplicaEnd)


def as_if_led(placement: Placement, partitions: Collection[TopicPartition]) -> Placement:
    """The same once these have a leader: all of their replicas that are up follow it, and are in sync."""
    topics = dict(placement.topics)
    for name in {tp.topic for tp in partitions}:
        topic = topics[name]
        rows = enumerate(zip(topic.isr, topic.replicas, strict=True))
        isr = (
            placement.living.intersection(replicas) if TopicPartition(name, number) in partitions else isr
            for number, (isr, replicas) in rows
        )
        topics[name] = replace(topic, isr=tuple(map(tuple, isr)))
    return replace(placement, topics=topics)


@asked_again()
def clean_leaders(
    placement: Part[Placement],
    ends: Part[Ends],
    cluster: str,
    accepted: AcceptUnclean | None,
    now_s: float,
) -> GateResult:
    """Each partition has a replica in sync that is up; or a person accepts what another leader lacks."""
    limit = f"each partition of {cluster} has a replica in sync that is up"
    if accepted is not None:
        limit += f", or lacks no more than {accepted if accepted == 'all' else f'{accepted:,}'} records"
    if placement.value is None:
        return absent("clean-leaders", placement, limit)
    stuck = led_by_nobody(placement.value)
    measured = f"{plural(len(stuck), 'partition')} without a replica in sync that is up"
    if not stuck:
        away = all_away(placement.value)
        told = f"; no replica at all is up of {listed(map(str, away))}, which waits for it" if away else ""
        return gate_result("clean-leaders", "ok", measured, limit, f"{limit}{told}")
    hint = "bring back a broker that was in sync, or let whoever has most lead: --accept-unclean N, or all"
    if ends.value is None:
        return absent("clean-leaders", ends, limit)
    found, unknown = choices(stuck, ends.value)
    if unknown:
        reason = f"who has most is not known: {listed(unknown)}"
        hint = "every replica that is up has to be asked: bring its broker into order, or stop it"
        return gate_result("clean-leaders", "unknown", measured, limit, reason, hint)
    # What is not known may be the worst.
    found.sort(key=lambda choice: -math.inf if (lacks := choice.lacks(now_s)) is None else -lacks)
    lacks = [choice.lacks(now_s) for choice in found]
    known = sum(count for count in lacks if count is not None)
    reason = f"no replica in sync is up: {listed(choice.in_words(now_s) for choice in found)}"
    if accepted == "all" or (accepted is not None and None not in lacks and known <= accepted):
        return gate_result("clean-leaders", "ok", f"{measured}, about {known:,} records lost", limit, reason)
    total = f"about {known:,} records" + (", and others that cannot be told," if None in lacks else "")
    if accepted is not None:
        reason = f"{total} would be lost, and {accepted:,} are accepted: {reason}"
    return gate_result("clean-leaders", "refused", f"{measured}, {total} lost", limit, reason, hint)
