"""The estate record: what outlives a run, as typed facts in one order.

Each fact has a number, counted upwards under the topology's lock: it orders everything that moves, and no
wall clock does. A run that had no ensemble names the number that it saw last (`after`); once imported, its
facts stand behind that one, before all that others have written since.

A fact is never changed. `Withdrawn` takes one back, where the effect that wrote it was undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from orchestrator.runs.facts_within_clusters import ClusterFact
from orchestrator.runs.primaries import PrimaryRecord
from orchestrator.runs.stored import stored_as
from orchestrator.values import LogEnd, TopicPartition

# What a later version adds to a fact does not keep this one from reading the rest.
_CONFIG = ConfigDict(extra="ignore")

Rows: TypeAlias = tuple[tuple[str, int, int], ...]
"""[topic, partition, offset], …"""
Topics: TypeAlias = tuple[tuple[str, str], ...]
"""[home, topic], …: each by the cluster that the file gives it."""


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class RecordBegun:
    """The first fact of all: the record holds once it is there. `life` is random.

    The numbers of an ensemble that was made anew begin again, and say nothing of those before.
    """

    life: str


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class JournalUnread:
    """What a run between these clusters had recorded in its old journal could not be read, and why."""

    source: str
    target: str
    problem: str


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class RunBegun:
    """A run is about to make its first effect. Written in one transaction with that step's intent.

    `part`: the applications that it moves, where others stay (None: all; see `EarlierRun`).
    """

    verb: str
    source: str
    target: str
    part: tuple[str, ...] | None = None


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class RunEnded:
    """A run that had begun came to an end; resumed, it may come to another one."""

    outcome: str


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class PrimaryMoved:
    """`primary` is where topics work from here on; `home` is the cluster that the file gives them."""

    home: str
    primary: str
    topics: tuple[str, ...]


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class DenialInForce:
    """Access rules in the metadata of `cluster` keep every writer of topics off, and were seen in force.

    `principals`: who is denied writing.
    """

    cluster: str
    topics: Topics
    principals: tuple[str, ...]


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class DenialLifted:
    """From here on no denial at `cluster` counts for these topics, whoever made it.

    Written before the first of its rules is gone.
    """

    cluster: str
    topics: Topics


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class LogsAtDeparture:
    """How the logs of `cluster` stood when applications left it, as far as they were seen.

    `ends`: [topic, partition, end offset, leader epoch (-1: not known)]. `topic_ids` by topic. `is_part`: of
    some of its topics; the others stayed, or had left before.
    """

    cluster: str
    ends: tuple[tuple[str, int, int, int], ...]
    topic_ids: Mapping[str, str]
    is_part: bool = False

    def log_ends(self) -> dict[TopicPartition, LogEnd]:
        """By partition; where the logs began is not recorded, and stands as 0."""
        return {TopicPartition(t, p): LogEnd(0, end, epoch) for t, p, end, epoch in self.ends}


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class ReverseStarts:
    """Where the mirror from `standby` back to `home` begins in each landing partition.

    `is_set`: Connect has been told so; otherwise it is where the landing topics ended when applications came.
    `is_part`: those of some topics. `provisional`: set as well, in topics that had never moved: where these
    ended at that moment. Where applications come later counts before it.
    """

    home: str
    standby: str
    starts: Rows
    is_set: bool
    is_part: bool = False
    provisional: Rows = ()


Cuts = tuple[tuple[str, int, tuple[tuple[int, int], ...]], ...]
"""[topic, partition, [[upstream, downstream], …]]: where a log was cut, and its copy ended then."""


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class LogsTruncated:
    """All truncations of the logs of `home` whose copies at `standby` reach further.

    Stored as `cuts`.
    """

    home: str
    standby: str
    truncations: Cuts = stored_as("cuts", now="truncations")


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class ClusterIds:
    """The id of each cluster, as it was when somebody last took them for right."""

    ids: Mapping[str, str]


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class SettingsBefore:
    """Settings as they were before a change: resource -> key -> value (None: none of its own)."""

    cluster: str
    settings: Mapping[str, Mapping[str, str | None]]


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Withdrawn:
    """The fact with this number does not hold any more."""

    number: int


Body: TypeAlias = (
    RecordBegun
    | JournalUnread
    | RunBegun
    | RunEnded
    | PrimaryMoved
    | DenialInForce
    | DenialLifted
    | LogsAtDeparture
    | ReverseStarts
    | LogsTruncated
    | ClusterIds
    | SettingsBefore
    | ClusterFact
    | Withdrawn
)
B = TypeVar("B", bound=Body)

KINDS: Mapping[str, type[Body]] = {
    "record": RecordBegun,
    "journal_unread": JournalUnread,
    "begun": RunBegun,
    "ended": RunEnded,
    "primary": PrimaryMoved,
    "denial": DenialInForce,
    "denial_lifted": DenialLifted,
    "logs_left": LogsAtDeparture,
    "reverse_starts": ReverseStarts,
    "logs_cut": LogsTruncated,
    "cluster_ids": ClusterIds,
    "settings_before": SettingsBefore,
    **ClusterFact.KINDS,
    "withdrawn": Withdrawn,
}
"""What each kind of fact is called in the store."""
KIND_OF: Mapping[type[Body], str] = {kind: name for name, kind in KINDS.items()}
_ADAPTERS: Mapping[str, TypeAdapter[Any]] = {name: TypeAdapter(kind) for name, kind in KINDS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One entry. `at_s` (Unix epoch seconds by the writer's clock) is for people, and orders nothing."""

    number: int
    run_id: str
    at_s: float
    body: Body
    after: int | None = None

    @property
    def place(self) -> tuple[int, int, int]:
        """What orders it."""
        return place_of(self.number, self.after)

    def as_json(self) -> dict[str, Any]:
        """For the store."""
        about = {"number": self.number, "run_id": self.run_id, "at_s": self.at_s, "after": self.after}
        return {**about, **body_to_json(self.body)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Fact:
        """Out of the store. Raises `ValueError` for what is none, or is of a kind that is not known."""
        try:
            return cls(
                number=int(data["number"]),
                run_id=str(data["run_id"]),
                at_s=float(data["at_s"]),
                after=None if data.get("after") is None else int(data["after"]),
                body=body_from_json(data),
            )
        except (KeyError, TypeError) as error:
            raise _not_understood(error) from None


def place_of(number: int, after: int | None) -> tuple[int, int, int]:
    """What orders a fact: its number, or that of the one right behind which it stands."""
    return (number, 0, 0) if after is None else (after, 1, number)


def _not_understood(error: Exception) -> ValueError:
    return ValueError(f"is no fact that this version understands: {error}")


def body_to_json(body: Body) -> dict[str, Any]:
    """{kind, body}."""
    kind = KIND_OF[type(body)]
    told = _ADAPTERS[kind].dump_python(body, mode="json", by_alias=True)
    if isinstance(body, RunBegun) and body.part is None:
        del told["part"]
    return {"kind": kind, "body": told}


def body_from_json(data: Mapping[str, Any]) -> Body:
    """Read back. Raises `ValueError` for what is none, or is of a kind that is not known."""
    try:
        body: Body = _ADAPTERS[data["kind"]].validate_python(data["body"])
    except (KeyError, TypeError, ValidationError) as error:
        raise _not_understood(error) from None
    return body


def life_of(facts: Iterable[Fact]) -> str:
    """Which record these facts are of; empty where its first one is not among them."""
    return next((fact.body.life for fact in facts if isinstance(fact.body, RecordBegun)), "")


def standing(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """The facts that hold, the oldest first."""
    facts = sorted(facts, key=lambda fact: fact.place)
    gone = {fact.body.number for fact in facts if isinstance(fact.body, Withdrawn)}
    return tuple(f for f in facts if f.number not in gone and not isinstance(f.body, Withdrawn))


def bodies(facts: Iterable[Fact], kind: type[B]) -> list[B]:
    """Of one kind, in the order of `facts`."""
    return [fact.body for fact in facts if isinstance(fact.body, kind)]


def is_about_the_same(one: Body, other: Body) -> bool:
    """Whether of two facts of a run the newer one takes the older one's place.

    A move along several ways records for each of them how logs stood, and where topics are primary.
    """
    return type(one) is type(other) and _about(one) == _about(other)


def _about(body: Body) -> tuple[Any, ...]:
    match body:
        case PrimaryMoved():
            return body.home, frozenset(body.topics)
        case DenialInForce() | DenialLifted():
            return body.cluster, frozenset(body.topics)
        case LogsAtDeparture():
            return (body.cluster,)
        case ReverseStarts() | LogsTruncated():
            return body.home, body.standby
        case ClusterFact():
            return tuple(getattr(body, name) for name in body.about)
        case _:
            return ()


def undone_runs(facts: Iterable[Fact]) -> frozenset[str]:
    """Runs of which all was taken back: their newest end says so."""
    ended = {fact.run_id: fact.body.outcome for fact in facts if isinstance(fact.body, RunEnded)}
    return frozenset(run_id for run_id, outcome in ended.items() if outcome == "undone")


def primary_records(facts: Iterable[Fact]) -> tuple[PrimaryRecord, ...]:
    """Which run has made which side primary, the oldest first."""
    return tuple(
        PrimaryRecord(
            home=fact.body.home,
            primary=fact.body.primary,
            topics=fact.body.topics,
            at_s=fact.at_s,
            run_id=fact.run_id,
        )
        for fact in standing(facts)
        if isinstance(fact.body, PrimaryMoved)
    )


def logs_at_departure(facts: Iterable[Fact], cluster: str) -> LogsAtDeparture | None:
    """How the logs of a cluster stood when applications last left it; None where nobody recorded that."""
    facts = standing(facts)
    undone = undone_runs(facts)
    found = [
        fact.body
        for fact in facts
        if isinstance(fact.body, LogsAtDeparture)
        and fact.body.cluster == cluster
        and fact.run_id not in undone
    ]
    if not found or not found[-1].is_part:
        return found[-1] if found else None
    whole = max((at for at, body in enumerate(found) if not body.is_part), default=0)
    ends = {row[:2]: row for body in found[whole:] for row in body.ends}
    ids = {name: topic_id for body in found[whole:] for name, topic_id in body.topic_ids.items()}
    return LogsAtDeparture(cluster=cluster, ends=tuple(ends.values()), topic_ids=ids, is_part=True)


def journals_unread(facts: Iterable[Fact], home: str, standby: str) -> list[Fact]:
    """Old runs between two clusters of which nobody knows what they had recorded."""
    return [
        fact
        for fact in standing(facts)
        if isinstance(fact.body, JournalUnread) and {fact.body.source, fact.body.target} == {home, standby}
    ]


def cluster_ids(facts: Iterable[Fact]) -> dict[str, str]:
    """The remembered id of each cluster."""
    found: dict[str, str] = {}
    for body in bodies(standing(facts), ClusterIds):
        found |= body.ids
    return found


def rows(values: Mapping[TopicPartition, int]) -> Rows:
    """Offsets as a fact holds them."""
    return tuple((tp.topic, tp.partition, offset) for tp, offset in sorted(values.items()))


def offsets(found: Sequence[tuple[str, int, int]]) -> dict[TopicPartition, int]:
    """The same, read back."""
    return {TopicPartition(topic, partition): offset for topic, partition, offset in found}
