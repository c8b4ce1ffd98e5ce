"""Why a topic fares as it does: one sentence with the numbers that decide it."""

from __future__ import annotations

from orchestrator.topology.durability.fates import ClusterState, Fate
from orchestrator.topology.durability.placement import ReplicasLost
from orchestrator.topology.durability.shapes import Shape


def topic_reason(shape: Shape, fate: Fate, state: ClusterState) -> str:
    """The sentence for every topic of this shape. `state` is its own cluster after the loss."""
    if fate.lost is None:
        what = "where its replicas are" if shape.is_seen else "its replicas and min.insync.replicas"
        return f"the file does not know {what}"
    clauses = [_records(shape, fate, fate.lost, state)]
    if fate.lost.most:
        clauses += [_writes(shape, fate, fate.lost.most, state), _weak_producers(shape, fate)]
    elif state.control_plane in ("needs-procedure", "lost"):
        clauses.append("it serves on, but without a quorum no leader, ISR or setting of it can change")
    return "; ".join(clause for clause in clauses if clause)


def _records(shape: Shape, fate: Fate, lost: ReplicasLost, state: ClusterState) -> str:
    total, needed = shape.replicas, shape.min_insync_replicas
    if not lost.most:
        return f"no replica is {state.place}"
    if lost.most == total:
        every = "the only replica" if total == 1 else f"all {total} replicas"
        if lost.fewest < total:
            return f"partitions may have {every} {state.place}"
        return f"{every} {'is' if total == 1 else 'are'} {state.place}"
    at_most = "at most " if lost.fewest < lost.most else ""
    counted = f"{at_most}{lost.most} of {total} replicas {'is' if lost.most == 1 else 'are'} {state.place}"
    if needed <= lost.most:
        return f"{counted}, and min.insync.replicas {needed} lets a record be acknowledged by no others"
    if fate.acked == "at-risk":
        return f"{counted}, and unclean.leader.election.enable lets one lead that lacks acknowledged records"
    return f"{counted}, below min.insync.replicas {needed}: each acknowledged record has a copy elsewhere"


def _writes(shape: Shape, fate: Fate, lost: int, state: ClusterState) -> str:
    """Why writes go on or not, where a replica is lost."""
    left, needed = shape.replicas - lost, shape.min_insync_replicas
    lowered = f"min.insync.replicas to be lowered to {left}" if 0 < left < needed else ""
    match fate.rto:
        case "leader-election":
            return f"the {left} left take writes"
        case "procedure":
            waits = "" if state.control_plane == "continues" else "a new quorum"
            return f"writes wait for {', then for '.join(filter(None, (waits, lowered)))}"
        case "switch-clients":
            first = "" if fate.is_taker_ready else ", after a procedure there"
            return f"clients can go on at {fate.taker}{first}, with what the mirror has copied"
        case "site-return":
            return "without a quorum no leader and no ISR can change" if left else _gone(shape, fate)
        case _:
            return "whether writes go on depends on a quorum that the file does not know"


def _gone(shape: Shape, fate: Fate) -> str:
    """What is left where no replica is, and nobody can take over."""
    if fate.holders:
        return f"{' and '.join(fate.holders)} has what the mirror has copied, but takes no writes"
    if shape.copies:
        return f"so is its mirrored copy at {' and '.join(copy.cluster for copy in shape.copies)}"
    return "there is no copy anywhere else"


def _weak_producers(shape: Shape, fate: Fate) -> str:
    if not shape.weak_producers or fate.rpo != "possible-loss":
        return ""
    return f"records of {', '.join(shape.weak_producers)} may be on one lost leader alone"
