"""How far a mirror has read, as Connect keeps it."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.mirrors.connect import Workers, ask_connect, stopped
from orchestrator.mirrors.mirrormaker2.connectors import names_of
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.effect import Done, Nothing, Outcome, Running
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition


def mirror_position(run: Running, mirror: MirrorRef) -> dict[TopicPartition, int]:
    """The last source offset that the mirror has read, as Connect has it. Raises `ConnectError`."""
    connector = names_of(run.port(Topology), mirror).source
    return run.port(Workers).connect(mirror.workers).source_offsets(connector)


def set_mirror_position(
    run: Running, mirror: MirrorRef, wanted: Mapping[TopicPartition, int | None]
) -> Outcome[Nothing]:
    """Set the last source offset read (None: nothing was read), by source partition.

    Connect takes offsets of a stopped connector only. Raises `ConnectError`.
    """
    connect = run.port(Workers).connect(mirror.workers)
    connector = names_of(run.port(Topology), mirror).source
    asked = stopped(run, connect, connector)
    if not isinstance(asked, Done):
        return asked
    return ask_connect(
        run,
        [connector],
        lambda name: connect.set_source_offsets(name, mirror.source, wanted),
        run.timeout_s / 4,
    )
