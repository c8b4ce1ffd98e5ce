"""What is left of a sick cluster: which brokers answer, what they lead, and where its logs end. Pure.

What does not answer is named with its reason, and never taken for something that is not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.ports.part import Part
from orchestrator.snapshot.observation import AccessState
from orchestrator.values import BrokerView, LogEnd, TopicPartition
from orchestrator.wording import listed

_LISTED = 4


@dataclass(frozen=True, slots=True)
class PartialPartition:
    """One partition of a sick cluster. `leader` is -1 for none.

    `log` is None exactly if it could not be read; then `problem` says why. `log_end` is where it ends at its
    leader, which may be beyond what can be read; None where nobody tells it.
    """

    leader: int
    in_sync: int
    log: LogEnd | None = None
    problem: str = ""
    log_end: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialView:
    """A cluster asked broker by broker.

    `brokers`: id -> address of those that answer; `silent`: address -> why it does not. `access` says who
    is above its rules, `controller` who can write rules. `committed` is what groups have committed there, as
    far as their coordinators tell it. `cluster_id`: None where no broker answers, empty where it tells none.
    """

    brokers: Mapping[int, str]
    silent: Mapping[str, str]
    partitions: Mapping[TopicPartition, PartialPartition]
    controller: Part[str]
    access: Part[AccessState]
    committed: Mapping[str, Mapping[TopicPartition, int]]
    cluster_id: str | None = None

    @property
    def logs(self) -> dict[TopicPartition, LogEnd]:
        """Those that could be read."""
        return {tp: found.log for tp, found in self.partitions.items() if found.log is not None}

    @property
    def whole_logs(self) -> dict[TopicPartition, LogEnd]:
        """Those that could be read and whose leaders told where they end, up to there."""
        return {
            tp: found.log._replace(end_offset=max(found.log.end_offset, found.log_end))
            for tp, found in self.partitions.items()
            if found.log is not None and found.log_end is not None
        }

    @property
    def unread(self) -> dict[TopicPartition, str]:
        """Partitions whose log could not be read, and why."""
        return {tp: found.problem for tp, found in self.partitions.items() if found.log is None}


def answering(views: Mapping[str, BrokerView]) -> dict[int, str]:
    """Id and address of each broker that answered, from what each address said."""
    found = {view.broker_id: address for address, view in views.items() if view.broker_id >= 0}
    return {number: found[number] for number in sorted(found)}


def places_of(
    views: Iterable[BrokerView], partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, PartialPartition]:
    """Each partition's leader, as far as those that answer agree. None has a log yet.

    A broker that says of itself that it leads is believed first: the others may not have heard of it.
    """
    views = sorted(views, key=lambda view: view.broker_id)
    own = {view.broker_id for view in views}
    found = {}
    for tp in partitions:
        places = [(view.broker_id, view.partitions[tp]) for view in views if tp in view.partitions]
        if not places:
            found[tp] = PartialPartition(-1, 0, None, "no broker that answers knows of it")
            continue
        claimed = [place for broker, place in places if place.leader == broker >= 0]
        # Whoever knows of a living leader knows more than one that has not heard of the election.
        living = [place for _, place in places if place.leader in own]
        place = (claimed or living or [place for _, place in places])[0]
        problem = "" if place.leader in own else _leaderless(place.leader)
        found[tp] = PartialPartition(place.leader, len(place.isr), None, problem)
    return found


def named(found: Mapping[TopicPartition, Any]) -> str:
    """The first few partitions, each with what is said of it, and how many more there are."""
    return listed((f"{tp} ({why})" for tp, why in sorted(found.items())), _LISTED)


def _leaderless(leader: int) -> str:
    return "it has no leader" if leader < 0 else f"its leader, broker {leader}, does not answer"
