"""The access rules of a sick cluster: brought in and taken back through whichever broker answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from orchestrator.engine import Results, StepOutcome
from orchestrator.errors import ClusterError
from orchestrator.moves.fencing import rules_in_words
from orchestrator.operations.actions.declaring import denied_by_rules, holding, look
from orchestrator.operations.left import LeftReader
from orchestrator.operations.run_session import RunSession
from orchestrator.planning.fence import rules_from_json, rules_to_json
from orchestrator.planning.plan import Step
from orchestrator.ports.servers import Access
from orchestrator.topology.rules.rule import plural
from orchestrator.values import Acl

READ_TIMEOUT_S = 2.0
_RULES_TIMEOUT_S = 5.0
_POLL_S = 0.3
T = TypeVar("T")


@look
def record_left_rules(session: RunSession, step: Step, _results: Results) -> StepOutcome:
    """Which of the step's rules are there already: they are not ours, and stay when ours go."""
    session.warm_up(str(step.arguments["cluster"]))
    there = _rules_there(session, step)
    return StepOutcome("ok", f"{len(there)} of them are there already", {"had": rules_to_json(there)})


@holding(denied_by_rules)
def deny_left(session: RunSession, step: Step, _results: Results) -> StepOutcome:
    """Bring the rules in through any broker that answers. Those that are there stay."""
    rules = _rules(step)
    _again(session, step, lambda access: access.add(rules))
    return StepOutcome("ok")


def rules_are_in_force_where_it_answers(session: RunSession, step: Step, _results: Results) -> StepOutcome:
    """Every rule is there, and every broker that answers has heard of it; those that do not are named.

    In ZooKeeper mode a broker does not tell how far it has read them: nobody is known to have heard.
    """
    cluster, rules = str(step.arguments["cluster"]), _rules(step)
    missing = rules - _rules_there(session, step)
    if missing:
        return StepOutcome("failed", f"not there: {rules_in_words(missing)}")
    with LeftReader(session.servers, session.topology, cluster, READ_TIMEOUT_S) as reader:
        brokers, silent = reader.ask_brokers(), sorted(reader.silent)
    if session.topology.clusters[cluster].metadata == "zookeeper":
        written = f"{plural(len(rules), 'rule')} written"
        said = f"{written}; in ZooKeeper mode no broker tells whether it has heard of them"
        return StepOutcome("ok", said, {"heard": [], "silent": silent})
    behind = session.await_brokers(cluster, step.timeout_s / 2, brokers=brokers)
    if behind:
        return StepOutcome("unknown", f"not known to have heard of it: {behind}")
    unknown = f"; unknown at {', '.join(silent)}, which does not answer" if silent else ""
    said = f"{plural(len(rules), 'rule')} in force at {plural(len(brokers), 'broker')}{unknown}"
    return StepOutcome("ok", said, {"heard": sorted(brokers), "silent": silent})


def take_left_rules_back(session: RunSession, step: Step, results: Results) -> StepOutcome:
    """Take away what this run brought in, through any broker that answers."""
    ours = _rules_of_this_run(step, results)
    _again(session, step, lambda access: access.remove(ours))
    return StepOutcome("ok")


def left_rules_are_back(session: RunSession, step: Step, results: Results) -> StepOutcome:
    """Nothing of it is there any more."""
    left = _rules_of_this_run(step, results) & _rules_there(session, step)
    return StepOutcome(
        "failed" if left else "ok", f"still there: {rules_in_words(left)}" if left else "as before"
    )


def _again(session: RunSession, step: Step, ask: Callable[[Access], T]) -> T:
    """Ask on new connections until one of the brokers that answer has done it, or half the time is over."""
    name = str(step.arguments["cluster"])
    answer: list[T] = []
    last = ClusterError(f"cluster {name}", "no broker answers")
    with LeftReader(session.servers, session.topology, name, READ_TIMEOUT_S) as reader:

        def is_answered() -> bool:
            nonlocal last
            addresses = sorted(reader.ask_brokers().values())
            if not session.may_write():
                last = ClusterError(f"cluster {name}", "not tried: interrupted, or the run's lock is lost")
                return False
            if not addresses:
                return False
            try:
                access = session.servers.access(
                    session.topology, name, addresses=addresses, timeout_s=_RULES_TIMEOUT_S
                )
                answer.append(ask(access))
            except ClusterError as error:
                last = error
                return False
            return True

        session.await_true(is_answered, step.timeout_s / 2, poll_s=_POLL_S)
    if not answer:
        raise last
    return answer[0]


def _rules_there(session: RunSession, step: Step) -> frozenset[Acl]:
    rules = _rules(step)
    return _again(session, step, lambda access: rules & access.rules(rule.principal for rule in rules))


def _rules(step: Step) -> frozenset[Acl]:
    return frozenset(rules_from_json(step.arguments["rules"]))


def _rules_of_this_run(step: Step, results: Results) -> frozenset[Acl]:
    """Those of the step's rules that were not there before."""
    recorded = results[str(step.arguments["recorded_by"]["step"])]
    return _rules(step) - frozenset(rules_from_json(recorded["had"]))
