"""What an analysis says in one sentence a loss, and its topics gathered by what happens to them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from orchestrator.topology.durability.reading import Reading
from orchestrator.topology.durability.shapes import INTERNAL_TOPICS
from orchestrator.topology.durability.values import (
    ApplicationFate,
    ClusterFate,
    Durability,
    LossFate,
    TopicFate,
)
from orchestrator.wording import and_n_more, listed

if TYPE_CHECKING:
    from orchestrator.moves.within_cluster.foreseen import Foreseen

# From harmless to worst; what cannot be known stands where a careful reader would put it.
_RPO = ("zero", "possible-loss", "replication-lag", "unknown", "total")
_RTO = ("zero", "leader-election", "procedure", "switch-clients", "unknown", "site-return")

_RECORDS = {
    "zero": "no acknowledged record{of} is lost",
    "possible-loss": "acknowledged records{of} may be lost",
    "replication-lag": "records{of} that no mirror has copied yet are lost",
    "unknown": "what{of} is lost cannot be told from the file",
    "total": "every record{of} is lost unless the disks come back",
}
_WRITES = {
    "zero": "nothing stops",
    "leader-election": "writes go on after leader elections",
    "procedure": "writes{to} wait for {procedure}",
    "switch-clients": "clients{to} must be switched to {target}",
    "unknown": "whether writes{to} go on cannot be told from the file",
    "site-return": "writes{to} stop until {lost} back",
}
_NAMED_AT_MOST = 3
_READERS_SHOWN = 20
_TO_BE_ALLOWED = ("--accept-margin", "--accept-unproven")
Lost = tuple[str, ...]
_NONE: Mapping[Lost, Foreseen] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Group:
    """Topics of one cluster to which the same happens, for the same reason."""

    topics: tuple[str, ...]
    fate: TopicFate


@dataclass(frozen=True, slots=True)
class ClusterAnswer:
    """One cluster of an answer, its topics gathered."""

    name: str
    fate: ClusterFate
    groups: tuple[Group, ...]

    @property
    def is_untouched(self) -> bool:
        """Whether the cluster does not notice."""
        is_well = all(group.fate.rto == "zero" for group in self.groups)
        return is_well and self.fate.control_plane == "continues"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one loss means; or each of several racks or brokers, where it means the same.

    `sentence` is the whole answer for somebody in a hurry. `severity` is 0 where nothing is lost and
    nothing waits for a person, 1 where something may be lost or has to be done, 2 where it cannot be.
    `margin`: a sentence for each next loss that would stop something. `procedure`: what `failover` within the
    cluster would do.
    """

    lost: str
    sentence: str
    severity: int
    clusters: tuple[ClusterAnswer, ...]
    applications: tuple[ApplicationFate, ...] = ()
    margin: tuple[str, ...] = ()
    procedure: str = ""


def answers_of(found: Durability, procedures: Mapping[Lost, Foreseen] = _NONE) -> tuple[Answer, ...]:
    """The answers in order; racks whose loss means the same share one, and so do brokers."""
    gathered: dict[object, list[LossFate]] = {}
    for loss in found.losses:
        is_part = len(loss.lost) == 1 and "/" in loss.lost[0]
        gathered.setdefault(_key(_nameless(loss) if is_part else loss), []).append(loss)
    answers = ((losses[0].lost, _answer(losses)) for losses in gathered.values())
    return tuple(replace(answer, procedure=_in_words(lost, procedures.get(lost))) for lost, answer in answers)


def with_procedures(found: Durability, procedures: Mapping[Lost, Foreseen]) -> dict[str, Any]:
    """As JSON data, beside the rest the `steps` and `overrides` of `failover` within a cluster."""
    data = found.as_json()
    for loss in data["losses"]:
        if (told := procedures.get(tuple(loss["lost"]))) is None:
            continue
        loss["clusters"][told.cluster].update(
            steps=list(told.steps),
            overrides=list(told.overrides),
            stranded=list(told.stranded),
            missing=list(told.missing),
        )
    return data


def _in_words(lost: Lost, told: Foreseen | None) -> str:
    if told is None or not told.steps:
        return ""
    words = "".join(
        f"; {'it needs' if word in _TO_BE_ALLOWED else 'for every topic to be written also'} {word}"
        for word in told.overrides
    )
    beside = "".join(f"; {said}" for said in told.stranded)
    sites = " ".join(f"--attest-down {site}" for site in lost)
    lacking = " and ".join(told.missing)
    without = f" (once the file names {lacking})" if lacking else ""
    return f"dcctl failover FILE {sites} would do{without}: {', '.join(told.steps)}{words}{beside}"


def reading_lines(read: Sequence[Reading]) -> Iterator[str]:
    """A line for each of the first consumers; `--json` has them all."""
    yield from (f"{one.said[0].upper()}{one.said[1:]}." for one in read[:_READERS_SHOWN])
    if len(read) > _READERS_SHOWN:
        yield and_n_more(len(read) - _READERS_SHOWN, "more consumers read from the nearest replica")


def summary(found: Durability) -> str:
    """One line about all of them."""
    worst = max(found.losses, key=lambda loss: _ranks(_fates(loss).values()), default=None)
    if worst is None:
        return f"{found.topology}: nothing to lose"
    return (
        f"{found.topology}: {len(found.losses)} losses; the worst: {_names(worst.lost)}: {_sentence(worst)}"
    )


def topic_names(topics: Sequence[str], at_most: int = _NAMED_AT_MOST) -> str:
    """`orders, payments and 9,998 more`."""
    return listed(topics, at_most if len(topics) > at_most + 1 else len(topics))


def _answer(losses: Sequence[LossFate]) -> Answer:
    first = losses[0]
    lost = _names(first.lost)
    if len(losses) > 1:
        lost = f"one of {topic_names([loss.lost[0] for loss in losses], at_most=6)}"
        first = _nameless(first)
    rpo, rto = _ranks(_fates(first).values())
    is_waiting = any(one.goes_to is None for one in first.applications)
    is_hopeless = _RPO[rpo] == "total" or _RTO[rto] == "site-return" or is_waiting
    is_untouched = _RTO[rto] in ("zero", "leader-election") and not first.applications
    needs_thought = rpo > 0 or not is_untouched or _positions(first, rpo) or _undecided(first)
    clusters = tuple(
        ClusterAnswer(name, fate, tuple(_groups(fate.topics))) for name, fate in first.clusters.items()
    )
    severity = 2 if is_hopeless else int(bool(needs_thought))
    margin = tuple(_margin(first)) if len(losses) == 1 else ()
    return Answer(lost, _sentence(first), severity, clusters, first.applications, margin)


def _margin(loss: LossFate) -> Iterable[str]:
    for one in loss.margin:
        stopped = []
        for name, its in one.clusters.items():
            of = f" of {name}" if len(loss.clusters) > 1 else ""
            stopped += [f"the control plane{of}"] if its.control_plane else []
            stopped += [f"writes to {topic_names(its.topics)}{of}"] if its.topics else []
        any_of = "one of " if len(one.names) > 1 else ""
        yield f"then the loss of {any_of}{topic_names(one.names)} would stop {', and '.join(stopped)}"


def _key(loss: LossFate) -> object:
    clusters = loss.clusters.items()
    told = tuple((name, c.control_plane, c.reason, *c.topics.items()) for name, c in clusters)
    return loss.lost, told, loss.applications


def _nameless(loss: LossFate) -> LossFate:
    """The loss of one broker as that of any other, or of one rack."""
    place = re.compile(rf"\b(on|in)(?: rack)? {re.escape(loss.lost[0])}(?![\w/.-])")
    known: dict[TopicFate, TopicFate] = {}

    def nameless(fate: TopicFate) -> TopicFate:
        if fate not in known:
            known[fate] = replace(fate, reason=place.sub(r"\1 it", fate.reason))
        return known[fate]

    clusters = {
        name: ClusterFate(
            cluster.control_plane,
            place.sub(r"\1 it", cluster.reason),
            {topic: nameless(fate) for topic, fate in cluster.topics.items()},
        )
        for name, cluster in loss.clusters.items()
    }
    return LossFate(("it",), clusters, loss.applications)


def _groups(topics: Mapping[str, TopicFate]) -> Iterable[Group]:
    gathered: dict[TopicFate, list[str]] = {}
    for topic, fate in topics.items():
        gathered.setdefault(fate, []).append(topic)
    return (Group(tuple(names), fate) for fate, names in gathered.items())


def _sentence(loss: LossFate) -> str:
    """Records first, then writes and whoever stops, then Kafka's own positions where they fare worse than the
    records.
    """
    fates = _fates(loss)
    rpo, rto = _ranks(fates.values())
    lost = f"{loss.lost[0]} is" if len(loss.lost) == 1 else "enough of that is"
    of = _scope(loss, [key for key, fate in fates.items() if _RPO.index(fate.rpo) == rpo], " of ")
    to = _scope(loss, [key for key, fate in fates.items() if _RTO.index(fate.rto) == rto], " of ")
    targets = dict.fromkeys(fate.switch_to for fate in fates.values() if fate.switch_to)
    records = _RECORDS[_RPO[rpo]].format(of=of if rpo else "")
    writes = _WRITES[_RTO[rto]].format(
        to=to, lost=lost, target=topic_names(list(targets)), procedure=_procedure(loss, fates)
    )
    told = _applications(loss, _RTO[rto], writes, targets)
    if _RTO[rto] in ("zero", "leader-election") and (undecided := _undecided(loss)):
        told += f", but nobody can be elected at {undecided} any more: the next server lost stops writes"
    return f"{records[0].upper()}{records[1:]}; {told}{_positions(loss, rpo)}."


def _undecided(loss: LossFate) -> str:
    """Clusters that lose their quorum with some of their servers; empty for none."""
    if not any("/" in name for name in loss.lost):
        return ""
    return listed(name for name, fate in loss.clusters.items() if fate.control_plane != "continues")


def _applications(loss: LossFate, rto: str, writes: str, targets: Iterable[str]) -> str:
    """What becomes of writes, and of the applications that stop where that is not said with it.

    `targets`: where clients can be switched to by what mirrors copy. The file may send them elsewhere, or
    nowhere.
    """
    stopped = loss.applications
    if not stopped or (rto == "switch-clients" and {one.goes_to for one in stopped} == set(targets)):
        return writes
    if rto == "site-return":
        stopped = tuple(one for one in stopped if one.goes_to is not None)
    clauses = [] if rto in ("zero", "switch-clients") else [writes]
    for cluster in dict.fromkeys(one.cluster for one in stopped):
        clauses += _of_cluster(cluster, [one for one in stopped if one.cluster == cluster])
    return "; ".join(clauses)


def _of_cluster(cluster: str, stopped: Sequence[ApplicationFate]) -> Iterable[str]:
    """`consumers of centre must be switched to reserve`; single ones by name where not all go one way."""
    everywhere = dict.fromkeys(one.goes_to for one in stopped)
    for goes_to in everywhere:
        those = [one for one in stopped if one.goes_to == goes_to]
        who = topic_names([one.name for one in those])
        if len(everywhere) == 1:
            is_reading = all(one.kind != "producer" for one in those)
            who = f"{'consumers' if is_reading else 'applications'} of {cluster}"
        is_one = len(everywhere) > 1 and len(those) == 1
        if goes_to is None:
            yield f"{who} {'waits' if is_one else 'wait'} until {cluster} is back"
        else:
            yield f"{who} must be switched to {goes_to}"


def _procedure(loss: LossFate, fates: Mapping[tuple[str, str], TopicFate]) -> str:
    """What has to be done before writes go on, the first thing of it."""
    waiting = {cluster for (cluster, _), fate in fates.items() if fate.rto == "procedure"}
    if any(loss.clusters[name].control_plane == "needs-procedure" for name in waiting):
        return "a procedure, and first of all for a new metadata quorum"
    return "a procedure: min.insync.replicas has to be lowered"


def _positions(loss: LossFate, rpo: int) -> str:
    """Committed offsets that may go where the records stay. With a mirror they are kept at its target."""
    at_risk = [
        name
        for name, cluster in loss.clusters.items()
        if rpo == 0
        and len(cluster.topics) > len(INTERNAL_TOPICS)
        and cluster.topics["__consumer_offsets"].rpo in ("possible-loss", "total")
    ]
    if not at_risk:
        return ""
    where = f" at {topic_names(at_risk)}" if len(loss.clusters) > 1 else ""
    return f"; committed offsets{where} (__consumer_offsets) may be lost"


def _fates(loss: LossFate) -> Mapping[tuple[str, str], TopicFate]:
    """Fates of the applications' topics; of Kafka's own where there are no others."""
    every = {
        (name, topic): fate
        for name, cluster in loss.clusters.items()
        for topic, fate in cluster.topics.items()
    }
    return {key: fate for key, fate in every.items() if key[1] not in INTERNAL_TOPICS} or every


def _ranks(fates: Iterable[TopicFate]) -> tuple[int, int]:
    distinct = set(fates)
    return (
        max((_RPO.index(fate.rpo) for fate in distinct), default=0),
        max((_RTO.index(fate.rto) for fate in distinct), default=0),
    )


def _scope(loss: LossFate, worst: Sequence[tuple[str, str]], preposition: str) -> str:
    """Which topics the worst is about: nothing where it is all, whole clusters, or names."""
    every = _fates(loss)
    if len(worst) == len(every):
        return ""
    clusters = list(dict.fromkeys(cluster for cluster, _ in worst))
    if len(worst) == sum(cluster in clusters for cluster, _ in every):
        return preposition + topic_names(clusters)
    return preposition + topic_names([topic for _, topic in worst])


def _names(lost: Sequence[str]) -> str:
    return " and ".join(lost)
