"""Seeing each producer's first record at the target: whoever was not seen is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict

from orchestrator.engine import Results, StepOutcome
from orchestrator.errors import ClusterError, DcctlError
from orchestrator.operations.actions.declaring import look
from orchestrator.operations.session import Session
from orchestrator.planning.first_writes import Watch, landing_writers, not_seen, told
from orchestrator.planning.offsets_json import offsets_from_json
from orchestrator.planning.plan import Step
from orchestrator.values import TopicPartition, WrittenRecord

_READ_S = 0.2
_POLL_S = 0.01


@look
def await_landing_records(session: Session, step: Step, results: Results) -> StepOutcome:
    """Wait until each moved producer was seen to write; see `planning.first_writes` for how it is told.

    Only metadata and headers of records are looked at. Who cannot be told apart is unknown: never ok.
    """
    mirror, topology = session.estate.mirror, session.estate.topology
    landing = results["record-landing-ends"]
    starts = offsets_from_json(landing.get("seen_from", landing["ends"]))
    fenced = offsets_from_json(landing["now"]) if "now" in landing else starts
    moved = [producer.name for producer in topology.producers_of(mirror.source)]
    watch = Watch(landing_writers(topology, mirror), moved, session.attested_writers)
    deadline = session.clock.monotonic_s() + step.timeout_s
    lost_ms = session.lost_at_s * 1000 if starts != fenced else 0.0

    def is_new(record: WrittenRecord) -> bool:
        """One that has moved itself was there before the topic was looked at, but not before the loss."""
        return record.offset >= fenced[record.partition] or record.timestamp_ms >= lost_ms

    refusal = _follow(session, watch, starts, is_new, deadline)
    if refusal is not None:
        _await_growth(session, watch, fenced, deadline)
    since_s = float(landing.get("at_s", session.observation.at_s))
    ids = {topic: _producer_ids(session, topic, fenced, since_s) for topic in watch.shared}
    rows = watch.rows(ids, *_in_words(refusal))
    missing = not_seen(rows)
    return StepOutcome(
        "unknown" if missing else "ok",
        told(rows, step.timeout_s),
        {"producers": [asdict(row) for row in rows], "not_seen": missing},
    )


def _follow(
    session: Session,
    watch: Watch,
    fenced: Mapping[TopicPartition, int],
    is_new: Callable[[WrittenRecord], bool],
    deadline: float,
) -> ClusterError | None:
    """Read on from where the topics ended; returns why that cannot be done."""
    target, topics = session.estate.target, watch.topics
    starts = {tp: offset for tp, offset in fenced.items() if tp.topic in topics}
    if not starts:
        return None
    try:
        with target.follow(starts) as follower:

            def have_all() -> bool:
                nonlocal topics
                watch.take(filter(is_new, follower.read(_READ_S)))
                done = topics - watch.topics
                if done:
                    follower.leave(done)
                    topics = watch.topics
                return not topics

            session.await_true(have_all, deadline - session.clock.monotonic_s(), poll_s=_POLL_S)
    except ClusterError as error:
        return error
    return None


def _in_words(refusal: ClusterError | None) -> tuple[str, str]:
    """Why records cannot be read, and what may help: a right that is missing is told from anything else."""
    if refusal is None:
        return "", ""
    is_forbidden = refusal.code == "TOPIC_AUTHORIZATION_FAILED"
    hint = "the operator needs READ on these topics" if is_forbidden else refusal.hint
    return f"its records cannot be read: {refusal.problem}", hint or "look again: dcctl resume RUN"


def _await_growth(
    session: Session, watch: Watch, fenced: Mapping[TopicPartition, int], deadline: float
) -> None:
    """An operator may know where a topic ends without the right to read it."""

    def have_all() -> bool:
        wanted = watch.topics
        try:
            ends = session.estate.target.end_offsets(tp for tp in fenced if tp.topic in wanted)
        except ClusterError:
            return False  # nobody is seen by it; why records cannot be read is told
        watch.has_grown({tp.topic for tp, end in ends.items() if end > fenced[tp]})
        return not watch.topics

    session.await_true(have_all, deadline - session.clock.monotonic_s())


def _producer_ids(
    session: Session, topic: str, partitions: Iterable[TopicPartition], since_s: float
) -> int | None:
    """How many producer ids have written to a topic lately, None where its leaders cannot be asked."""
    wanted = [tp for tp in partitions if tp.topic == topic]
    try:
        states = session.java_admin(session.estate.target.name).describe_producers(wanted)
    except DcctlError:
        return None
    return len(
        {state.producer_id for found in states.values() for state in found if state.last_at_s >= since_s}
    )
