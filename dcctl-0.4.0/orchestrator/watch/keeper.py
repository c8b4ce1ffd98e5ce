"""From a reading to records at the target, and what of them is there."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from orchestrator.adapters.kafka.writer import UnacknowledgedError
from orchestrator.snapshot.samples import (
    ApplicationSample,
    Sample,
    SampleHistory,
    Word,
    encode_sample,
    sample_key,
)
from orchestrator.watch.recorder import Recorder, SourceReading, changed_words

_WRITE_TIMEOUT_S = 2.0
_WRITTEN_PER_S = 1_000
_WORD_EVERY_S = 1.0
_REMEMBERED_S = 60.0
_TOO_LARGE = "MSG_SIZE_TOO_LARGE"
_REFUSED = "its newest state is larger than the samples topic takes (max.message.bytes)"
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
        self._refused_bytes = math.inf

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
        asked = changed_words(words, self._written_words, _WORD_EVERY_S)
        changed = {sample_key(word): self._taken(word) for word in asked}
        there: dict[bytes, Word] = {}
        try:
            if changed:
                self._write(list(changed.values()))
            there = changed
        except UnacknowledgedError as error:
            there = {key: word for key, word in changed.items() if key in error.acknowledged}
            if error.code != _TOO_LARGE:
                raise
            # No answer says which of them it was.
            there |= {key: self._kept_alone(word) for key, word in changed.items() if key not in there}
        finally:
            self._written_words |= {word.application: word for word in asked if sample_key(word) in there}
            self._remember(list(there.values()))
        return list(there.values())

    def _kept_alone(self, word: Word) -> Word:
        """Write one, or what is in its way. Returns what is there."""
        try:
            self._write([word])
        except UnacknowledgedError as error:
            if error.code != _TOO_LARGE:
                raise
            self._refused_bytes = min(_size_bytes(word), self._refused_bytes)
            word = self._taken(word)
            self._write([word])
        return word

    def _taken(self, word: Word) -> Word:
        """As the topic takes it: in place of one as large as was refused, the last state and the reason."""
        if isinstance(word, ApplicationSample) and _size_bytes(word) >= self._refused_bytes:
            known = self.history.of_applications.get(word.application)
            last = known if isinstance(known, ApplicationSample) else replace(word, told={}, at_s=0.0)
            word = replace(last, problem=_REFUSED)
        return replace(word, set_back_s=self.recorder.set_back_s)

    def _write(self, samples: Sequence[Sample]) -> None:
        """A batch gets time by its size: what it takes where a replica of the target is slow."""
        timeout_s = _WRITE_TIMEOUT_S + len(samples) / _WRITTEN_PER_S
        self._write_records([encode_sample(sample) for sample in samples], timeout_s)

    def _remember(self, samples: Sequence[Sample]) -> None:
        with self.lock:
            for sample in samples:
                self.history.add(sample)


def _size_bytes(word: Word) -> int:
    return sum(map(len, encode_sample(word)))
