"""Topics: creating, configuring, adding partitions, deleting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.engine import Results, StepOutcome
from orchestrator.moves.ports import EstateRecord
from orchestrator.operations.layout.session import LayoutSession
from orchestrator.planning.estate_record import SettingsBefore
from orchestrator.planning.layout.observed import ObservedTopic
from orchestrator.planning.plan import Outcome, Step
from orchestrator.ports.admin_values import NewTopic
from orchestrator.topology.topic_settings import says_the_same
from orchestrator.wording import listed

# Brokers learn of a change a moment after the controller has made it.
_SETTLE_S = 10.0

Wanted = Mapping[str, Any]


def create_topics(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Create what is not there."""
    session.at(step.arguments["cluster"]).create_topics(
        {
            name: NewTopic(
                partitions=wanted["partitions"],
                replicas=wanted["replicas"],
                assignment=tuple(tuple(replicas) for replicas in wanted.get("assignment", ())),
                config=wanted["config"],
            )
            for name, wanted in _topics(step).items()
        }
    )
    return StepOutcome("ok", f"{len(_topics(step))} topics")


def topics_are_there(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Each exists as it was to be created."""
    return _settled(session, step, _not_as_created)


def delete_empty_topics(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Take back topics that were created, as long as nobody has written to them.

    One that is not as the step would have made it was made by somebody else in the meantime, and stays.
    """
    cluster = session.at(step.arguments["cluster"])
    found = cluster.topics(_topics(step))
    own = {name for name, topic in found.items() if not _not_as_created(_topics(step)[name], topic)}
    counts = cluster.record_counts(own)
    used = sorted(name for name, count in counts.items() if count)
    cluster.delete_topics(name for name, count in counts.items() if not count)
    if used:
        # Which ones are gone is seen and told behind this.
        outcome: Outcome = "partial" if len(used) < len(counts) else "failed"
        return StepOutcome(outcome, f"these hold records already: {listed(used)}")
    others = sorted(found.keys() - own)
    left = f"; made otherwise by somebody else, and left: {listed(others)}" if others else ""
    return StepOutcome("ok", f"{len(counts)} topics deleted{left}")


def topics_are_gone(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """None of them exists any more; of those that were created, none that is as the step made it."""

    def wrong(wanted: Wanted, found: ObservedTopic | None) -> str:
        is_others = found is not None and "partitions" in wanted and _not_as_created(wanted, found)
        return "is still there" if found is not None and not is_others else ""

    return _settled(session, step, wrong)


def delete_topics(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Delete topics that are still those that the plan means."""
    cluster = session.at(step.arguments["cluster"])
    found = cluster.topics(_topics(step))
    others = sorted(
        name for name, topic in found.items() if topic.topic_id != _topics(step)[name]["topic_id"]
    )
    if others:
        return StepOutcome("failed", f"these were made anew since the plan was made: {listed(others)}")
    cluster.delete_topics(found)
    return StepOutcome("ok", f"{len(found)} topics")


def set_config(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Set what the file says; what it does not say stays, and what was there before is recorded."""
    before = {name: dict(wanted["was"]) for name, wanted in _topics(step).items()}
    fact = SettingsBefore(cluster=str(step.arguments["cluster"]), settings=before)
    session.port(EstateRecord).write(fact)
    return _set_config(session, step, "set")


def config_is_set(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Every entry is in force."""
    return _config_is(session, step, "set")


def restore_config(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Set what was there before."""
    return _set_config(session, step, "was")


def config_is_restored(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Every entry is as it was."""
    return _config_is(session, step, "was")


def add_partitions(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Add what is missing; a topic that has enough is left alone, for it is refused to do it twice."""
    cluster = session.at(step.arguments["cluster"])
    found = cluster.topics(_topics(step))
    short = {
        name: wanted
        for name, wanted in _topics(step).items()
        if name in found and found[name].partitions < wanted["total"]
    }
    cluster.add_partitions(
        {name: wanted["total"] for name, wanted in short.items()},
        {name: wanted["assignment"] for name, wanted in short.items() if "assignment" in wanted},
    )
    return StepOutcome("ok", f"{len(short)} topics")


def partitions_are_there(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Each topic has as many as it should."""

    def wrong(wanted: Wanted, found: ObservedTopic | None) -> str:
        if found is None:
            return "is not there"
        return "" if found.partitions == wanted["total"] else f"has {found.partitions} partitions"

    return _settled(session, step, wrong)


def _set_config(session: LayoutSession, step: Step, which: str) -> StepOutcome:
    changes = {name: wanted[which] for name, wanted in _topics(step).items()}
    session.at(step.arguments["cluster"]).set_config(changes)
    return StepOutcome("ok", f"{len(changes)} topics")


def _config_is(session: LayoutSession, step: Step, which: str) -> StepOutcome:
    def wrong(wanted: Wanted, found: ObservedTopic | None) -> str:
        return "is not there" if found is None else _wrong_config(wanted[which], found)

    return _settled(session, step, wrong)


def _settled(
    session: LayoutSession, step: Step, wrong: Callable[[Wanted, ObservedTopic | None], str]
) -> StepOutcome:
    """Wait for a moment until nothing is wrong with any topic of the step; some may be right already."""
    cluster = session.at(step.arguments["cluster"])
    problems: dict[str, str] = {}

    def is_right() -> bool:
        found = cluster.topics(_topics(step))
        problems.clear()
        for name, wanted in _topics(step).items():
            said = wrong(wanted, found.get(name))
            if said:
                problems[name] = said
        return not problems

    if session.await_true(is_right, min(_SETTLE_S, step.timeout_s)):
        return StepOutcome("ok")
    right = [name for name in _topics(step) if name not in problems]
    said = listed(f"{name} {said}" for name, said in problems.items())
    if not right:
        return StepOutcome("failed", said)
    return StepOutcome("partial", f"{said}; as wanted: {listed(right)}")


def _not_as_created(wanted: Wanted, found: ObservedTopic | None) -> str:
    """What is other than `create_topics` would have made it; empty where nothing is."""
    if found is None:
        return "is not there"
    if found.partitions != wanted["partitions"]:
        return f"has {found.partitions} partitions"
    if any(len(replicas) != wanted["replicas"] for replicas in found.replicas):
        return f"has {len(found.replicas[0])} replicas"
    if "assignment" in wanted and [list(r) for r in found.replicas] != wanted["assignment"]:
        return "lies elsewhere"
    return _wrong_config(wanted["config"], found)


def _wrong_config(wanted: Mapping[str, str | None], found: ObservedTopic) -> str:
    for key, value in wanted.items():
        if not says_the_same(key, found.config.get(key), value):
            return f"has {key} {found.config.get(key, 'not set')}"
    return ""


def _topics(step: Step) -> Mapping[str, Wanted]:
    topics: Mapping[str, Wanted] = step.arguments["topics"]
    return topics
