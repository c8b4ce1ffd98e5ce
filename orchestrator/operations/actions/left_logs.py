"""What a move keeps for the way back: how the logs it leaves stood, and where the landing topics end."""

from __future__ import annotations

from orchestrator.engine import Results, StepOutcome
from orchestrator.operations.actions.facts import fact_result, record_of
from orchestrator.operations.actions.mirror import record_ends
from orchestrator.operations.session import Session
from orchestrator.planning.estate_record import LogsLeft, ReverseStarts, rows
from orchestrator.planning.offsets_json import offsets_from_json
from orchestrator.planning.plan import Step
from orchestrator.values import TopicPartition


def record_left(session: Session, step: Step, results: Results) -> StepOutcome:
    """Ends and leader epochs as the watcher saw them last, and ends as they stood where that was seen."""
    topics = frozenset(map(str, step.arguments["topics"]))
    ends: dict[TopicPartition, int] = {}
    epochs: dict[TopicPartition, int] = {}
    ids: dict[str, str] = {}
    history = session.observation.samples.value
    if history is not None:
        ids = {name: topic.topic_id for name, topic in history.topics.items() if name in topics}
        for tp, log in history.newest_ends().items():
            ends[tp], epochs[tp] = log.end_offset, log.leader_epoch
    for tp, end in offsets_from_json(results.get("stands-still", {}).get("ends", {})).items():
        ends[tp] = max(end, ends.get(tp, 0))
    known = sorted(tp for tp in ends if tp.topic in topics)
    fact = LogsLeft(
        cluster=str(step.arguments["cluster"]),
        ends=tuple((tp.topic, tp.partition, ends[tp], epochs.get(tp, -1)) for tp in known),
        topic_ids=ids,
    )
    record_of(session, step).write(fact)
    return StepOutcome("ok", f"the ends of {len(known)} partitions", fact_result(fact))


def record_landing(session: Session, step: Step, results: Results) -> StepOutcome:
    """Where the landing topics end: there the mirror back will begin, unless it has begun before."""
    ended = record_ends(session, step, results)
    fact = ReverseStarts(
        home=str(step.arguments["home"]),
        standby=str(step.arguments["standby"]),
        starts=rows(offsets_from_json(ended.result["ends"])),
        is_set=False,
    )
    record_of(session, step).write(fact)
    return StepOutcome(ended.outcome, ended.message, {**ended.result, **fact_result(fact)})
