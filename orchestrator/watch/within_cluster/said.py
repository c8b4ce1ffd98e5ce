"""What a watcher of one cluster says in the ensemble: its newest reading in short, and the events. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from orchestrator.moves.within_cluster.order import only_site
from orchestrator.moves.within_cluster.preferred import displaced_one
from orchestrator.ports.told_metadata import PartitionTold
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition
from orchestrator.watch.within_cluster.reading import Reading
from orchestrator.watch.within_cluster.story import Event, Kind, Story
from orchestrator.wording import listed, plural

FORMAT_VERSION = 1
# A znode holds less than 1 MB: what differs from whole is told by name up to so many partitions.
_NAMED = 500
_ENDED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class NotWhole:
    """A partition that is not led, or of which a replica is not in sync."""

    partition: str
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    eligible: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One reading in short. `told_by` is None where no broker answered; then the counts are None as well.

    `leads`: partitions by the broker that leads them. `not_whole` are the first of those that are not whole,
    of which there are `not_led` and `not_in_sync`; `in_one_site`: those whose replicas in sync all stand at
    one site, of replicas at several; `not_preferred`: those that another replica leads than the first, which
    could lead. Both mean what they mean in `status`.
    """

    at_s: float
    told_by: int | None
    problem: str = ""
    registered: tuple[int, ...] = ()
    brokers: Mapping[str, bool | None] = field(default_factory=dict)
    sites: Mapping[str, str] = field(default_factory=dict)
    voters: Mapping[str, bool | None] = field(default_factory=dict)
    controller: str = ""
    partitions: int | None = None
    not_led: int | None = None
    not_in_sync: int | None = None
    in_one_site: int | None = None
    not_preferred: int | None = None
    leads: Mapping[str, int] = field(default_factory=dict)
    not_whole: tuple[NotWhole, ...] = ()
    unasked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WatcherSaid:
    """The newest word of one watcher: at which site and host it runs, what it saw, and what has happened."""

    site: str
    host: str
    watcher: str
    cluster_id: str
    seen: Seen
    going_on: tuple[Event, ...] = ()
    ended: tuple[Event, ...] = ()
    format_version: int = FORMAT_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class _Events:
    """The events of a watcher, which change seldom, apart from its reading, which changes all the time."""

    going_on: tuple[Event, ...]
    ended: tuple[Event, ...]
    format_version: int = FORMAT_VERSION


_SAID: TypeAdapter[WatcherSaid] = TypeAdapter(WatcherSaid)
_EVENTS: TypeAdapter[_Events] = TypeAdapter(_Events)
_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


def said_path(topology: str, cluster: str) -> str:
    """Where the watcher at each site says what it saw last."""
    return f"/dcctl/{topology}/watchers/{cluster}"


def encode(said: WatcherSaid) -> tuple[bytes, bytes]:
    """As it lies in the ensemble: the reading, and the events in a node below it (`events_path`)."""
    events = _Events(going_on=said.going_on, ended=said.ended)
    return _SAID.dump_json(said, exclude={"going_on", "ended"}), _EVENTS.dump_json(events)


def decode(value: bytes, events: bytes) -> WatcherSaid | None:
    """None for what a newer version, or nobody who knows the format, has written."""
    try:
        said, told = _SAID.validate_json(value), _EVENTS.validate_json(events)
    except ValidationError:
        return None
    return replace(said, going_on=told.going_on, ended=told.ended)


def events_path(path: str) -> str:
    """Where the events are of the watcher that says its readings at `path`."""
    return f"{path}/events"


def event_as_json(event: Event) -> dict[str, Any]:
    """Plain data, as `--json` prints it."""
    found: dict[str, Any] = _EVENT.dump_python(event, mode="json")
    ended = None if event.ended is None else event.ended._asdict()
    return {**found, "begun": event.begun._asdict(), "ended": ended}


def in_short(reading: Reading) -> Seen:
    """One reading without what is as it should be."""
    brokers = {str(number): seen.is_up for number, seen in sorted(reading.brokers.items())}
    voters = {name: seen.is_up for name, seen in sorted(reading.voters.items())}
    sites = {str(number): site for number, site in sorted(reading.sites.items())}
    seen = Seen(
        at_s=reading.ended_at_s,
        told_by=reading.told_by,
        problem=reading.problem,
        brokers=brokers,
        sites=sites,
        voters=voters,
        unasked=reading.unasked,
    )
    if not reading.has_answer:
        return seen
    rows = sorted(reading.partitions.items())
    not_led = [tp for tp, told in rows if not reading.is_led(told)]
    behind = [tp for tp, told in rows if not reading.in_sync(told) >= set(told.replicas)]
    leads = Counter(str(told.leader) for _, told in rows if told.leader >= 0)
    return Seen(
        at_s=seen.at_s,
        told_by=seen.told_by,
        brokers=brokers,
        sites=sites,
        voters=voters,
        unasked=reading.unasked,
        registered=tuple(sorted(reading.registered)),
        controller=reading.controller,
        partitions=len(rows),
        not_led=len(not_led),
        not_in_sync=len(behind),
        in_one_site=sum(
            bool(only_site(told.replicas, reading.in_sync(told), reading.sites)) for _, told in rows
        ),
        not_preferred=sum(_could_be_led(reading, tp, told) for tp, told in rows),
        leads=dict(sorted(leads.items())),
        not_whole=_not_whole(reading, {*not_led, *behind}),
    )


def _could_be_led(reading: Reading, tp: TopicPartition, told: PartitionTold) -> bool:
    """Whether the preferred replica does not lead, and would if it were elected now."""
    row = displaced_one(tp, told.replicas, told.leader, told.isr, reading.registered)
    return row is not None and row.could_lead


def _not_whole(reading: Reading, which: Iterable[TopicPartition]) -> tuple[NotWhole, ...]:
    return tuple(
        NotWhole(
            partition=str(tp),
            leader=reading.partitions[tp].leader,
            replicas=reading.partitions[tp].replicas,
            isr=reading.partitions[tp].isr,
            eligible=reading.eligible.get(tp, ()),
        )
        for tp in sorted(which)[:_NAMED]
    )


def said_of(story: Story, reading: Reading, *, site: str, host: str, watcher: str) -> WatcherSaid:
    """What is to be said after a reading."""
    return WatcherSaid(
        site=site,
        host=host,
        watcher=watcher,
        cluster_id=reading.cluster_id,
        seen=in_short(reading),
        going_on=tuple(story.going_on.values()),
        ended=story.ended[-_ENDED:],
    )


def resumed(said: WatcherSaid) -> Story:
    """Where a watcher goes on that follows another one at its site."""
    return Story(
        going_on={event.key: event for event in said.going_on},
        ended=said.ended,
        resumed_s=said.seen.at_s,
    )


def main_sites(topology: Topology, cluster: str) -> tuple[str, ...]:
    """Sites at which a watcher runs: those that have brokers."""
    return tuple(topology.clusters[cluster].brokers_per_dc)


def in_words(event: Event, now_s: float) -> str:
    """One event as a sentence that means something alone."""
    took = f"{event.seconds(now_s):.1f} s"
    for_ = f"for {took}" if event.ended else f"for {took} so far"
    where = f"{event.subject} ({event.site})" if event.site else event.subject
    many = plural(event.partitions, "partition")
    sentences: dict[Kind, str] = {
        "no-answer": f"no broker told anything of the cluster {for_}",
        "broker-down": f"{where} took no connections {for_}",
        "broker-fenced": f"{where} was not among the brokers that the cluster takes for living {for_}",
        "voter-down": f"{where} was down {for_}",
        "no-controller": f"nobody was the active controller {for_}: nobody could be elected",
        "controller-moved": _moved(event, took),
        "leaders-moved": _elected(event),
        "not-in-sync": f"{where}: replicas of {many} were not in sync {for_}",
    }
    return sentences[event.kind]


def _moved(event: Event, took: str) -> str:
    again = event.before == event.now
    what = f"{event.now} was elected again" if again else f"from {event.before} to {event.now}"
    return f"active controller: {what}; none for {took}"


def _elected(event: Event) -> str:
    led = f"; nobody led them for up to {event.not_led_s:.1f} s" if event.not_led_s else ""
    if event.ended is None:
        return f"of {plural(event.partitions, 'partition')} not all are led: {listed(event.named)}{led}"
    return f"{plural(event.partitions, 'partition')} led by others{led}; now by {event.now or 'nobody'}"
