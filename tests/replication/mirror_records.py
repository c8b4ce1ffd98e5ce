"""Checkpoints and heartbeats as MirrorMaker writes them, which dcctl only reads."""

from __future__ import annotations

import struct

from orchestrator.mirrors.mirrormaker2.formats import Checkpoint, Heartbeat


def encode_checkpoint(checkpoint: Checkpoint) -> tuple[bytes, bytes]:
    """Key and value of a checkpoint."""
    topic, partition = checkpoint.partition
    key = _string(checkpoint.group) + _string(topic) + struct.pack(">i", partition)
    value = struct.pack(">hqq", 0, checkpoint.upstream, checkpoint.downstream)
    return key, value + _string(checkpoint.metadata)


def encode_heartbeat(heartbeat: Heartbeat) -> tuple[bytes, bytes]:
    """Key and value of a heartbeat."""
    key = _string(heartbeat.source) + _string(heartbeat.target)
    return key, struct.pack(">hq", 0, heartbeat.timestamp_ms)


def _string(text: str) -> bytes:
    encoded = text.encode("utf-8")
    return struct.pack(">h", len(encoded)) + encoded
