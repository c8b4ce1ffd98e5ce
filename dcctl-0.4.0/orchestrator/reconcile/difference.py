"""One thing that is not as the file says: what it is, why, and whether it will be mended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from orchestrator.reconcile.batch import Batch
from orchestrator.topology.kinds import DestructiveChange

# drift: the cluster was changed since the file was applied last · change: the file says something new
Cause = Literal["drift", "change"]
# planned: a step mends it · not-allowed: `allow` does not name what it would destroy · refused: nothing can,
# so the file cannot be applied · kept: it is told, and left as it is
Mend = Literal["planned", "not-allowed", "refused", "kept"]
IDENTITY = "topic id"
"""The aspect of a topic that was deleted and made anew: the same name, and another topic."""
PARTITIONS = "partitions"
"""The aspect of how many partitions a topic has; `found` is their number."""
CONFIG = "config"
"""The first word of an aspect that is one setting; its key follows, and `found` is its value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference between file and cluster.

    `subject` is what differs (`topic orders`), `aspect` in which way (`partitions`, `config
    retention.ms`). `wanted` and `found` are texts, empty for nothing. `needs` is the kind of destruction
    that mending it would be; `irreversible` says that it cannot be taken back.
    """

    cluster: str
    subject: str
    aspect: str
    wanted: str
    found: str
    cause: Cause
    mend: Mend
    reason: str
    needs: DestructiveChange | None = None
    irreversible: bool = False

    def as_json(self) -> dict[str, Any]:
        """Plain JSON data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference, and the effect that mends it where it is to be mended."""

    difference: Difference
    work: Batch | None = None


def left_in_words(differences: Iterable[Mapping[str, Any]]) -> str:
    """How many of a plan's differences an apply leaves as they are; empty where none."""
    left = sum(difference["mend"] != "planned" for difference in differences)
    if left > 1:
        return f"{left:,} differences are left as they are"
    return "1 difference is left as it is" if left else ""
