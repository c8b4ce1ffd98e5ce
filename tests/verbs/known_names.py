"""Whether a plan can be run: every step is an effect that this version has, with arguments that fit."""

from __future__ import annotations

from orchestrator.moves.within_cluster.effects import WITHIN_CLUSTER_EFFECTS
from orchestrator.reconcile.runbook import LAYOUT_EFFECTS
from orchestrator.runs.effect import Reversible, Verified, VerifiedUndo
from orchestrator.runs.hooks import HOOK_EFFECTS
from orchestrator.runs.plan import Plan
from orchestrator.runs.registry import Registry
from orchestrator.verbs.registration import EFFECTS

OF_APPLIES_ONLY = set(LAYOUT_EFFECTS) - set(HOOK_EFFECTS)
# They hold nothing; they are told of and killed in tests/twin/test_leaders.py and test_site_loss.py.
WITHIN_CLUSTERS = set(WITHIN_CLUSTER_EFFECTS)
OF_MOVES = [effect for effect in EFFECTS if effect not in OF_APPLIES_ONLY | WITHIN_CLUSTERS]


def assert_all_known(plan: Plan, effects: Registry = EFFECTS) -> None:
    """Every step is an effect, read back from its arguments, that can do what the step says of it."""
    assert plan.steps
    for step in plan.steps:
        effect = effects.effect(step)
        assert step.verify in (None, effect.NAME), step.id
        assert step.verify is None or isinstance(effect, Verified), step.id
        assert step.compensation in (None, effect.NAME), step.id
        assert step.compensation is None or isinstance(effect, Reversible), step.id
        assert step.verify_undone in (None, effect.NAME), step.id
        assert step.verify_undone is None or isinstance(effect, VerifiedUndo), step.id
