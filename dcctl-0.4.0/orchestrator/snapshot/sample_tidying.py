"""Which records of the samples topic may go: those that say nothing which another does not say better.

Silence alone makes no record useless. While a source is away, watchers that come and go write that it is away
and nothing else; the positions and log ends that the first of them saw may be all that is known of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from orchestrator.snapshot.known_writers import KnownWriters
from orchestrator.snapshot.sample_blocks import is_withdrawn, part_of, scope_of
from orchestrator.snapshot.sample_codec import (
    FingerprintsSeen,
    GroupPositions,
    Round,
    Sample,
    TopicEnds,
    WritersSeen,
    decode_sample,
    sample_key,
)
from orchestrator.snapshot.samples import SampleHistory

FORGOTTEN_AFTER_S = 24 * 3600.0


def useless_records(records: Mapping[bytes, tuple[int, bytes]]) -> list[bytes]:
    """Keys to withdraw, of what compaction would leave: key -> (place in the topic, value).

    Of watchers that had been silent for a day when the last record was written, all that a later word
    replaces; of all watchers, what has said for a day that something is no longer there. Times are compared
    with those of the watcher that wrote last, and with no other clock. What is none of ours stays.
    """
    samples: dict[bytes, Sample] = {}
    history = SampleHistory(keep_s=0.0)
    for key, (place, value) in sorted(records.items(), key=lambda item: item[1][0]):
        try:
            samples[key] = decode_sample(key, value)
        except ValueError:
            continue
        history.add(samples[key], place)
    last_s = history.last_sign_of_life_s
    if last_s is None:
        return []
    silent = {name for name, at_s in history.seen_s.items() if last_s - at_s > FORGOTTEN_AFTER_S}
    told = {sample_key(block) for block, _ in history.words()} | {
        sample_key(word) for word in history.of_applications.values()
    }
    told |= _needed_writers(samples, silent) | _newest_fingerprints(samples)
    kept = {key for key, sample in samples.items() if key in told or sample.watcher not in silent}
    gone = _long_withdrawn(samples, kept, last_s - FORGOTTEN_AFTER_S)
    parts = {key: sample for key, sample in samples.items() if not isinstance(sample, Round)}
    needed = {sample.watcher for key, sample in parts.items() if key in kept and key not in gone}
    newest = _newest_rounds(samples)
    gone |= {key for key in parts if key not in kept}
    gone |= {
        key
        for key, sample in samples.items()
        if isinstance(sample, Round) and sample.watcher in silent - needed and key not in newest
    }
    return sorted(gone)


def _needed_writers(samples: Mapping[bytes, Sample], silent: Collection[str]) -> set[bytes]:
    """Looks at writers of silent watchers that no other watcher has taken over."""
    looks = {key: sample for key, sample in samples.items() if isinstance(sample, WritersSeen)}
    known = KnownWriters()
    for order, sample in enumerate(looks.values()):
        if sample.watcher not in silent:
            known.add(sample, order)
    return {key for key, sample in looks.items() if not known.has_all_of(sample)}


def _newest_fingerprints(samples: Mapping[bytes, Sample]) -> set[bytes]:
    """The last ones of each partition; `samples` in the order of the topic."""
    newest = {
        (sample.topic, sample.partition): key
        for key, sample in samples.items()
        if isinstance(sample, FingerprintsSeen)
    }
    return set(newest.values())


def _long_withdrawn(samples: Mapping[bytes, Sample], kept: Collection[bytes], before_s: float) -> set[bytes]:
    """Empty blocks of that age: unless somebody still says that the part is there, which they contradict."""
    there, gone = set(), set()
    for key in kept:
        sample = samples[key]
        if isinstance(sample, GroupPositions | TopicEnds):
            part = (scope_of(sample), part_of(sample))
            if not is_withdrawn(sample):
                there.add(part)
            elif sample.at_s < before_s:
                gone.add((key, part))
    return {key for key, part in gone if part not in there}


def _newest_rounds(samples: Mapping[bytes, Sample]) -> set[bytes]:
    """The last rounds of both kinds in the topic: they tell when the source was last seen."""
    rounds = {s.outcome == "failed": key for key, s in samples.items() if isinstance(s, Round)}
    return set(rounds.values())
