"""Source topics that were deleted and made again under their name: what was known of the old one is void.

Offsets begin at 0 again, while the mirror's topic goes on. The mirror notices in one of two ways. It starts
over from the earliest offset: then the syncs step back. Or the new log has grown past its position before it
looked: then it goes on there without a word, and what lies before is never copied. No sync tells that; only
the topic's id does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Recreation(NamedTuple):
    """When: not before `before_s`, when the old topic was still seen; by `seen_s` the new one was there."""

    before_s: float
    seen_s: float


def first_sync_of_recreated(
    upstream: Sequence[int], written_s: Sequence[float], recreation: Recreation
) -> int:
    """Index of a partition's first offset sync that surely tells of the new topic; their number for none.

    `upstream`: source offsets of its syncs in the order of their topic; `written_s`: when each was written.
    """
    for index, at_s in enumerate(written_s):
        if at_s >= recreation.before_s and index and upstream[index] < upstream[index - 1]:
            return index
    # Without a step back the mirror has not come to the new topic yet, or has passed over its beginning.
    return next((index for index, at_s in enumerate(written_s) if at_s >= recreation.seen_s), len(upstream))
