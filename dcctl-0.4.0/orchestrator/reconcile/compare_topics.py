"""Topics as the file says against topics as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from orchestrator.estate.desired_topics import DesiredTopic, Placement, connect_topics
from orchestrator.estate.observed import ObservedTopic
from orchestrator.estate.placement import Replicas
from orchestrator.moves.not_copied import COPY_AGAIN
from orchestrator.reconcile.applied import AppliedTopic, applied_topic, cause_of
from orchestrator.reconcile.compare_config import compare_config
from orchestrator.reconcile.compare_sides import with_effects
from orchestrator.reconcile.comparison import Comparison
from orchestrator.reconcile.difference import IDENTITY, PARTITIONS, Cause, Difference, Finding, Mend
from orchestrator.reconcile.replicas import MoveReplicas, Placed, bytes_to_copy
from orchestrator.reconcile.topics import (
    AddPartitions,
    CreateTopics,
    DeleteTopics,
    PartitionsWanted,
    TopicWanted,
)
from orchestrator.topology.kinds import DestructiveChange


def compare_topics(side: Comparison) -> Iterator[Finding]:
    """Every difference of the cluster's topics, in the order of their names."""
    for name, topic in sorted(side.desired.topics.items()):
        found = side.observed.topics.get(name)
        followed = _following(side, topic)
        if found is not None:
            yield from _compare(side, followed, found)
        elif topic.must_exist:
            yield _missing(side, followed)
    yield from _no_longer_wanted(side)


def _following(side: Comparison, topic: DesiredTopic) -> DesiredTopic:
    """A mirrored or landing topic has at least the partitions that its source really has."""
    source = side.source_of(topic)
    if source is None or topic.partitions is None or source.partitions <= topic.partitions:
        return topic
    return replace(topic, partitions=source.partitions)


def _missing(side: Comparison, topic: DesiredTopic) -> Finding:
    last = side.applied.topics.get(topic.name) if side.applied else None
    is_drift = last is not None
    partitions = topic.partitions or 1
    difference = Difference(
        cluster=side.desired.name,
        subject=f"topic {topic.name}",
        aspect="existence",
        wanted=f"{counted(partitions, 'partition')}, {counted(topic.replicas, 'replica')}",
        found="",
        cause="drift" if is_drift else "change",
        mend="planned",
        reason=(
            f"it was deleted; {_purpose(topic)}{_not_copied_again(topic)}"
            if is_drift
            else f"it does not exist; {_purpose(topic)}"
        ),
    )
    wanted: TopicWanted = {
        "partitions": partitions,
        "replicas": topic.replicas,
        "config": dict(topic.config),
    }
    if topic.placement.is_explicit:
        wanted["assignment"] = [list(row) for row in side.spread.assignments(topic, partitions)]
    return Finding(difference, CreateTopics(cluster=side.desired.name, topics={topic.name: wanted}))


def _compare(side: Comparison, topic: DesiredTopic, found: ObservedTopic) -> Iterator[Finding]:
    last = side.applied.topics.get(topic.name) if side.applied else None
    known_id = side.applied.topic_ids.get(topic.name) if side.applied else None
    if known_id not in (None, found.topic_id):
        yield recreated(side, topic, found, str(known_id))
    moved = _moves(side, topic, found)
    if moved:
        yield _replicas(side, topic, found, last, moved)
    if topic.partitions is not None and topic.partitions != found.partitions:
        yield _partitions(side, topic, found, last)
    yield from with_effects(side, topic, found, compare_config(side, topic, found))


def recreated(side: Comparison, topic: DesiredTopic, found: ObservedTopic, known_id: str) -> Finding:
    """A topic of the same name that is not the one that was applied: somebody deleted that one."""
    return Finding(
        Difference(
            cluster=side.desired.name,
            subject=f"topic {topic.name}",
            aspect=IDENTITY,
            wanted=known_id,
            found=found.topic_id,
            cause="drift",
            mend="planned",
            reason="it was deleted and created again, its records are gone; the new topic id is recorded"
            f"{_not_copied_again(topic)}",
        )
    )


def _moves(side: Comparison, topic: DesiredTopic, found: ObservedTopic) -> dict[int, Replicas]:
    """New replicas of each partition that has too many, too few, or some in the wrong place."""
    wrong = set(side.spread.problems(topic.placement, found.replicas))
    wrong |= {replicas for replicas in found.replicas if len(replicas) != topic.replicas}
    if not wrong:
        return {}
    moves = {
        number: side.spread.moved(topic, replicas, number)
        for number, replicas in enumerate(found.replicas)
        if replicas in wrong
    }
    return {number: new for number, new in moves.items() if new != found.replicas[number]}


def _replicas(
    side: Comparison,
    topic: DesiredTopic,
    found: ObservedTopic,
    last: AppliedTopic | None,
    moves: Mapping[int, Replicas],
) -> Finding:
    counts = sorted({len(replicas) for replicas in found.replicas})
    places = sorted(
        {text for number in moves if (text := side.spread.problem(topic.placement, found.replicas[number]))}
    )
    fewer = any(len(new) < len(found.replicas[number]) for number, new in moves.items())
    copies = sum(len(set(new) - set(found.replicas[number])) for number, new in moves.items())
    has = " or ".join(str(count) for count in counts)
    said = f"{len(moves)} of {found.partitions} partitions move, {copies} replicas are copied"
    needs: DestructiveChange | None = "reduce-durability" if fewer else None
    is_allowed = needs is None or needs in side.allow
    wanted = applied_topic(topic)
    before = (last.replicas, last.placement) if last else None
    cause = cause_of(
        before,
        (wanted.replicas, wanted.placement),
        before if last is not None and _lies_as(side, last, found) else None,
        is_known=last is not None,
    )
    difference = Difference(
        cluster=side.desired.name,
        subject=f"topic {topic.name}",
        aspect="replicas",
        wanted=_wanted_replicas(topic),
        found=f"{has} replicas" + (f" ({places[0]})" if places else ""),
        cause=cause,
        mend="planned" if is_allowed else "not-allowed",
        reason=said if is_allowed else "it would have fewer replicas",
        needs=needs,
    )
    placed: dict[str, Placed] = {
        str(number): {"replicas": list(new), "was": list(found.replicas[number])}
        for number, new in moves.items()
    }
    work = MoveReplicas(
        cluster=side.desired.name,
        topics={topic.name: {"partitions": placed}},
        copied_bytes=bytes_to_copy(topic.name, placed, side.sizes),
    )
    return Finding(difference, work if is_allowed else None)


def _lies_as(side: Comparison, last: AppliedTopic, found: ObservedTopic) -> bool:
    """Whether the replicas are those that the last apply has left."""
    placement = Placement(datacenters=last.datacenters, per_dc=last.per_dc)
    is_as_many = all(len(replicas) == last.replicas for replicas in found.replicas)
    return is_as_many and not side.spread.problems(placement, found.replicas)


def _partitions(
    side: Comparison, topic: DesiredTopic, found: ObservedTopic, last: AppliedTopic | None
) -> Finding:
    wanted = topic.partitions or 0
    cause: Cause = cause_of(
        last.partitions if last else None, wanted, found.partitions, is_known=last is not None
    )
    base = Difference(
        cluster=side.desired.name,
        subject=f"topic {topic.name}",
        aspect=PARTITIONS,
        wanted=str(wanted),
        found=str(found.partitions),
        cause=cause,
        mend="planned",
        reason="keys go to other partitions from then on; Kafka cannot remove a partition",
        irreversible=True,
    )
    if found.partitions > wanted:
        hint = f"Kafka cannot remove a partition: write partitions: {found.partitions} in the file"
        if topic.role not in ("file", "landing", "mirrored"):
            return Finding(
                replace(base, mend="kept", irreversible=False, reason="more replicas than the file asks for")
            )
        # What somebody added cannot be mended, but it stops nothing else.
        mend: Mend = "kept" if cause == "drift" or topic.role != "file" else "refused"
        return Finding(replace(base, mend=mend, irreversible=False, reason=hint))
    added = wanted - found.partitions
    explicit = topic.placement.is_explicit or any(len(r) != topic.replicas for r in found.replicas)
    more: PartitionsWanted = {"total": wanted, "was": found.partitions}
    if explicit:
        rows = side.spread.assignments(topic, added, first=found.partitions)
        more["assignment"] = [list(row) for row in rows]
    return Finding(base, AddPartitions(cluster=side.desired.name, topics={topic.name: more}))


def _no_longer_wanted(side: Comparison) -> Iterator[Finding]:
    """Topics that the file had when it was applied, and has no more.

    Kafka's own and those of the Connect workers are never among them: no longer named is not no longer
    needed, and connectors of others may rest on them.
    """
    if side.applied is None:
        return
    gone = side.applied.topics.keys() - side.desired.topics.keys()
    for name in sorted(gone - set(connect_topics(side.desired.name).values())):
        found = side.observed.topics.get(name)
        if found is None or found.is_internal:
            continue
        # Under another id it is somebody else's topic.
        if side.applied.topic_ids.get(name, found.topic_id) != found.topic_id:
            continue
        why = side.kept.topics.get(name, "")
        is_allowed = "delete-topics" in side.allow and not why
        difference = Difference(
            cluster=side.desired.name,
            subject=f"topic {name}",
            aspect="existence",
            wanted="",
            found=counted(found.partitions, "partition"),
            cause="change",
            mend="kept" if why else "planned" if is_allowed else "not-allowed",
            reason=why or "the file does not have it any more; its records are deleted with it",
            needs=None if why else "delete-topics",
            irreversible=not why,
        )
        work = DeleteTopics(cluster=side.desired.name, topics={name: {"topic_id": found.topic_id}})
        yield Finding(difference, work if is_allowed else None)


def _wanted_replicas(topic: DesiredTopic) -> str:
    placement = topic.placement
    if placement.per_dc:
        where = ", ".join(f"{count} in {dc}" for dc, count in sorted(placement.per_dc.items()))
    elif len(placement.datacenters) > 1:
        where = f"evenly over {', '.join(placement.datacenters)}"
    else:
        where = f"in {placement.datacenters[0]}" if placement.is_explicit else ""
    return counted(topic.replicas, "replica") + (f" ({where})" if where else "")


def counted(count: int, what: str) -> str:
    """`1 replica`, `2 replicas`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _not_copied_again(topic: DesiredTopic) -> str:
    """What is lost with a copy: the mirror keeps its position, and that lies behind what was deleted."""
    if topic.role != "mirrored":
        return ""
    return f". The mirror goes on where it was, and copies no earlier record again: {COPY_AGAIN}"


def _purpose(topic: DesiredTopic) -> str:
    """What the topic is for, in words."""
    source = f"{topic.origin[1]} of {topic.origin[0]}" if topic.origin else ""
    return {
        "file": "the file describes it",
        "mirrored": f"the copy of {source}",
        "landing": f"where producers of {source} write after a failover",
        "mirror": "the mirror keeps its own records there",
        "watcher": "the watcher keeps what a failover needs there",
        "connect": "the Connect workers keep their state there",
        "kafka": "Kafka keeps its own state there",
    }[topic.role]
