"""A quorum of the survivors beside a bare script of the same steps."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from rich.table import Table

LAYOUTS = ("stretched-2dc", "stretched-2dc-kraft")
_BOTH = ("stop-voters", "form-quorum", "lower-min-insync")
_LIMIT_WRITE_S, _LIMIT_STANDING_S = 8.0, 3.0


def measure(layout: str) -> dict[str, Any]:
    """One layout, lost twice, in a fresh process."""
    command = [sys.executable, "-m", "tests.bench.forced_run", layout]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    measured: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return measured


def missed(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Which promises are not kept, in words."""
    found = []
    for row in rows:
        for what, key, limit_s in (
            ("first write", "first_write_s", _LIMIT_WRITE_S),
            ("metadata stands still on the way back", "standing_still_s", _LIMIT_STANDING_S),
        ):
            more_s = row["dcctl"][key] - row["script"][key]
            if more_s > limit_s:
                found.append(f"{row['layout']}: {what} {more_s:.1f} s after the script's, limit {limit_s:g}")
    return found


def table(row: dict[str, Any]) -> Table:
    """Each phase beside the script's."""
    found = Table(
        title=f"{row['layout']}: a site is lost, with the quorum", title_justify="left", min_width=90
    )
    for column in ("", "dcctl", "bare script", "more"):
        found.add_column(column, justify="right" if column else "left")

    def add(what: str, ours: float, theirs: float | None) -> None:
        told = ("", "") if theirs is None else (f"{theirs:.1f} s", f"{ours - theirs:+.1f} s")
        found.add_row(what, f"{ours:.1f} s", *told)

    ours, theirs = row["dcctl"], row["script"]
    add("from the command to the first acknowledged write", ours["first_write_s"], theirs["first_write_s"])
    for phase, seconds in ours["phases"].items():
        add(f"  {phase}", seconds, theirs["phases"].get(phase))
    add("way back: metadata stands still", ours["standing_still_s"], theirs["standing_still_s"])
    found.caption = (
        "The script stops voters, changes lines and starts them, by the service manager's own interface; dcctl does "
        f"it by Ansible, in {' and '.join(_BOTH[:2])}: what these take more is Ansible, and what is read and compared."
    )
    return found
