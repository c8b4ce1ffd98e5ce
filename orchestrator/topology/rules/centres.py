"""Sources of an aggregation that the file sends into a centre: who reads what lands there, who writes it."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.topology.counterparts import origin_of
from orchestrator.topology.landing import reads_landing
from orchestrator.topology.model import Consumer, Topology
from orchestrator.topology.rules.rule import Finding, Rule, quoted, rule
from orchestrator.topology.source import Path
from orchestrator.topology.standby import standby_of


@rule(
    "landing-read",
    "warning",
    "Who reads a source's copies also reads what its producers write once they have moved",
    "New records stand under another name then, and a consumer that does not read it would miss them: dcctl "
    "refuses such a move.",
    needs_sound=True,
)
def landing_read(topology: Topology) -> Iterator[Finding]:
    """Consumers of copies, of sources whose producers go into a centre."""
    for index, consumer in enumerate(topology.consumers):
        for home, entered, names in _landings(topology, consumer):
            is_here = entered == consumer.cluster
            unread = [name for name in names if not (is_here and reads_landing(consumer, name))]
            if unread:
                message = (
                    f"`{consumer.name}` reads copies of `{home}`, and not {quoted(unread)} at `{entered}`, "
                    f"which producers of `{home}` write once they have moved there"
                )
                hint = (
                    f"let it read {quoted(unread)} too, by name or by a pattern such as (.*\\.)?orders"
                    if is_here
                    else "a move needs --accept-unread"
                )
                yield Finding(("consumers", index), message, hint)


def _landings(topology: Topology, consumer: Consumer) -> Iterator[tuple[str, str, list[str]]]:
    """Where the producers of what a consumer reads as copies would go, with the topics they would write."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    if not topology.is_laid_out({"aggregation"}):
        return
    for copy in topology.topics_read(consumer):
        origin = origin_of(topology, copy, consumer.cluster)
        if origin is None or origin.cluster == consumer.cluster:
            continue
        for producer in topology.producers_of(origin.cluster):
            entered = standby_of(topology, producer)
            if entered is not None and origin.topic in producer.topics:
                found.setdefault((origin.cluster, entered), {})[origin.topic] = None
    for (home, entered), names in found.items():
        yield home, entered, list(names)


@rule(
    "landing-alone",
    "warning",
    "One source writes a topic at a centre",
    "On the way home nobody could tell whose a record is. dcctl moves one source at a time there, and none "
    "where the centre has such a topic of its own.",
    needs_sound=True,
)
def landing_alone(topology: Topology) -> Iterator[Finding]:
    """Two sources whose producers would write one topic, and a centre that has a topic of that name."""
    first: dict[tuple[str, str], str] = {}
    for home, entered, name, at in _written(topology):
        other = first.setdefault((entered, name), home)
        if topology.topic(name, entered) is not None:
            message = f"`{home}` would go to `{entered}`, which has a topic `{name}` of its own"
            yield Finding(at, message, "give one of the topics another name, or name another standby")
        elif other != home:
            message = (
                f"`{other}` and `{home}` would both write `{name}` at `{entered}`: only one goes at a time"
            )
            yield Finding(at, message, "give one of them another standby, or none")


def _written(topology: Topology) -> Iterator[tuple[str, str, str, Path]]:
    """Home, cluster entered and topic, of each topic that the file's producers would write at a centre."""
    seen = set()
    for producer in topology.producers if topology.is_laid_out({"aggregation"}) else ():
        entered = standby_of(topology, producer)
        for name in producer.topics if entered is not None else ():
            if entered is not None and (producer.cluster, entered, name) not in seen:
                seen.add((producer.cluster, entered, name))
                yield producer.cluster, entered, name, ("clusters", producer.cluster)


RULES: tuple[Rule, ...] = (landing_read, landing_alone)
