"""Where applications go when their cluster is left: that a way leads there, and what they read then."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.topology.counterparts import counterparts_read, origin_of
from orchestrator.topology.landing import copy_at_home, shared_landings
from orchestrator.topology.model import Consumer, Producer, Topology
from orchestrator.topology.rules.rule import Finding, Rule, nearest, quoted, rule
from orchestrator.topology.source import Path
from orchestrator.topology.standby import READ, standby_of

# More choices in one hint are no help.
_NAMED = 3


@rule(
    "standby-elsewhere",
    "error",
    "A standby is another cluster",
    "Whoever leaves a cluster cannot go on there.",
)
def standby_elsewhere(topology: Topology) -> Iterator[Finding]:
    """A cluster or an application that names its own cluster."""
    for name, cluster in topology.clusters.items():
        if cluster.standby == name:
            message = f"cluster `{name}` is named as its own standby"
            yield Finding(("clusters", name, "standby"), message, "name another cluster, or leave it out")
    for path, application in _applications(topology):
        if application.standby == application.cluster:
            message = f"`{application.name}` works at `{application.cluster}`, and is to go there"
            yield Finding((*path, "standby"), message, "name another cluster, or leave it out")


@rule(
    "standby-route",
    "error",
    "Where applications go, their topics are",
    "A position is led to a topic with the same records, and what a producer writes there has to find its "
    "readers.",
    needs_sound=True,
)
def standby_route(topology: Topology) -> Iterator[Finding]:
    """A standby, said of an application or of its cluster, without what the application reads or writes."""
    for path, application in _applications(topology):
        at = _said_at(topology, path, application)
        entered = standby_of(topology, application)
        if at is None or entered is None or entered == application.cluster:
            continue
        if isinstance(application, Consumer):
            yield from _unread(topology, application, entered, at)
        else:
            yield from _unwritten(topology, application, entered, at)


def _unread(topology: Topology, consumer: Consumer, entered: str, at: Path) -> Iterator[Finding]:
    """Topics of a consumer that have no counterpart where it goes."""
    home = topology.names_at(consumer.cluster)
    for name, counterpart in counterparts_read(topology, consumer, entered):
        # One that is not here yet is where producers will write: it holds nothing to be led anywhere.
        if counterpart is None and name in home:
            origin = origin_of(topology, name, consumer.cluster)
            message = (
                f"`{consumer.name}` would go to `{entered}`, where no topic has the records of "
                f"`{name}` at `{consumer.cluster}`"
            )
            hint = (
                f"mirror `{origin.topic}` from `{origin.cluster}` to `{entered}`, or name another standby"
                if origin
                else "name another standby"
            )
            yield Finding(at, message, hint)


def _unwritten(topology: Topology, producer: Producer, entered: str, at: Path) -> Iterator[Finding]:
    """Topics of a producer that no mirror brings where it goes, and that are not there either."""
    missing = [
        name
        for name in producer.topics
        if not topology.is_mirrored(name, producer.cluster, entered) and topology.topic(name, entered) is None
    ]
    if missing:
        message = (
            f"`{producer.name}` would go to `{entered}`, which has neither a copy nor a topic "
            f"of its own of {quoted(missing)}"
        )
        hint = f"mirror it from `{producer.cluster}` to `{entered}`, or name another standby"
        yield Finding(at, message, hint)


@rule(
    "standby-unsaid",
    "warning",
    "Where several mirrors lead out of a cluster, the file says where its applications go",
    "dcctl chooses none of several clusters: an application without a standby waits until its own is back.",
    needs_sound=True,
)
def standby_unsaid(topology: Topology) -> Iterator[Finding]:
    """Applications at the source of several mirrors; at an aggregation's sources staying is usual."""
    if topology.layout == "aggregation":
        return
    for name in topology.clusters:
        targets = [mirror.target for mirror in topology.replication if mirror.source == name]
        staying = [
            application.name
            for _, application in _applications(topology)
            if application.cluster == name and standby_of(topology, application) is None
        ]
        if len(targets) > 1 and staying:
            message = (
                f"mirrors lead from `{name}` to {quoted(targets)}; nothing says where {quoted(staying)} go"
            )
            yield Finding(("clusters", name), message, f"add standby: {' or '.join(targets)}")


@rule(
    "landing-said",
    "error",
    "Where others write the topic that a moved consumer reads, the file says whose the new records are",
    "If it reads them all, it reads those of others too; if it reads none, somebody else must read its own.",
    needs_sound=True,
)
def landing_said(topology: Topology) -> Iterator[Finding]:
    """Consumers without `landing` that share a landing topic."""
    for index, consumer in enumerate(topology.consumers):
        shared = shared_landings(topology, consumer)
        if not shared or consumer.landing is not None:
            continue
        entered = str(standby_of(topology, consumer))
        readers = [one.name for one in topology.consumers_of(entered) if _reads(topology, one, shared)]
        message = (
            f"`{consumer.name}` would go to `{entered}`, where others write {quoted(shared)} too; "
            "`landing` does not say whose the new records are"
        )
        choices = [
            "landing: read (it reads them all)",
            *(f"landing: {name} (they are for that one)" for name in readers[:_NAMED]),
            *_by_copy(topology, consumer, entered, shared),
        ]
        yield Finding(("consumers", index), message, f"say {', or '.join(choices)}")


def _by_copy(topology: Topology, consumer: Consumer, entered: str, shared: tuple[str, ...]) -> Iterator[str]:
    copies = [copy_at_home(topology, name, consumer.cluster, entered) for name in shared]
    if all(copies):
        yield f"let it read {quoted(map(str, copies))} at `{consumer.cluster}` too"


def _reads(topology: Topology, consumer: Consumer, names: tuple[str, ...]) -> bool:
    return set(names) <= set(topology.topics_read(consumer))


@rule(
    "landing-reader",
    "error",
    "`landing` names a consumer that reads the topic where the other one goes",
    "New records that nobody reads are lost to the application.",
    needs_sound=True,
)
def landing_reader(topology: Topology) -> Iterator[Finding]:
    """A name that is no consumer's, of one that works elsewhere, or of one that does not read the topic."""
    known = {consumer.name: consumer for consumer in topology.consumers}
    for index, consumer in enumerate(topology.consumers):
        shared = shared_landings(topology, consumer)
        if consumer.landing in (None, READ) or not shared:
            continue
        entered, other = str(standby_of(topology, consumer)), known.get(str(consumer.landing))
        at: Path = ("consumers", index, "landing")
        there = [one.name for one in topology.consumers_of(entered) if _reads(topology, one, shared)]
        if other is None:
            hint = nearest(str(consumer.landing), there) if there else "say landing: read"
            yield Finding(at, f"there is no consumer `{consumer.landing}`", hint)
        elif other.name not in there:
            message = (
                f"`{other.name}` does not read {quoted(shared)} at `{entered}`, where `{consumer.name}` goes"
            )
            hint = f"name one that does: {quoted(there)}; or say landing: read"
            yield Finding(at, message, hint if there else "say landing: read")


@rule(
    "landing-unneeded",
    "warning",
    "`landing` is said where it decides something",
    "Where nobody else writes the topic, or the consumer reads the others' records at home too, it reads all "
    "new records anyway.",
    needs_sound=True,
)
def landing_unneeded(topology: Topology) -> Iterator[Finding]:
    """`landing` of a consumer that goes nowhere, or that shares no landing topic."""
    for index, consumer in enumerate(topology.consumers):
        if consumer.landing is None or shared_landings(topology, consumer):
            continue
        entered = standby_of(topology, consumer)
        message = (
            f"`{consumer.name}` goes nowhere when `{consumer.cluster}` is left"
            if entered is None
            else f"`{consumer.name}` shares no topic with others once it is at `{entered}`"
        )
        hint = "leave landing out" if entered else "say standby, or leave landing out"
        yield Finding(("consumers", index, "landing"), f"{message}: `landing` decides nothing", hint)


def _applications(topology: Topology) -> Iterator[tuple[Path, Consumer | Producer]]:
    for index, producer in enumerate(topology.producers):
        yield ("producers", index), producer
    for index, consumer in enumerate(topology.consumers):
        yield ("consumers", index), consumer


def _said_at(topology: Topology, path: Path, application: Consumer | Producer) -> Path | None:
    """Where the file says an application's standby; None where it says none."""
    if application.standby is not None:
        return (*path, "standby")
    if topology.clusters[application.cluster].standby is not None:
        return ("clusters", application.cluster, "standby")
    return None


RULES: tuple[Rule, ...] = (
    standby_elsewhere,
    standby_route,
    standby_unsaid,
    landing_said,
    landing_reader,
    landing_unneeded,
)
