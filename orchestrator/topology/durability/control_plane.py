"""What a loss means for the metadata quorum of a cluster (ZooKeeper's ensemble or KRaft's controllers)."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.topology.durability.losses import Loss, Server
from orchestrator.topology.durability.quorum import Vote, Votes
from orchestrator.topology.durability.values import ControlPlane
from orchestrator.topology.model import Cluster


def control_plane_after(cluster: Cluster, servers: Sequence[Server], loss: Loss) -> tuple[ControlPlane, str]:
    """The control plane after a loss, and the sentence that says why. `servers` are the cluster's."""
    voters = [server for server in servers if server.is_voter]
    kind = "ZooKeeper servers" if cluster.metadata == "zookeeper" else "controllers"
    place = loss.place_among(servers)
    is_touched = not loss.servers.isdisjoint(servers)
    if ("quorum" in cluster.unknown or not voters) and (is_touched or loss.has_datacenter):
        return "unknown", f"the file does not know where the {kind} are; they may be {place}"
    if not is_touched:
        return "continues", f"nothing of this cluster is {place}"
    is_hierarchical = cluster.metadata == "zookeeper" and cluster.quorum == "hierarchical"
    quorum = Votes(
        tuple(_voter(server, loss, is_hierarchical=is_hierarchical) for server in voters), is_hierarchical
    )
    counted = _counted(quorum, kind)
    match quorum.outcome:
        case "holds":
            return "continues", counted + _margin(quorum, can_drop=cluster.voters == "dynamic")
        case "complete":
            if helpless := _helpless(cluster, voters, loss):
                return "lost", counted + helpless
            return "needs-procedure", counted + _complete(quorum, cluster)
        case "incomplete":
            return "lost", counted + _incomplete(quorum)


_ENOUGH_TO_SPARE_ONE = 3
_DROPPED = ", as long as lost voters count (dcctl failover FILE --drop-dead-voters)"


def _helpless(cluster: Cluster, voters: Sequence[Server], loss: Loss) -> str:
    """Why no quorum can be formed of those that are left, though they have all; empty where one can."""
    if any(server.is_broker and server not in loss.servers for server in voters):
        return _COMBINED
    if cluster.metadata == "zookeeper":
        return ""
    if cluster.version < FIRST_WITH_ANOTHER_LIST:
        return _OLD
    return _DYNAMIC if cluster.voters == "dynamic" else ""


def _voter(server: Server, loss: Loss, *, is_hierarchical: bool) -> Vote:
    is_lost = server in loss.servers
    return Vote(server.dc, is_lost, server.weight) if is_hierarchical else Vote("", is_lost)


# Seen on Kafka 4.3.1: a quorum of the survivors forms, but all partitions stay without a leader.
_COMBINED = (
    "; they share their processes with brokers, which drop out of the in-sync replicas when they"
    " are restarted without a quorum"
)


FIRST_WITH_ANOTHER_LIST = (3, 8)
"""Earlier controllers start with no other voters than those in their `quorum-state` (KAFKA-16526)."""
_OLD = (
    "; controllers before Kafka 3.8 start with no other voters than those in their quorum-state files, so"
    " none can be left out; with 3.8 or newer a quorum could be formed of those that are left"
)


# Kafka has no tool for it (KIP-1347 is under discussion).
_DYNAMIC = (
    "; dynamic voters stand in the metadata log, which nobody can change without a quorum; with"
    " static ones a quorum could be formed of those that are left"
)


def _counted(quorum: Votes, kind: str) -> str:
    left, total = len(quorum.survivors), len(quorum.voters)
    if not left:
        return f"none of the {total} {kind} is left"
    if left == total:
        return f"all {total} {kind} are left"
    of_all = f"{left} of {total} {kind} {'is' if left == 1 else 'are'} left"
    groups = len(quorum.group_weights)
    if quorum.is_hierarchical:
        won = quorum.groups_won(quorum.survivors)
        return (
            f"{of_all}, with a majority in {won} of {groups} data centres, and a quorum needs"
            f" {quorum.groups_needed}"
        )
    return f"{of_all}, and a quorum needs {total // 2 + 1}"


def _margin(quorum: Votes, *, can_drop: bool) -> str:
    """A warning where the next failure could stop it; `can_drop`: the lost voters can be taken out of it."""
    left = quorum.survivors
    if len(left) == len(quorum.voters):
        return ""
    is_last = any(not quorum.is_quorum(left[:index] + left[index + 1 :]) for index in range(len(left)))
    if not is_last:
        return ""
    spares_one = can_drop and len(left) >= _ENOUGH_TO_SPARE_ONE
    return "; one more failure can stop it" + (_DROPPED if spares_one else "")


_FEWER = (
    "; where some of their hosts do not answer, the others are enough if they are more than half of each"
    " group, and one more failure then stops it"
)


def _complete(quorum: Votes, cluster: Cluster) -> str:
    left, needed = len(quorum.survivors), quorum.survivors_needed
    known = f"any {needed} of them surely hold" if needed < left else "all of them together surely hold"
    if left == 1:
        known = "it surely holds"
    beside = "; Apache Kafka supports no procedure for that" if cluster.metadata == "kraft" else ""
    beside = _FEWER if needed < left and cluster.voters == "static" else beside
    return f"; {known} all committed metadata, so a quorum formed of all {left} loses nothing{beside}"


def _incomplete(quorum: Votes) -> str:
    lost = len(quorum.voters) - len(quorum.survivors)
    return f"; the {lost} lost may alone hold the last changes" if quorum.survivors else ""
