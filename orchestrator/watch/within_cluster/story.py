"""What has happened to a cluster, by one reading after the other: events with their durations. Pure.

An event lies between readings: surely after the last one in which it was not so, and by the first one in
which it was. What a reading cannot tell changes nothing: an event that goes on goes on, and none begins.
Nobody is said to be well because nobody was seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, get_args

from orchestrator.values import TopicPartition
from orchestrator.watch.within_cluster.reading import Reading

Kind = Literal[
    "no-answer",
    "broker-down",
    "broker-fenced",
    "voter-down",
    "no-controller",
    "controller-moved",
    "leaders-moved",
    "not-in-sync",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
SILENT_FOR_S = 2.5
"""One round without an answer is no event: a busy machine, or the broker that was asked has just gone."""
_KEPT = 200
_NAMED = 8
# Elections that follow each other so closely are one event.
_ONE_ELECTION_S = 2.0


class Moment(NamedTuple):
    """Surely after `after_s` (None where nobody had looked before), and surely by `by_s`."""

    after_s: float | None
    by_s: float


class Key(NamedTuple):
    """What can go on once at a time."""

    kind: Kind
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that went on, or goes on while `ended` is None.

    `partitions`: how many it concerned, `named` the first of them. `not_led_s`: how long at the longest a
    partition had no leader that was up. `before` and `now`: the controller, or who leads, by broker.
    """

    kind: Kind
    subject: str
    begun: Moment
    ended: Moment | None = None
    site: str = ""
    partitions: int = 0
    named: tuple[str, ...] = ()
    not_led_s: float = 0.0
    before: str = ""
    now: str = ""

    @property
    def key(self) -> Key:
        """What it is about."""
        return Key(self.kind, self.subject)

    def seconds(self, now_s: float) -> float:
        """How long it took, or has been going on by now."""
        return max(0.0, (now_s if self.ended is None else self.ended.by_s) - self.begun.by_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """All that has to be remembered between two readings.

    `going_on` and `ended`: the events, the newest ended one last. `known_s`: when each thing was told of
    last; `resumed_s`: up to when an earlier watcher has told. `not_led`: since when each partition is not
    led, `moved` those of the election under way. `opened`: when a broker that was down took a connection
    first: one is no end, two in a row are.
    """

    going_on: Mapping[Key, Event] = field(default_factory=dict)
    ended: tuple[Event, ...] = ()
    known_s: Mapping[Key, float] = field(default_factory=dict)
    resumed_s: float | None = None
    leaders: Mapping[TopicPartition, int] = field(default_factory=dict)
    not_led: Mapping[TopicPartition, Moment] = field(default_factory=dict)
    moved: frozenset[TopicPartition] = frozenset()
    told_s: float | None = None
    controller: tuple[str, int] = ("", -1)
    controller_seen_s: float | None = None
    controller_lost: Moment | None = None
    silent_since: Moment | None = None
    asked_s: float | None = None
    opened: Mapping[Key, Moment] = field(default_factory=dict)

    def of(self, kind: Kind) -> list[Event]:
        """Events of one kind, those that have ended first."""
        every = (*self.ended, *self.going_on.values())
        return [event for event in every if event.kind == kind]


class _Holds(NamedTuple):
    """Whether something is so (None: nobody can tell), since when, and what is told of it."""

    is_so: bool | None
    begun: Moment | None = None
    partitions: tuple[TopicPartition, ...] = ()
    site: str = ""


def after_reading(story: Story, reading: Reading) -> Story:
    """The story with one more reading."""
    story = _silence(story, reading)
    story = _controller(story, reading)
    holds = dict(_servers(reading)) | dict(_cluster(story, reading))
    for key in story.going_on.keys() - holds.keys():
        # A broker or voter that belongs to the cluster no more; where nobody tells of any, nothing is known.
        gone = reading.has_answer and key.kind != "leaders-moved"
        holds[key] = _Holds(False if gone else None)
    for key, found in holds.items():
        story = _settled(story, reading, key, found)
    return replace(_elections(story, reading), asked_s=reading.begun_at_s)


def _settled(story: Story, reading: Reading, key: Key, found: _Holds) -> Story:
    """Begin, go on with, or end what one key tells of."""
    if found.is_so is None:
        return story
    known = story.going_on.get(key)
    at = Moment(story.known_s.get(key, story.resumed_s), reading.ended_at_s)
    story = replace(story, known_s={**story.known_s, key: reading.begun_at_s})
    first = story.opened.get(key)
    if first is not None:
        story = replace(story, opened={other: at for other, at in story.opened.items() if other != key})
    if not found.is_so:
        if known is None:
            return story
        if key.kind == "broker-down" and first is None:
            # Somebody else may have taken the port of a broker that is down, for a moment.
            return replace(story, opened={**story.opened, key: at})
        return _ended(story, replace(known, ended=first or at))
    event = known or Event(kind=key.kind, subject=key.subject, begun=found.begun or at, site=found.site)
    if len(found.partitions) > event.partitions:
        named = tuple(map(str, sorted(found.partitions)[:_NAMED]))
        event = replace(event, partitions=len(found.partitions), named=named)
    return replace(story, going_on={**story.going_on, key: event})


def _ended(story: Story, event: Event) -> Story:
    left = {key: other for key, other in story.going_on.items() if key != event.key}
    return replace(story, going_on=left, ended=(*story.ended, event)[-_KEPT:])


def _servers(reading: Reading) -> Iterator[tuple[Key, _Holds]]:
    """Each broker by its port and by what the cluster says, and each voter."""
    lacking: dict[int, list[TopicPartition]] = {}
    for tp, told in reading.partitions.items():
        for number in set(told.replicas) - reading.in_sync(told):
            lacking.setdefault(number, []).append(tp)
    for number in reading.known_brokers:
        subject, site = f"broker {number}", reading.sites.get(number, "")
        seen = reading.brokers.get(number)
        is_down = None if seen is None or seen.is_up is None else not seen.is_up
        yield Key("broker-down", subject), _Holds(is_down, site=site)
        is_fenced = number not in reading.registered if reading.has_answer else None
        yield Key("broker-fenced", subject), _Holds(is_fenced, site=site)
        rows = tuple(lacking.get(number, ()))
        is_behind = bool(rows) if reading.has_answer else None
        yield Key("not-in-sync", subject), _Holds(is_behind, partitions=rows, site=site)
    for name, seen in reading.voters.items():
        begun = None if seen.down_since is None else Moment(*seen.down_since)
        yield Key("voter-down", name), _Holds(None if seen.is_up is None else not seen.is_up, begun)


def _cluster(story: Story, reading: Reading) -> Iterator[tuple[Key, _Holds]]:
    """Whether anybody answers, and whether anybody is the controller: by a silence that lasts."""
    since = story.silent_since
    is_silent = since is not None and reading.ended_at_s - since.by_s >= SILENT_FOR_S
    if is_silent or since is None:
        yield Key("no-answer", "cluster"), _Holds(is_silent, since)
    lost = story.controller_lost
    if not reading.has_answer:
        yield Key("no-controller", "cluster"), _Holds(None)
    elif lost is None or reading.ended_at_s - lost.by_s >= SILENT_FOR_S:
        yield Key("no-controller", "cluster"), _Holds(lost is not None, lost)
    else:
        yield Key("no-controller", "cluster"), _Holds(None)


def _silence(story: Story, reading: Reading) -> Story:
    if reading.has_answer:
        return replace(story, silent_since=None)
    since = story.silent_since or Moment(story.told_s or story.resumed_s, reading.ended_at_s)
    return replace(story, silent_since=since)


def _controller(story: Story, reading: Reading) -> Story:
    """Who is the active controller; that it is another one, or has been elected anew."""
    if not reading.has_answer:
        return story
    found = reading.controller, reading.controller_epoch
    last = reading.voters.get(story.controller[0])
    # A controller that is seen to be down is gone before the quorum has failed to answer.
    is_seen_down = not found[0] and last is not None and last.is_up is False
    by_s = reading.ended_at_s if is_seen_down else reading.controller_at_s or reading.ended_at_s
    now = Moment(story.controller_seen_s or story.resumed_s, by_s)
    if not found[0]:
        return replace(story, controller_lost=story.controller_lost or now)
    if story.controller[0] and story.controller != found:
        event = Event(
            kind="controller-moved",
            subject="cluster",
            begun=story.controller_lost or now,
            ended=now if story.controller_lost is None else Moment(story.asked_s, by_s),
            before=story.controller[0],
            now=found[0],
        )
        story = _ended(story, event)
    return replace(story, controller=found, controller_seen_s=reading.begun_at_s, controller_lost=None)


def _elections(story: Story, reading: Reading) -> Story:
    """Partitions that nobody leads, and those that somebody else leads than before."""
    if not reading.has_answer:
        return story
    at = Moment(story.told_s or story.resumed_s, reading.ended_at_s)
    not_led = {
        tp: story.not_led.get(tp, at) for tp, told in reading.partitions.items() if not reading.is_led(told)
    }
    moved = {
        tp
        for tp, told in reading.partitions.items()
        if tp not in not_led and told.leader != story.leaders.get(tp, told.leader)
    }
    longest_s = max((at.by_s - since.by_s for since in story.not_led.values()), default=0.0)
    leaders = {tp: told.leader for tp, told in reading.partitions.items()}
    story = replace(story, leaders=leaders, told_s=reading.begun_at_s)
    key = Key("leaders-moved", "cluster")
    going_on = story.going_on.get(key)
    if going_on is None and not (not_led or moved):
        return story
    if going_on is None:
        story, going_on = _begun(story, at)
    concerned = story.moved | moved | not_led.keys()
    leading = Counter(f"broker {leaders[tp]}" for tp in concerned if tp in leaders and tp not in not_led)
    event = replace(
        going_on,
        partitions=max(going_on.partitions, len(concerned)),
        named=tuple(map(str, sorted(concerned)[:_NAMED])),
        not_led_s=max(going_on.not_led_s, longest_s),
        now=", ".join(f"{name}: {count}" for name, count in sorted(leading.items())),
    )
    story = replace(story, not_led=not_led, moved=concerned, going_on={**story.going_on, key: event})
    if not_led:
        return story
    return _ended(story, replace(event, ended=at))


def _begun(story: Story, at: Moment) -> tuple[Story, Event]:
    """An election; or the one that has just ended goes on, as preferred leaders come one after the other."""
    key = Key("leaders-moved", "cluster")
    last = next((event for event in reversed(story.ended) if event.key == key), None)
    if last is not None and last.ended is not None and at.by_s - last.ended.by_s <= _ONE_ELECTION_S:
        ended = tuple(event for event in story.ended if event is not last)
        return replace(story, ended=ended), replace(last, ended=None)
    return replace(story, moved=frozenset()), Event(kind=key.kind, subject=key.subject, begun=at)
