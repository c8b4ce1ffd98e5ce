"""West with one broker of three away, and the example's east as it should be: tests change one thing each."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.moves.request import FailoverRequest
from orchestrator.ports.part import Part
from orchestrator.replication.mirror_ref import source_partitions
from orchestrator.snapshot.observation import AccessState, SourceProbe
from orchestrator.snapshot.partial_view import PartialPartition, PartialView
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Failover, MaxLoss
from orchestrator.values import LogEnd, TopicPartition
from tests.verbs.pictures import (
    GROUPS,
    LOST_AT_S,
    MIRROR,
    MIRRORED,
    history,
    observation,
    part,
    topology,
    with_cluster,
    with_parts,
)

FILE = replace(topology(), failover=Failover(max_loss=MaxLoss(records=100_000)))
REQUEST = FailoverRequest(sick=("west",), to="east", by="ada", reason="a rack burns")
PARTITIONS = source_partitions(topology(), MIRROR)
NO_CONTROLLER: Part[str] = Part("cluster west", 0.0, None, "no majority: of 3 controllers 2, 3 are silent")


def left(
    *,
    brokers: int = 2,
    unread: dict[TopicPartition, str] | None = None,
    end: int = MIRRORED + 500,
    in_sync: int = 2,
) -> PartialView:
    """Some brokers that answer; every partition led by the first, but for those that cannot be read."""
    away = unread or {}
    return PartialView(
        brokers={number: f"west:{number}" for number in range(1, brokers + 1)},
        silent={f"west:{number}": "it hangs" for number in range(brokers + 1, 4)},
        partitions={
            tp: PartialPartition(3, 1, None, away[tp])
            if tp in away
            else PartialPartition(1, in_sync, LogEnd(0, end), log_end=end)
            for tp in PARTITIONS
        },
        controller=part("controller 1"),
        access=part(AccessState("StandardAuthorizer", None, "User:operator")),
        committed={group: dict.fromkeys(PARTITIONS, 98_000) for group in GROUPS},
    )


def picture(found: PartialView | None = None) -> Snapshot:
    """The target as for any failover; the watcher still samples what answers."""
    probe = SourceProbe({"west:1": "yes", "west:2": "yes", "west:3": "silent"}, "", "id-west")
    base = with_parts(observation(), source=part(probe), samples=part(history(silent_since_s=LOST_AT_S)))
    access = part(AccessState("StandardAuthorizer", None, "User:operator"))
    return with_cluster(with_cluster(base, "west", left=part(found or left())), "east", access=access)
