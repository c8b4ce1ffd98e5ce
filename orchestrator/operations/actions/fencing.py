"""Denying applications at a cluster, seeing that nothing is written any more, and lifting that again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from orchestrator.engine import Results, StepOutcome
from orchestrator.errors import ClusterError, DcctlError
from orchestrator.operations.actions.declaring import denied_by_rules, freeing, holding, look
from orchestrator.operations.run_session import RunSession
from orchestrator.planning.fence import rules_from_json, rules_to_json
from orchestrator.planning.offsets_json import offsets_to_json
from orchestrator.planning.plan import Step
from orchestrator.planning.standstill import Standstill, beyond_in_words
from orchestrator.values import Acl, TopicPartition

_LISTED = 5
_SETTLED_S = 5.0
_POLL_S = 0.25


@look
def record_rules(session: RunSession, step: Step, _results: Results) -> StepOutcome:
    """Which of the step's rules are there already: they are not ours, and stay when ours go."""
    session.warm_up(_cluster(step))  # the fence will wait for each broker's word, and then nothing else
    there = _there(session, step)
    return StepOutcome("ok", f"{len(there)} of them are there already", {"had": rules_to_json(there)})


@holding(denied_by_rules)
def deny(session: RunSession, step: Step, _results: Results) -> StepOutcome:
    """Bring the rules in. Those that are there stay."""
    session.access(_cluster(step)).add(_rules(step))
    return StepOutcome("ok")


def rules_are_in_force(session: RunSession, step: Step, _results: Results) -> StepOutcome:
    """Every rule is there, and every broker has heard of it."""
    missing = _awaited(session, lambda: _rules(step) - _there(session, step))
    if missing:
        return StepOutcome("failed", f"not there: {listed_rules(missing)}")
    behind = session.await_brokers(_cluster(step), step.timeout_s / 2)
    if behind:
        return StepOutcome("unknown", f"not known to have heard of it: {behind}")
    return StepOutcome("ok", f"{len(_rules(step))} rules in force at every broker")


def take_rules_back(session: RunSession, step: Step, results: Results) -> StepOutcome:
    """Take away what this run brought in; what was there before stays."""
    session.access(_cluster(step)).remove(rules_of_this_run(step, results))
    return StepOutcome("ok")


def rules_are_back(session: RunSession, step: Step, results: Results) -> StepOutcome:
    """Nothing of it is there any more."""
    left = _awaited(session, lambda: rules_of_this_run(step, results) & _there(session, step))
    return StepOutcome(
        "failed" if left else "ok", f"still there: {listed_rules(left)}" if left else "as before"
    )


@freeing(denied_by_rules)
def lift_rules(session: RunSession, step: Step, _results: Results) -> StepOutcome:
    """Take the rules away, whoever brought them in."""
    session.access(_cluster(step)).remove(_rules(step))
    return StepOutcome("ok")


def rules_are_lifted(session: RunSession, step: Step, _results: Results) -> StepOutcome:
    """None of them is there."""
    left = _awaited(session, lambda: _there(session, step))
    if not left:
        return StepOutcome("ok", "lifted")
    lifted = _rules(step) - left
    more = f"; lifted: {listed_rules(lifted)}" if lifted else ""
    return StepOutcome("failed", f"still there: {listed_rules(left)}{more}", in_part=bool(lifted))


def deny_again(session: RunSession, step: Step, results: Results) -> StepOutcome:
    """Bring back those of the lifted rules that had been there."""
    session.access(_cluster(step)).add(_had(step, results))
    return StepOutcome("ok")


def rules_are_denied_again(session: RunSession, step: Step, results: Results) -> StepOutcome:
    """All that had been there is there."""
    missing = _awaited(session, lambda: _had(step, results) - _there(session, step))
    return StepOutcome("failed" if missing else "ok", listed_rules(missing) or "as before")


@look
def await_no_writes(session: RunSession, step: Step, _results: Results) -> StepOutcome:
    """Every log stands still for a while, and what its leader has all replicas in sync have (`Standstill`).

    What still advances is named, with its producers. A replica that hangs is waited for until it is out of
    sync. What cannot be asked is not known to be silent, and where a log ends cannot be taken from how far it
    can be read.
    """
    name = _cluster(step)
    cluster, standing = session.cluster(name), Standstill(float(step.arguments["standstill_s"]))
    # A plan of an earlier version has one time for all.
    patience_s = float(step.arguments.get("patience_s", step.timeout_s))
    begun_s = now_s = session.clock.monotonic_s()
    begun_at_s = session.clock.now_s()
    untold: dict[TopicPartition, str] = {}
    try:
        described = cluster.topics(step.arguments["topics"])
        partitions = [tp for topic in described.values() for tp in topic.partitions]
        addresses = list(cluster.brokers().values())
        with session.log_end_reader(name) as reader:

            def take_look() -> None:
                nonlocal now_s
                # A look takes its time: nothing is known to stand still from before it, or until after it.
                now_s = session.clock.monotonic_s()
                told = reader.reaches(addresses, partitions)
                untold.clear()
                untold.update(
                    {tp: said.problem for tp, said in told.items() if isinstance(said, ClusterError)}
                )
                reaches = {tp: said for tp, said in told.items() if not isinstance(said, ClusterError)}
                standing.look(reaches, session.clock.monotonic_s())

            def is_over() -> bool:
                take_look()
                if standing.is_reached(now_s) and not untold:
                    return True
                return now_s - begun_s > patience_s and bool(untold or standing.written(now_s))

            take_look()
            session.await_true(is_over, step.timeout_s, poll_s=_POLL_S)
        if standing.is_reached(now_s) and not untold:
            starts = {tp: log.start_offset for tp, log in cluster.log_ends(partitions).items()}
            return StepOutcome(
                "ok",
                f"{len(partitions)} partitions stand still",
                {"ends": offsets_to_json(standing.ends), "starts": offsets_to_json(starts)},
            )
    except ClusterError as error:
        return StepOutcome("unknown", f"cannot be seen: {error.problem}")
    if session.is_cancelled():
        return StepOutcome("failed", "interrupted")
    writing = standing.written(now_s)
    return (
        _still_written(session, name, writing, begun_at_s) if writing else _not_known(standing, untold, name)
    )


def _not_known(standing: Standstill, untold: Mapping[TopicPartition, str], cluster: str) -> StepOutcome:
    """Nobody writes any more, and yet the logs do not stand still."""
    if untold:
        listed = "; ".join(f"{tp}: {why}" for tp, why in sorted(untold.items())[:_LISTED])
        return StepOutcome(
            "unknown",
            f"where the logs of {len(untold)} partitions end cannot be asked, and how far they can be read "
            f"does not tell it: {listed}",
        )
    beyond = standing.beyond
    if not beyond:
        return StepOutcome("failed", "replicas have come into sync only now: run it again")
    return StepOutcome(
        "failed",
        f"{sum(beyond.values()):,} records at their leaders cannot be read yet, and may still be "
        f"acknowledged: a replica in sync does not follow: {beyond_in_words(beyond, _LISTED)}. "
        f"Mend or stop its broker at {cluster}",
        {"beyond": {str(tp): records for tp, records in beyond.items()}},
    )


def _still_written(
    session: RunSession, cluster: str, writing: Sequence[TopicPartition], begun_at_s: float
) -> StepOutcome:
    found = producers_of(session, cluster, writing, begun_at_s)
    said = "; ".join(found[tp] for tp in writing[:_LISTED])
    more = f" and {len(writing) - _LISTED} partitions more" if len(writing) > _LISTED else ""
    return StepOutcome(
        "failed",
        f"still written: {said}{more}. Its principal is not among the denied, or is a super user: then"
        " only closing its listener helps",
        {"still_written": {str(tp): found[tp] for tp in writing}},
    )


def producers_of(
    session: RunSession, cluster: str, partitions: Iterable[TopicPartition], since_s: float
) -> dict[TopicPartition, str]:
    """Each partition with the producers that its leader saw writing lately, as far as it remembers any.

    Only idempotent producers leave a state at the leader; for others nothing but the address of the
    client tells who they are, and that only the broker's request log has.
    """
    wanted = list(partitions)
    try:
        states = session.java_admin(cluster).describe_producers(wanted)
    except DcctlError as error:
        return {tp: f"{tp} (its producers cannot be asked for: {error.problem})" for tp in wanted}
    found: dict[TopicPartition, str] = {}
    for tp in wanted:
        late = [state for state in states.get(tp, ()) if state.last_at_s >= since_s]
        ids = ", ".join(f"producer id {state.producer_id}" for state in late)
        found[tp] = f"{tp} by {ids or 'a producer without an id (not idempotent)'}"
    return found


def _cluster(step: Step) -> str:
    return str(step.arguments["cluster"])


def _rules(step: Step) -> frozenset[Acl]:
    return frozenset(rules_from_json(step.arguments["rules"]))


def _there(session: RunSession, step: Step) -> frozenset[Acl]:
    rules = _rules(step)
    return rules & session.access(_cluster(step)).rules(rule.principal for rule in rules)


def _awaited(session: RunSession, what_is_wrong: Callable[[], frozenset[Acl]]) -> frozenset[Acl]:
    """What is still wrong after a moment: a broker hears of a change after the controller has made it."""
    wrong: frozenset[Acl] = frozenset()

    def is_right() -> bool:
        nonlocal wrong
        wrong = what_is_wrong()
        return not wrong

    session.await_true(is_right, _SETTLED_S, poll_s=0.05)
    return wrong


def _had(step: Step, results: Results) -> frozenset[Acl]:
    recorded: Mapping[str, object] = results[str(step.arguments["recorded_by"])]
    return frozenset(rules_from_json(recorded["had"])) & _rules(step)  # type: ignore[arg-type]


def rules_of_this_run(step: Step, results: Results) -> frozenset[Acl]:
    """Those of the step's rules that were not there before."""
    return _rules(step) - _had(step, results)


def listed_rules(rules: Iterable[Acl]) -> str:
    """The first few rules in words, and how many more there are."""
    texts = [
        f"{rule.permission} {rule.operation} on {rule.resource_type.lower()} {rule.resource_name}"
        f" to {rule.principal}"
        for rule in sorted(rules)
    ]
    more = f" and {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
    return ", ".join(texts[:_LISTED]) + more
