"""Where applications work now, and whether the newest move is done: what `status` says before any price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from orchestrator.runs.coordination_state import EarlierRun

Row = Mapping[str, object]
# at-source: as if nothing had been moved, or all of it is back · moved: all of it is primary at the target ·
# split: some is · unfinished: the newest move has not ended well · under-way: and somebody holds the lock.
Kind = Literal["at-source", "moved", "split", "unfinished", "under-way", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveSite:
    """`primary`, `since_s` and `run_id` are of the records, where they all say the same.

    `open_run` is the newest move that is not done (`ended_at_s`: when its newest record was
    written). `only_looks`: all that is open of it are its last looks. `holder`: who holds the lock.
    """

    kind: Kind
    primary: str | None
    since_s: float | None
    run_id: str
    open_run: EarlierRun | None
    only_looks: bool
    holder: str

    def as_json(self) -> dict[str, object]:
        """For `status --json`."""
        run = self.open_run
        told = run and {
            "run_id": run.run_id,
            "verb": run.verb,
            "source": run.source,
            "target": run.target,
            "outcome": run.outcome,
            "ended_at_s": run.ended_at_s,
            "only_looks": self.only_looks,
            "no_way_back": [asdict(row) for row in run.no_way_back],
        }
        return {
            "kind": self.kind,
            "primary": self.primary,
            "since_s": self.since_s,
            "run_id": self.run_id,
            "open_run": told,
            "holder": self.holder,
        }


def active_site(target: str, rows: Sequence[Row], newest: EarlierRun | None, holder: str) -> ActiveSite:
    """From the rows of `primary_rows` and the newest move between the two sides.

    A move of which a person let steps stand was taken back as far as they wanted: it is not open.
    """
    is_open = newest is not None and newest.outcome in ("incomplete", "unknown") and not newest.let_stand
    open_run = newest if is_open else None
    only_looks = open_run is not None and bool(open_run.looks)
    sides = {row["primary"] for row in rows}
    primary = str(next(iter(sides))) if len(sides) == 1 and None not in sides else None
    latest = max(rows, key=lambda row: float(str(row["since_s"] or 0)), default=None) if primary else None
    kind: Kind = "at-source"
    if open_run is not None and not only_looks:
        kind = "under-way" if holder else "unfinished"
    elif not sides or None in sides:
        kind = "unknown"
    elif primary == target and all(row["run_id"] for row in rows):
        kind = "moved"
    elif target in sides and primary is None:
        kind = "split"
    since = latest["since_s"] if latest else None
    return ActiveSite(
        kind=kind,
        primary=primary,
        since_s=None if since is None else float(str(since)),
        run_id=str(latest["run_id"]) if latest else "",
        open_run=open_run,
        only_looks=only_looks,
        holder=holder,
    )
