"""Moving replicas: begun by one call, done by Kafka in the background, waited for."""

from __future__ import annotations

from orchestrator.engine import Results, StepOutcome
from orchestrator.errors import ClusterError
from orchestrator.operations.layout.session import LayoutSession
from orchestrator.planning.plan import Step
from orchestrator.values import TopicPartition
from orchestrator.wording import listed

# Copying may take a day, and each look asks for the settings as well.
_POLL_S = 2.0
# Brokers learn of what the controller has done a moment later: ten seconds of standing still are a failure.
_STILL_POLLS = 5
# Five minutes in which nobody answers are no passing trouble: the lock is not held for a day because of it.
_SILENT_POLLS = 150


def move_replicas(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Begin to move. Asked twice for the same it goes on."""
    return _move(session, step, "replicas")


def replicas_have_moved(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Every partition lies where it should, and nothing is copied any more."""
    return _moved(session, step, "replicas")


def move_replicas_back(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Move to where they were; a copy that is under way is called off by it."""
    return _move(session, step, "was")


def replicas_are_back(session: LayoutSession, step: Step, _results: Results) -> StepOutcome:
    """Every partition lies where it did."""
    return _moved(session, step, "was")


def _move(session: LayoutSession, step: Step, which: str) -> StepOutcome:
    moves = _moves(step, which)
    session.at(step.arguments["cluster"]).move_replicas(moves)
    return StepOutcome("ok", f"{len(moves)} partitions")


def _moved(session: LayoutSession, step: Step, which: str) -> StepOutcome:
    cluster = session.at(step.arguments["cluster"])
    wanted = _moves(step, which)
    waiting = dict(wanted)
    elsewhere: list[str] = []
    still = 0
    silent: list[str] = []

    def is_there() -> bool:
        nonlocal still
        try:
            busy = cluster.moving()
            found = cluster.topics(step.arguments["topics"])
        except ClusterError as error:
            # Kafka copies on, whoever does not answer now: what was begun is waited for.
            silent.append(f"{error.subject}: {error.problem}")
            return len(silent) > _SILENT_POLLS
        silent.clear()
        for partition in list(waiting):
            topic = found.get(partition.topic)
            replicas = topic.replicas[partition.partition] if topic else ()
            if partition not in busy and set(replicas) == set(waiting[partition]):
                del waiting[partition]
        elsewhere[:] = [str(tp) for tp in waiting if tp not in busy]
        # Nothing is copied, and still it is not there: it was never begun, or called off.
        still = still + 1 if len(elsewhere) == len(waiting) else 0
        return not waiting or still > _STILL_POLLS

    session.await_true(is_there, step.timeout_s, poll_s=_POLL_S)
    if not waiting:
        return StepOutcome("ok", f"{len(wanted)} partitions")
    if silent:
        return StepOutcome("unknown", f"nobody tells whether it is done: {silent[-1]}")
    if len(elsewhere) == len(waiting):
        return StepOutcome("failed", f"not where they should be: {listed(elsewhere)}")
    return StepOutcome("unknown", f"still being copied: {listed(map(str, waiting))}")


def _moves(step: Step, which: str) -> dict[TopicPartition, list[int]]:
    return {
        TopicPartition(name, int(number)): list(entry[which])
        for name, topic in step.arguments["topics"].items()
        for number, entry in topic["partitions"].items()
    }
