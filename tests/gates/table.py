"""Every gate of every verb, once refused and once unknown; and those for which that cannot be, with the reason."""

from __future__ import annotations

from collections.abc import Mapping

from tests.gates.cases_both_up import BOTH_UP
from tests.gates.cases_lost import LOST
from tests.gates.cases_rejoining import RETURNED

ALL = (*BOTH_UP, *LOST, *RETURNED)

Gate = tuple[str, str]
"""Verb and gate."""

NEVER_REFUSED: Mapping[Gate, str] = {
    ("switchover", "mirror-lag"): "how far behind it is does not refuse: the drain has its own limit",
    (
        "failback",
        "positions-known",
    ): "they are translated once nothing is written any more, and what fails is rolled back",
    ("failback", "queries"): "a checkpoint that the standby works with: tests/verbs/test_failback.py",
    ("switchover", "queries"): "by what the watcher has copied: tests/verbs/test_switchover.py",
    ("failback", "mirror-trusted"): "the same workers and copies as of a planned move, whose case it has",
    ("failback", "source-primary"): "where it is back already nothing is left to do, which is status 0",
    ("fence", "reachable"): "it answers, or nobody knows",
    ("unfence", "reachable"): "it answers, or nobody knows",
    ("leaders", "reachable"): "it answers, or nobody knows",
    (
        "leaders",
        "leaders-known",
    ): "who leads is told, or nobody knows: what another replica leads is no refusal",
    ("apply", "clusters-known"): "it was seen, or nobody knows",
    ("apply", "no-reassignment"): "needs two brokers: tests/gates/test_moving.py",
}
NEVER_UNKNOWN: Mapping[Gate, str] = {
    ("switchover", "queries"): "state that nobody can judge: tests/verbs/test_switchover.py",
    ("failover", "attested"): "a person's word needs no measurement",
    ("apply", "brokers-alive"): "what was not seen is for clusters-known",
    ("apply", "no-reassignment"): "what was not seen is for clusters-known",
    ("apply", "possible"): "what was not seen is for clusters-known",
}
