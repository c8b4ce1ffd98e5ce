"""Which applications a loss stops, and where each would go on by the file."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from orchestrator.topology.durability.values import ApplicationFate
from orchestrator.topology.flows import Consumer, Producer
from orchestrator.topology.landing import shared_landings, topics_there
from orchestrator.topology.model import Topology
from orchestrator.topology.standby import READ, standby_of
from orchestrator.wording import listed

_TOPICS_NAMED = 3


def applications_after(topology: Topology, gone: Collection[str]) -> tuple[ApplicationFate, ...]:
    """The applications of clusters of which no broker is left, in file order, producers first."""
    applications: tuple[Producer | Consumer, ...] = (*topology.producers, *topology.consumers)
    return tuple(_fate(topology, one, gone) for one in applications if one.cluster in gone)


def _fate(topology: Topology, one: Producer | Consumer, gone: Collection[str]) -> ApplicationFate:
    entered = standby_of(topology, one)
    kind = one.kind if isinstance(one, Consumer) else "producer"
    if entered is None or entered in gone:
        why = (
            f"the file names no standby for {one.name}"
            if entered is None
            else f"{entered}, the standby of {one.name}, is lost too"
        )
        reason = f"{why}: it waits until {one.cluster} is back"
        return ApplicationFate(one.name, kind, one.cluster, None, (), reason)
    topics = topics_there(topology, one) if isinstance(one, Consumer) else one.topics
    verb = "reads" if isinstance(one, Consumer) else "writes"
    told = listed(topics, _TOPICS_NAMED) or "no topic"
    told = f"{one.name} goes to {entered}, and {verb} {told} there"
    reason = "; ".join(
        [told, *_about_landing(topology, one, entered), *_beside(topology, one, entered, gone)]
    )
    return ApplicationFate(one.name, kind, one.cluster, entered, topics, reason)


def _beside(
    topology: Topology, one: Producer | Consumer, entered: str, gone: Collection[str]
) -> Iterator[str]:
    """Of an aggregation's sources one at a time writes a topic at a centre."""
    if not isinstance(one, Producer) or not topology.is_laid_out({"aggregation"}):
        return
    others = dict.fromkeys(
        other.cluster
        for other in topology.producers
        if other.cluster in gone and other.cluster != one.cluster and standby_of(topology, other) == entered
        if set(other.topics) & set(one.topics)
    )
    if others:
        yield f"only one source at a time goes there with it: {one.cluster}, or {listed(others)}"


def _about_landing(topology: Topology, one: Producer | Consumer, entered: str) -> Iterator[str]:
    """Whose records it reads or leaves in topics that others write as well."""
    shared = shared_landings(topology, one) if isinstance(one, Consumer) else ()
    if isinstance(one, Consumer) and shared:
        names = listed(shared, _TOPICS_NAMED)
        if one.landing == READ:
            yield f"{names} with the records of {entered}'s own producers"
        else:
            yield f"new records in {names} are for {one.landing}"
