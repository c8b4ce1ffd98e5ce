"""The plans of the verbs that move: the steps of their runbooks with gates and prices. Pure."""

from __future__ import annotations

from orchestrator.errors import UsageError
from orchestrator.moves.effects import PARTICIPANTS
from orchestrator.moves.failback import failback
from orchestrator.moves.failover import Degraded, Opening, failover
from orchestrator.moves.mirror_ref import MirrorRef, ref_to
from orchestrator.moves.participants import Accepted, Participants
from orchestrator.moves.runbook import Runbook
from orchestrator.moves.switchover import switchover
from orchestrator.moves.way import Item, Leg, Move, Place, Reach, Way
from orchestrator.planning.failback import (
    FailbackRequest,
    failback_plan,
    mirror_to_fail_back,
    principals_back,
)
from orchestrator.planning.failback_picture import FailbackPicture, Past
from orchestrator.planning.failover import failover_plan, failover_situation
from orchestrator.planning.fence import Fenced, roaming_rules
from orchestrator.planning.fence_gates import fenceable
from orchestrator.planning.gates import gate_results
from orchestrator.planning.guarding import WAITED_FOR_S
from orchestrator.planning.guards import may_open_yet, not_clear
from orchestrator.planning.observation import Observation
from orchestrator.planning.opening import guards_of, open_since_s
from orchestrator.planning.plan import Plan
from orchestrator.planning.request import FailoverRequest, mirror_to_fail_over
from orchestrator.planning.samples import LossWindow
from orchestrator.planning.sick_gates import SickPicture, SickSituation, can_fence, sick_gates, symptoms
from orchestrator.planning.switchover import (
    SwitchoverRequest,
    mirror_to_switch_over,
    moved_principals,
    switchover_plan,
)
from orchestrator.planning.switchover_picture import SwitchoverPicture
from orchestrator.topology.model import Topology

_AT_ONCE_S = 0.1
_SILENT_S = 1.0


def plan_failover(
    topology: Topology,
    observation: Observation,
    request: FailoverRequest,
    *,
    offset_shift: int = 0,
    them: Participants = PARTICIPANTS,
) -> Plan:
    """What the failover of a lost source would do now, what it would cost, and which gates allow it.

    `offset_shift`: a rehearsal's sabotage, in offsets. Raises `UsageError` where the request fits no mirror
    of the topology, or several.
    """
    mirror = mirror_to_fail_over(topology, request)
    s = failover_situation(topology, mirror, observation, request)
    book, move = Runbook(), along(topology, ref_to(mirror), _NOBODY, them, reach="gone")
    opening, accepted = _opening(observation, s.window), Accepted(offset_shift=offset_shift)
    failover(book, move, them, opening, accepted, degraded={})
    return failover_plan(s, gate_results(s), book, observation.digests())


def plan_sick_failover(
    topology: Topology, picture: SickPicture, request: FailoverRequest, *, them: Participants = PARTICIPANTS
) -> Plan:
    """What leaving a sick site would do now, what it would cost, and which gates allow it.

    Raises `UsageError` where the request fits no mirror of the topology, or several.
    """
    mirror = mirror_to_fail_over(topology, request)
    try:
        who = moved_principals(topology, mirror)
    except UsageError:
        if not request.accept_unfenced:
            raise
        who = _NOBODY
    left = picture.left.value
    common = failover_situation(topology, mirror, picture.observation, request, left)
    s = SickSituation(common=common, left=picture.left, principals=who.principals)
    unread = {} if left is None else left.unread
    known = Degraded(
        is_fenced=can_fence(s),
        is_kept_off=_is_kept_off(topology, picture, mirror.source, mirror.target, who),
        unread=tuple(sorted(map(str, unread))),
    )
    book, move = Runbook(), along(topology, ref_to(mirror), who, them, reach="partial")
    opening = _opening(picture.observation, common.window)
    failover(book, move, them, opening, Accepted(loss=_allowed(s)), degraded={mirror.source: known})
    facts = {
        "symptoms": symptoms(s),
        "unread": {str(tp): why for tp, why in sorted(unread.items())},
        "denied_writing": {name: list(apps) for name, apps in who.writers.items()},
        "denied_reading": {name: list(apps) for name, apps in who.readers.items()},
    }
    return failover_plan(common, sick_gates(s), book, picture.digests(), facts)


def plan_switchover(
    topology: Topology,
    picture: SwitchoverPicture,
    request: SwitchoverRequest,
    *,
    them: Participants = PARTICIPANTS,
) -> Plan:
    """What a planned move would do now, and which gates allow it. It loses nothing, or is taken back."""
    mirror = mirror_to_switch_over(topology, request.to)
    move = along(topology, ref_to(mirror), moved_principals(topology, mirror), them)
    book = Runbook()
    switchover(book, move, them, Accepted(reread=request.accept_reread), timeout_s=request.timeout_s)
    return switchover_plan(topology, picture, request, book)


def plan_failback(
    topology: Topology,
    picture: FailbackPicture,
    request: FailbackRequest,
    *,
    them: Participants = PARTICIPANTS,
) -> Plan:
    """What going back would do now, what would be late or missing, and which gates allow it."""
    mirror = mirror_to_fail_back(topology, request.to)
    who_home, who_standby = principals_back(topology, mirror)
    accepted = Accepted(
        loss=request.accept_loss, unrecorded=request.accept_unrecorded, reread=request.accept_reread
    )
    starts = (picture.past.value or Past()).starts
    move = along(topology, ref_to(mirror).other_way, who_standby, them)
    book = Runbook()
    failback(book, move, them, accepted, who_home, starts, timeout_s=request.timeout_s)
    return failback_plan(topology, picture, request, book)


def along(
    topology: Topology, mirror: MirrorRef, who: Fenced, them: Participants, *, reach: Reach = "whole"
) -> Move:
    """Everybody of the cluster where a mirror's topics live by the file, from its source to its target.

    Positions in copies lead back against the file's own mirror, wherever one is gone along the other way.
    """
    routes = ((Leg(mirror=mirror),), (Leg(mirror=mirror.other_way, is_inverse=True),))
    items = tuple(
        Item(name=name, kind=kind.name, routes=() if kind.writes else routes)
        for kind in them.kinds
        for name in kind.at(topology, mirror.home)
    )
    topics = tuple(mirror.of(topology).topics)
    themselves = [p for p in topology.producers_of(mirror.home) if p.moved_by == "itself"]
    early = {topic for producer in themselves for topic in producer.topics}.intersection(topics)
    way = Way(
        topology=topology,
        left=Place(mirror.source),
        entered=Place(mirror.target),
        reach=reach,
        items=items,
        topics=topics,
        home=mirror.home,
        drains=(mirror,),
        pauses=(mirror.other_way,) if mirror.is_back else (),
        who=who,
        # Of a place that is gone nobody is kept off anything: rules cannot be written there.
        roaming=roaming_rules(topology, mirror.home, who),
        written_early=tuple(sorted(early)),
    )
    return Move(topology=topology, ways=(way,))


_NOBODY = Fenced({}, {}, ())


def _opening(seen: Observation, window: LossWindow | None) -> Opening:
    since_s, said, probe = open_since_s(seen, window), guards_of(seen), seen.source.value
    is_waited_for = bool(may_open_yet(said, since_s) or not_clear(said, since_s))
    is_silent = probe is not None and "silent" in probe.addresses.values()
    return Opening(
        since_s=since_s,
        wait_s=WAITED_FOR_S if is_waited_for else _AT_ONCE_S,
        look_s=_SILENT_S if is_silent else _AT_ONCE_S,
    )


def _is_kept_off(topology: Topology, picture: SickPicture, home: str, target: str, who: Fenced) -> bool:
    """Whether there are producers that move themselves, and the target can keep them off."""
    rules = roaming_rules(topology, home, who)
    principals = tuple(sorted({rule.principal for rule in rules}))
    return bool(rules) and fenceable(picture.target_access, topology, target, principals).outcome == "ok"


def _allowed(s: SickSituation) -> int | None:
    """Records that may be left uncopied where they can be counted; None for any number."""
    accepted, budget = s.common.request.accept_loss, s.common.topology.failover.max_loss
    return accepted if accepted is not None else budget.records
