"""The procedure for a sick site: what answers is fenced and drained, then its standby takes over. Pure."""

from __future__ import annotations

from orchestrator.errors import UsageError
from orchestrator.planning.failover import failover_plan, failover_situation
from orchestrator.planning.fence import Fenced
from orchestrator.planning.fence_gates import fenceable
from orchestrator.planning.guard_steps import with_guards
from orchestrator.planning.plan import Plan
from orchestrator.planning.request import FailoverRequest, mirror_to_fail_over
from orchestrator.planning.sick_gates import SickPicture, SickSituation, can_fence, sick_gates, symptoms
from orchestrator.planning.sick_steps import sick_steps
from orchestrator.planning.switchover import moved_principals
from orchestrator.planning.switchover_steps import roaming_rules
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import Acl


def plan_sick_failover(topology: Topology, picture: SickPicture, request: FailoverRequest) -> Plan:
    """What leaving a sick site would do now, what it would cost, and which gates allow it.

    Raises `UsageError` where the request fits no mirror of the topology, or several.
    """
    mirror = mirror_to_fail_over(topology, request)
    who = _principals(topology, mirror, request)
    left = picture.left.value
    common = failover_situation(topology, mirror, picture.observation, request, left)
    s = SickSituation(common=common, left=picture.left, principals=who.principals)
    unread = {} if left is None else left.unread
    steps = sick_steps(
        topology,
        mirror,
        who,
        is_fenced=can_fence(s),
        allowed_records=_allowed(s),
        unread=unread,
        kept_off_target=_kept_off_target(topology, mirror, picture, who),
    )
    steps = with_guards(steps, mirror, picture.observation, common.window, is_lost=False)
    facts = {
        "symptoms": symptoms(s),
        "unread": {str(tp): why for tp, why in sorted(unread.items())},
        "denied_writing": {name: list(apps) for name, apps in who.writers.items()},
        "denied_reading": {name: list(apps) for name, apps in who.readers.items()},
    }
    return failover_plan(common, sick_gates(s), steps, picture.digests(), facts)


def _principals(topology: Topology, mirror: Replication, request: FailoverRequest) -> Fenced:
    try:
        return moved_principals(topology, mirror)
    except UsageError:
        if not request.accept_unfenced:
            raise
        return Fenced({}, {}, ())


def _kept_off_target(
    topology: Topology, mirror: Replication, picture: SickPicture, who: Fenced
) -> tuple[Acl, ...]:
    """Rules against producers that move themselves; none where the target could not enforce them."""
    rules = roaming_rules(topology, mirror, who)
    principals = tuple(sorted({rule.principal for rule in rules}))
    gate = fenceable(picture.target_access, topology, mirror.target, principals)
    return rules if gate.outcome == "ok" else ()


def _allowed(s: SickSituation) -> int | None:
    """Records that may be left uncopied where they can be counted; None for any number."""
    accepted, budget = s.common.request.accept_loss, s.common.topology.failover.max_loss
    return accepted if accepted is not None else budget.records
