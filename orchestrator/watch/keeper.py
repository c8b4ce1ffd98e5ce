"""From a reading to records at the target, and what of them is there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from orchestrator.adapters.kafka.writer import UnacknowledgedError
from orchestrator.snapshot.samples import Sample, SampleHistory, Word, encode_sample, sample_key
from orchestrator.watch.recorder import Recorder, SourceReading, changed_words

_WRITE_TIMEOUT_S = 2.0
_WRITTEN_PER_S = 1_000
_WORD_EVERY_S = 1.0
_REMEMBERED_S = 60.0
Write: TypeAlias = Callable[[Sequence[tuple[bytes, bytes]], float], None]
"""Writes records within so many seconds. Raises `UnacknowledgedError`."""


class Keeper:
    """Writes what a recorder gives, and remembers what is at the target.

    `history` (hold `lock` while reading it) is for metrics: what the target has, and nothing else.
    """

    def __init__(self, watcher: str, write: Write) -> None:
        self.recorder = Recorder(watcher)
        self.history = SampleHistory(keep_s=_REMEMBERED_S, keep_positions_s=0.0)
        self.lock = threading.Lock()
        self._write_records = write
        self._written_words: dict[str, Word] = {}

    def take_over(self, known: SampleHistory, now_s: float) -> None:
        """Go on from what earlier watchers have recorded."""
        self.recorder.take_over(known, now_s)
        self._remember(list(known.of_applications.values()))

    def record(
        self,
        reading: SourceReading,
        words: Iterable[Word],
        further: Sequence[Sample] = (),
    ) -> list[Sample]:
        """Write what has changed, and `further`, then the round that confirms it, then words on applications.

        Returns what was written. Raises `UnacknowledgedError` where the target does not take it all. What it
        took stays written, the rest is for the next round.
        """
        samples, round_ = self.recorder.records(reading)
        try:
            if samples or further:
                self._write([*samples, *further])
        except UnacknowledgedError as error:
            there = error.acknowledged
            self.recorder.forget(samples, round_, is_acknowledged=there.__contains__)
            self._remember([sample for sample in samples if sample_key(sample) in there])
            raise
        # Only once all else is acknowledged may the round confirm it.
        self.recorder.written(samples, round_)
        self._remember(samples)
        self._write([round_])
        self._remember([round_])
        return [*samples, round_, *self._kept(words)]

    def _kept(self, words: Iterable[Word]) -> list[Word]:
        """Write those that have changed. Behind the round: no word holds up what a failover needs first."""
        changed: list[Word] = [
            replace(word, set_back_s=self.recorder.set_back_s)
            for word in changed_words(words, self._written_words, _WORD_EVERY_S)
        ]
        if changed:
            self._write(changed)
        self._written_words |= {word.application: word for word in changed}
        self._remember(changed)
        return changed

    def _write(self, samples: Sequence[Sample]) -> None:
        """A batch gets time by its size: what it takes where a replica of the target is slow."""
        timeout_s = _WRITE_TIMEOUT_S + len(samples) / _WRITTEN_PER_S
        self._write_records([encode_sample(sample) for sample in samples], timeout_s)

    def _remember(self, samples: Sequence[Sample]) -> None:
        with self.lock:
            for sample in samples:
                self.history.add(sample)
