"""Leading a position along several offset maps, each forward or against its mirror's direction.

Each step is safe by itself (see `offset_map.py`): whatever a reader has not read can be read from the step's
answer on. So the steps in a row are safe as well. The answer is exact only if every step is: then nothing
that was read can be read again. Otherwise a record is read again because one of the steps set the reader
back, so the steps' bounds add up; they count source records, each once, however often a mirror has copied
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from orchestrator.replication.offset_map import OffsetMap, Translated
from orchestrator.replication.truncations import Truncation, inverse_across_truncations
from orchestrator.values import TopicPartition


class Hop(NamedTuple):
    """One offset map on the way. `source`: the partition as the source of its mirror names it.

    `truncations`: where that partition's log was cut after copies had been made; only the way against the
    mirror needs them.
    """

    offset_map: OffsetMap
    source: TopicPartition
    is_inverse: bool = False
    truncations: tuple[Truncation, ...] = ()


def translate_along(hops: Sequence[Hop], offset: int) -> Translated:
    """Where a reader goes on at the end of the way, whose next offset to read at its beginning is `offset`.

    Without any map it is the same offset. Offset None where one of the maps has no place for it.
    """
    at, is_exact, reread, reasons = offset, True, 0, ["the same log"]
    is_bounded = True
    for number, hop in enumerate(hops):
        found = _step(hop, at)
        if found.offset is None:
            return Translated(None, False, None, _named(hops, number, found.reason))
        at = found.offset
        if number == 0 or not found.is_exact:
            said = _named(hops, number, found.reason)
            # Of steps that are exact one reason is enough; each of the others is told.
            reasons = [said] if is_exact else [*reasons, said]
        is_exact = is_exact and found.is_exact
        is_bounded = is_bounded and found.reread_at_most is not None
        reread += found.reread_at_most or 0
    return Translated(at, is_exact, reread if is_bounded else None, "; ".join(reasons))


def beyond_the_end(hops: Sequence[Hop], offset: int) -> int:
    """Source records below a position that the last mirror never copied, where it has come to its end.

    0 where it may still go on, and where a map before it has no place for the position.
    """
    *before, last = hops
    at = translate_along(before, offset).offset
    if last.is_inverse or at is None:
        return 0
    end = last.offset_map.ended_at(last.source)
    return 0 if end is None else max(0, at - end)


def _step(hop: Hop, offset: int) -> Translated:
    found = (
        inverse_across_truncations(hop.offset_map, hop.source, offset, hop.truncations)
        if hop.is_inverse
        else hop.offset_map.translate(hop.source, offset)
    )
    if found.offset is None and offset == 0 and not (hop.is_inverse and hop.truncations):
        # Nothing of the partition was read, so nothing can be passed over from its beginning on.
        return Translated(0, True, 0, "the consumer reads no record of this partition")
    return found


def _named(hops: Sequence[Hop], number: int, reason: str) -> str:
    """A reason; where there are several maps, with the number of the one that it is about."""
    return reason if len(hops) == 1 else f"map {number + 1} of {len(hops)}: {reason}"
