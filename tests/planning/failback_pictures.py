"""A primary that is back and a standby where everything works: tests change one thing each."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.planning.estate_record import LogsLeft
from orchestrator.planning.request import FailbackRequest
from orchestrator.planning.failback_picture import FailbackPicture, Past, StandbySide
from orchestrator.planning.fence_gates import AccessState
from orchestrator.planning.observation import CoordinationState, EarlierRun, SourceProbe, TopicState
from orchestrator.planning.positions import source_partitions
from orchestrator.replication.connectors import connector_names
from orchestrator.topology.model import Topology
from orchestrator.values import EpochEnd, LogEnd
from tests.planning import pictures
from tests.planning.pictures import MIRROR, MIRRORED, host, part

REQUEST = FailbackRequest(to="west", by="ada", reason="it is back")
END = pictures.written(pictures.LOST_AT_S)
AFTER_A_FAILOVER = CoordinationState(
    "",
    (
        EarlierRun(
            run_id="failover-1",
            verb="failover",
            source="west",
            target="east",
            started_at_s=pictures.LOST_AT_S - 7200,
            outcome="ok",
        ),
    ),
)


def topology() -> Topology:
    """The example, its Spark query with it."""
    return pictures.topology()


def picture() -> FailbackPicture:
    """The mirror stopped at `MIRRORED` of `END` records of each partition; the rest is the late tail."""
    partitions = source_partitions(topology(), MIRROR)
    counts = {name: sum(tp.topic == name for tp in partitions) for name in MIRROR.topics}
    own = {name: TopicState(name, (1,) * n, (3,) * n, 2) for name, n in counts.items()}
    mirrored = {MIRROR.mirrored_topic(name): state for name, state in own.items()}
    access = part(AccessState("StandardAuthorizer", None, "User:operator"))
    observation = replace(
        pictures.observation(),
        source=part(SourceProbe({"east:1": "yes"}, "", "id-east")),
        topics=part(own),
        log_ends=part(dict.fromkeys(partitions, LogEnd(0, END, 1))),
        connectors=part(dict.fromkeys(connector_names(MIRROR), "STOPPED")),
        coordination=part(AFTER_A_FAILOVER),
        inventory=part((host("west-1", "west"),)),
        target_id="id-west",
    )
    left = LogsLeft(
        cluster="west",
        ends=tuple((tp.topic, tp.partition, END, 1) for tp in partitions),
        topic_ids={name: name for name in MIRROR.topics},
    )
    copies = dict.fromkeys((MIRROR.mirrored(tp) for tp in partitions), LogEnd(0, MIRRORED))
    return FailbackPicture(
        observation=observation,
        standby=StandbySide(
            topics=part({**own, **mirrored}),
            log_ends=part({**copies, **dict.fromkeys(partitions, LogEnd(0, 700))}),
            committed=part({name: dict.fromkeys(copies, 98_000) for name in pictures.GROUPS}),
            access=access,
        ),
        home_access=access,
        last_read=part(dict.fromkeys(partitions, MIRRORED - 1)),
        samples=part(pictures.history()),
        epoch_ends=part(dict.fromkeys(partitions, EpochEnd(1, END))),
        past=part(Past(starts=dict.fromkeys(partitions, 500), left=left)),
        checkpoints=part(
            {
                "revenue": pictures.checkpoint_at(
                    {**dict.fromkeys(copies, 97_000), **dict.fromkeys(partitions, 600)}
                )
            }
        ),
    )
