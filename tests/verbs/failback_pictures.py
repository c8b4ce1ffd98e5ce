"""A primary that is back and a standby where everything works: tests change one thing each."""

from __future__ import annotations

from orchestrator.mirrors.mirrormaker2.connectors import connector_names
from orchestrator.moves.request import FailbackRequest
from orchestrator.replication.engine import MirrorSettings
from orchestrator.replication.mirror_ref import source_partitions
from orchestrator.runs.coordination_state import CoordinationState, EarlierRun
from orchestrator.runs.estate_record import LogsAtDeparture
from orchestrator.snapshot.back_starts import BackStarts
from orchestrator.snapshot.observation import AccessState, SourceProbe, TopicState
from orchestrator.snapshot.rejoining import Past
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.snapshot.snapshot import ClusterView, MirrorView, Snapshot
from orchestrator.topology.model import Topology
from orchestrator.values import EpochEnd, LogEnd
from tests.verbs import pictures
from tests.verbs.pictures import AHEAD, MIRROR, MIRRORED, host, part

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


def picture() -> Snapshot:
    """The mirror stopped at `MIRRORED` of `END` records of each partition; the rest is the late tail."""
    partitions = source_partitions(topology(), MIRROR)
    counts = {name: sum(tp.topic == name for tp in partitions) for name in MIRROR.topics}
    own = {name: TopicState(name, (1,) * n, (3,) * n, 2) for name, n in counts.items()}
    mirrored = {MIRROR.mirrored_topic(name): state for name, state in own.items()}
    access = part(AccessState("StandardAuthorizer", None, "User:operator"))
    left = LogsAtDeparture(
        cluster="west",
        ends=tuple((tp.topic, tp.partition, END, 1) for tp in partitions),
        topic_ids={name: name for name in MIRROR.topics},
    )
    copies = dict.fromkeys((MIRROR.mirrored(tp) for tp in partitions), LogEnd(0, MIRRORED))
    states = part(dict.fromkeys(connector_names(MIRROR), "STOPPED"))
    standby = ClusterView(
        probe=part(SourceProbe({"east:1": "yes"}, "", "id-east")),
        topics=part({**own, **mirrored}),
        log_ends=part({**copies, **dict.fromkeys(partitions, LogEnd(0, 700))}),
        committed=part({name: dict.fromkeys(copies, 98_000) for name in pictures.GROUPS}),
        access=access,
        cluster_id="id-east",
    )
    home = ClusterView(
        brokers=part({1: "west:1", 2: "west:2", 3: "west:3"}),
        topics=part(own),
        log_ends=part(dict.fromkeys(partitions, LogEnd(0, END, 1))),
        epoch_ends=part(dict.fromkeys(partitions, EpochEnd(1, END))),
        access=access,
        cluster_id="id-west",
    )
    ahead = MirrorView(
        states=states,
        settings=part(MirrorSettings({"errors.tolerance": "none"}, in_transactions=False)),
        read=part(dict.fromkeys(partitions, MIRRORED - 1)),
        samples=part(pictures.history()),
    )
    back = MirrorView(
        states=states,
        settings=part(MirrorSettings({}, in_transactions=False)),
        samples=part(SampleHistory()),
    )
    working = {**dict.fromkeys(copies, 97_000), **dict.fromkeys(partitions, 600)}
    return Snapshot(
        at_s=pictures.NOW_S,
        clusters={"east": standby, "west": home},
        mirrors={AHEAD.other_way: back, AHEAD: ahead},
        coordination=part(AFTER_A_FAILOVER),
        inventory=part((host("west-1", "west"),)),
        past=part(Past(starts=BackStarts(recorded=dict.fromkeys(partitions, 500)), left=left)),
        own={"spark": part({"revenue": pictures.checkpoint_at(working)})},
    )
