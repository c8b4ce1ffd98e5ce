"""What the actions of one move share: the mirror, the picture they act on, and the final offset map."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from orchestrator.errors import DcctlError
from orchestrator.moves.by_time import offsets_by_time
from orchestrator.operations.estate_store import EstateRecord
from orchestrator.operations.observe import Estate
from orchestrator.operations.run_session import RunSession
from orchestrator.planning.known_gaps import sampled_gaps
from orchestrator.planning.observation import Observation
from orchestrator.planning.offsets_json import offsets_from_json
from orchestrator.planning.samples import SampledPosition, SampleHistory
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.replication.offset_syncs import read_offset_map
from orchestrator.topology.model import Consumer
from orchestrator.values import LogEnd, TopicPartition


class Session(RunSession):
    """One move's connections and knowledge. `offset_shift` is a rehearsal's sabotage; see `actions`.

    `attested_writers`: producers of which a person says that they write at the target.
    """

    def __init__(
        self,
        estate: Estate,
        observation: Observation,
        folder: Path,
        *,
        run_id: str,
        offset_shift: int = 0,
        estate_record: EstateRecord | None = None,
        holds_lock: Callable[[], bool] = lambda: True,
        attested_writers: Iterable[str] = (),
    ) -> None:
        super().__init__(
            estate.topology,
            folder,
            run_id=run_id,
            estate_record=estate_record,
            holds_lock=holds_lock,
            servers=estate.servers,
        )
        self.estate = estate
        self.observation = observation
        self.offset_shift = offset_shift
        self.attested_writers = frozenset(attested_writers)
        self._map_guard = threading.Lock()
        self._final: tuple[OffsetMap, dict[TopicPartition, LogEnd]] | None = None

    @property
    def history(self) -> SampleHistory:
        """The watcher's samples. Raises where they could not be read."""
        part = self.observation.samples
        if part.value is None:
            raise DcctlError(part.source, part.problem)
        return part.value

    @property
    def lost_at_s(self) -> float:
        """When the source was lost, as far as the samples tell; the time of observing otherwise."""
        window = self.history.loss_window()
        return window.first_failed_at_s if window else self.observation.at_s

    def consumers(self, names: Iterable[str]) -> tuple[Consumer, ...]:
        """Those consumers of the source."""
        wanted = set(names)
        known = self.estate.topology.consumers_of(self.estate.mirror.source)
        return tuple(consumer for consumer in known if consumer.name in wanted)

    def partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        """Every partition of topics at the target, as the cluster has them."""
        described = self.estate.target.topics(topics)
        return [tp for topic in described.values() for tp in topic.partitions]

    def final_map(self, mirror_end: Mapping[str, Any]) -> tuple[OffsetMap, dict[TopicPartition, LogEnd]]:
        """The offset map of the stopped mirror, with its very last pair, and the target's logs.

        `mirror_end` is what was recorded after the mirror had stopped: `ends` of the mirrored topics, and
        `mirror_offsets`, the last source offsets read. Built once, whoever asks first.
        """
        estate = self.estate
        ends = offsets_from_json(mirror_end["ends"])
        with self._map_guard:
            if self._final is None:
                logs = {
                    tp: log._replace(end_offset=ends[tp]) for tp, log in estate.target.log_ends(ends).items()
                }
                offsets = offsets_from_json(mirror_end["mirror_offsets"])
                found = read_offset_map(
                    estate.target,
                    estate.mirror,
                    made_anew=self.history.made_anew,
                    gaps=sampled_gaps(estate.topology, estate.mirror, self.history),
                    stopped_at=offsets,
                    logs=logs,
                )
                self._final = found, logs
            return self._final

    def by_time(
        self,
        consumer: Consumer,
        positions: Mapping[TopicPartition, SampledPosition],
        offset_map: OffsetMap,
    ) -> dict[TopicPartition, int]:
        """Target offsets by source partition, for a consumer that takes them where there is no other."""
        target, mirror = self.estate.target, self.estate.mirror
        return offsets_by_time(
            target, mirror, consumer, positions, history=self.history, offset_map=offset_map
        )
