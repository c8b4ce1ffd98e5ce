"""What a kind of applications knows of a consumer before it moves, for the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.moves.positions import TargetPosition
from orchestrator.values import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Foretold:
    """Where a consumer stands at the place left, as far as that is known; None: it is not.

    `placed`: where that is at the place entered, one row for each partition, as the maps are now. `again`: by
    topic at the place left, records that it reads again at most (None: nobody can say; without an entry
    neither). `kept`: topics at the place entered in which its position is that of another, who stays there.
    """

    committed: Mapping[TopicPartition, int] | None = None
    placed: tuple[TargetPosition, ...] = ()
    again: Mapping[str, int | None] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
