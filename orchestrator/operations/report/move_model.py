"""The report's part about moves there and back. Its rules are those of `model`."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

_CONFIG = ConfigDict(extra="forbid", strict=True)
Seconds = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class MoveEvidence:
    """One move of a rehearsal that goes there and back. Records, except where a unit or word says otherwise.

    `late`: not copied when the source was lost, arrived after its return. Of `positions` so many were said to
    be `exact`, and so many were `wrong`, compared by content. `skipped`: records that a position passed over.
    `read_again`: processed before and after the move, `read_again_at_most` as the plan had said;
    `read_again_late`: the late ones among what was processed twice. `pause_s`: the longest time without an
    acknowledgement of any producer in any of its topics, None where one was not seen again;
    `consumer_pause_s`: the same of consumers and processed records (None as well in older reports).
    """

    verb: str
    run_id: str
    source: str
    target: str
    outcome: str
    seconds: Seconds
    pause_s: float | None
    consumer_pause_s: float | None = None
    late: Count
    positions: Count
    exact: Count
    wrong: Count
    skipped: Count
    read_again: Count
    read_again_at_most: Count | None
    read_again_late: Count
