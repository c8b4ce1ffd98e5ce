"""What leaving a sick site has cost, partition by partition: a number, or none and why. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.replication.mirror_ref import source_partitions
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import TopicPartition
from orchestrator.wording import plural

LossJson = dict[str, dict[str, dict[str, int | str | None]]]


@dataclass(frozen=True, slots=True)
class PartitionAccount:
    """Loss of one source partition, in records that could be read there and were not copied.

    `lost` is None exactly if it cannot be said; `reason` then tells why.
    """

    lost: int | None
    reason: str = ""


def account_loss(
    topology: Topology,
    mirror: Replication,
    *,
    not_copied: Mapping[TopicPartition, int],
    unread: Mapping[str, str],
    is_whole: bool,
    problem: str = "",
) -> dict[TopicPartition, PartitionAccount]:
    """The loss of each partition of the mirror.

    `not_copied`: of those whose log stood still under our eyes, records behind the mirror's end; `unread`:
    why the others could not be read, by their names. `is_whole`: every broker answers, and where
    rules were written is known to have heard of them. `problem`: why it could not be looked whether what is
    not copied are records at all.
    """
    weak = _weak_producers(topology, mirror)
    found = {}
    for tp in source_partitions(topology, mirror):
        records = not_copied.get(tp)
        if records is None:
            found[tp] = PartitionAccount(None, unread.get(str(tp)) or "its log could not be read")
        elif tp.topic in weak and not is_whole:
            found[tp] = PartitionAccount(
                None,
                f"producer {weak[tp.topic]} has acks other than all: records that only a silent broker had "
                "acknowledged cannot be counted "
                f"({records:,} readable records are not copied)",
            )
        elif records and problem:
            found[tp] = PartitionAccount(None, f"at most {records:,}: {problem}")
        else:
            found[tp] = PartitionAccount(records)
    return found


def losses_to_json(accounts: Mapping[TopicPartition, PartitionAccount]) -> LossJson:
    """topic -> partition -> {lost, reason}, for result and journal."""
    found: LossJson = {}
    for tp, account in sorted(accounts.items()):
        found.setdefault(tp.topic, {})[str(tp.partition)] = {"lost": account.lost, "reason": account.reason}
    return found


def loss_in_words(losses: Mapping[str, Mapping[str, Mapping[str, int | str | None]]]) -> str:
    """One line for people; empty where nothing was accounted for."""
    rows = [(f"{topic}-{number}", row) for topic, rows in losses.items() for number, row in rows.items()]
    if not rows:
        return ""
    known = sum(int(row["lost"]) for _, row in rows if row["lost"] is not None)
    unknown = [name for name, row in rows if row["lost"] is None]
    said = f"{plural(known, 'record')} lost in {plural(len(rows) - len(unknown), 'partition')}"
    return said + (f"; unknown in {len(unknown)}: {', '.join(unknown[:5])}" if unknown else "")


def _weak_producers(topology: Topology, mirror: Replication) -> dict[str, str]:
    """Topics with a producer that is content before all replicas have its record, and which."""
    return {
        topic: producer.name
        for producer in topology.producers_of(mirror.source)
        if producer.acks != "all"
        for topic in producer.topics
    }
