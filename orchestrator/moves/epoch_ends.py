"""Where leader epochs in which logs were left end in them now: one that was cut, and has grown, shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from orchestrator.errors import ClusterError
from orchestrator.ports.servers import LogEnds
from orchestrator.values import EpochEnd, TopicPartition


def read_epoch_ends(
    reader: LogEnds, addresses: Iterable[str], epochs: Mapping[TopicPartition, int]
) -> dict[TopicPartition, EpochEnd]:
    """All of them, from the leaders; `addresses` are those of brokers that may be asked who leads.

    Raises `ClusterError` where one cannot be had, which is named.
    """
    found: dict[TopicPartition, EpochEnd] = {}
    for tp, said in reader.epoch_ends(addresses, epochs).items():
        if isinstance(said, ClusterError):
            asked = f"where leader epoch {epochs[tp]} of {tp} ends"
            raise ClusterError(said.subject, f"{asked}: {said.problem}", said.hint)
        found[tp] = said
    return found
