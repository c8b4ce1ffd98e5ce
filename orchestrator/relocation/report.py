"""What was done with a checkpoint that was relocated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RelocationReport:
    """What was done with one checkpoint. `data` is what lies in `<destination>.relocation.json`.

    `is_new_identity`: the sink gets the query's output under another name, because the old one may have
    seen batch ids that come again. `aside`: where the destination's former content lies, if any.
    """

    query: str
    destination: Path
    from_batch: int
    sink_identity: str
    is_new_identity: bool
    aside: Path | None
    data: Mapping[str, Any]

    @property
    def positions(self) -> tuple[Mapping[str, Any], ...]:
        """One row a partition, as in the report of a drill."""
        return tuple(self.data["positions"])
