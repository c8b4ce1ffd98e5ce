"""What a degraded cluster still gives: records that the mirror can read."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic.dataclasses import dataclass

from orchestrator.mirrors.mirrormaker2.draining import drained
from orchestrator.moves.results import PartlyStanding
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Failed,
    Handle,
    Limited,
    Look,
    Nothing,
    Outcome,
    Running,
)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class DrainPartial(
    Limited[Nothing],
    Look[Nothing],
    name="drain-left",
    phase="drain",
    title="Wait up to {limit_s:g} s until the mirror {mirror} has copied what can still be read",
    expected_s=2.0,
):
    """Let the mirror copy what can be read. What it does not is counted; beyond what is allowed it fails.

    It is given up after `limit_s` seconds, or where the mirror has not moved for `stalled_s`.
    `allowed_records`: so many may be left uncopied; None for any number.
    """

    mirror: MirrorRef
    standing: Handle[PartlyStanding]
    stalled_s: float
    allowed_records: int | None

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        standing = run.of(self.standing)
        if not standing.ends:
            return Done(
                Nothing(), f"no log at {self.mirror.source} can be read, so there is nothing to drain"
            )
        found = drained(
            run, self.mirror, standing, end=None, stalled_s=self.stalled_s, timeout_s=run.timeout_s
        )
        if not isinstance(found, Failed):
            return found
        not_copied: Mapping[str, int] = found.detail.get("not_copied", {})
        if not not_copied:
            return found
        allowed, left = self.allowed_records, sum(not_copied.values())
        if allowed is not None and left > allowed:
            said = f"{found.message}; only {allowed:,} may be lost, --accept-loss {left} accepts this"
            return Failed(said, found.detail)
        return Done(Nothing(), found.message)
