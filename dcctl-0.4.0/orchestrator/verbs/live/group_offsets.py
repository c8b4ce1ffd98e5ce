"""Committed offsets of groups, saved to a file and written back."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.adapters.files import put_file
from orchestrator.errors import DcctlError, UsageError
from orchestrator.estate.live.connections import kafka_cluster
from orchestrator.moves.request import refuse_unknown_cluster
from orchestrator.replication.offsets_json import offsets_from_json, offsets_to_json
from orchestrator.runs.live.by_hand import ByHand, by_hand
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition

_KIND = "group-offsets"

GroupOffsets = Mapping[str, Mapping[TopicPartition, int]]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Committed offsets (the next to read) of groups at one cluster, at one moment (Unix seconds)."""

    cluster: str
    taken_at_s: float
    groups: GroupOffsets

    def as_json(self) -> dict[str, Any]:
        """The file's content."""
        return {
            "format_version": 1,
            "kind": _KIND,
            "cluster": self.cluster,
            "taken_at_s": self.taken_at_s,
            "groups": {group: offsets_to_json(offsets) for group, offsets in sorted(self.groups.items())},
        }


def take_snapshot(topology: Topology, cluster: str, groups: Iterable[str] = ()) -> Snapshot:
    """Committed offsets at `cluster`: of `groups`, or of every group that has any.

    Raises `UsageError` for a cluster that the file does not have, `ClusterError` where it does not answer.
    """
    refuse_unknown_cluster(topology, cluster, "cluster")
    kafka = kafka_cluster(topology, cluster)
    taken_at_s = time.time()
    found = kafka.committed(tuple(groups) or sorted(kafka.groups()))
    return Snapshot(cluster, taken_at_s, {group: offsets for group, offsets in found.items() if offsets})


def write_snapshot(snapshot: Snapshot, file: Path) -> None:
    """Write the file, whole or not at all. Raises `DcctlError` naming it."""
    put_file(file, json.dumps(snapshot.as_json(), indent=2) + "\n")


def read_snapshot(file: Path) -> Snapshot:
    """Read the file. Raises `DcctlError` if it is not one of ours."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["kind"] != _KIND or data["format_version"] != 1:
            raise ValueError(data["kind"])  # noqa: TRY301 - the same answer as for any other foreign file
        groups = {group: offsets_from_json(offsets) for group, offsets in data["groups"].items()}
        return Snapshot(str(data["cluster"]), float(data["taken_at_s"]), groups)
    except OSError as error:
        raise DcctlError(str(file), f"cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        hint = "`dcctl offsets snapshot FILE` writes them"
        raise DcctlError(str(file), "is not a snapshot of group offsets", hint) from None


def restore_snapshot(
    topology: Topology,
    cluster: str,
    snapshot: Snapshot,
    groups: Iterable[str] = (),
    *,
    keep: Callable[[Snapshot], None] = lambda _: None,
) -> Snapshot:
    """Write a snapshot's offsets back at `cluster`; returns what stood there before.

    Nothing is written if any of the groups has running members, or an offset lies outside its log.
    Partitions that the snapshot does not name keep their offsets. `keep` gets what stood there before, while
    it still does. Raises `DcctlError`, and `LockHeldError` where a run is under way.
    """
    refuse_unknown_cluster(topology, cluster, "cluster")
    with by_hand(topology, [cluster], f"offsets restore at {cluster}") as hand:
        return _restored(topology, cluster, snapshot, groups, hand, keep)


def _restored(  # noqa: PLR0917 - what is restored, and under whose lock
    topology: Topology,
    cluster: str,
    snapshot: Snapshot,
    groups: Iterable[str],
    hand: ByHand,
    keep: Callable[[Snapshot], None],
) -> Snapshot:
    wanted = {group: snapshot.groups[group] for group in _known_groups(snapshot, groups)}
    kafka = kafka_cluster(topology, cluster)
    running = sorted(group for group, members in kafka.group_members(wanted).items() if members)
    if running:
        problem = f"groups with running members: {', '.join(running)}; nothing was written"
        raise DcctlError(kafka.subject, problem, "stop their consumers first")
    partitions = {tp for offsets in wanted.values() for tp in offsets}
    existing = kafka.topics({tp.topic for tp in partitions})
    missing = sorted(
        str(tp)
        for tp in partitions
        if tp.topic not in existing or tp.partition >= len(existing[tp.topic].leaders)
    )
    if missing:
        raise DcctlError(kafka.subject, f"lacks {', '.join(missing)}; nothing was written")
    logs = kafka.log_ends(partitions)
    outside = [
        f"{group} {tp} at {offset} (log {logs[tp].start_offset} to {logs[tp].end_offset})"
        for group, offsets in wanted.items()
        for tp, offset in offsets.items()
        if not logs[tp].start_offset <= offset <= logs[tp].end_offset
    ]
    if outside:
        raise DcctlError(
            kafka.subject,
            f"offsets outside the log: {'; '.join(outside[:5])}; nothing was written",
            "auto.offset.reset would decide where such a group goes on",
        )
    before = Snapshot(cluster, time.time(), kafka.committed(wanted))
    keep(before)
    hand.note({"cluster": cluster, "groups": sorted(wanted)})
    for group, offsets in wanted.items():
        kafka.write_group_offsets(group, offsets, may_write=hand.may_write)
    return before


def _known_groups(snapshot: Snapshot, groups: Iterable[str]) -> tuple[str, ...]:
    wanted = tuple(groups) or tuple(snapshot.groups)
    unknown = [group for group in wanted if group not in snapshot.groups]
    if unknown:
        raise UsageError(f"group {unknown[0]}", f"the snapshot has: {', '.join(sorted(snapshot.groups))}")
    return wanted
