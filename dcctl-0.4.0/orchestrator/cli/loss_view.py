"""How a loss that was counted looks: the sum, and the partitions that lost most, or of which nobody knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape

from orchestrator.cli.marks import UNKNOWN
from orchestrator.cli.tables import pick_worst
from orchestrator.moves.losses import loss_in_words
from orchestrator.wording import and_n_more

_LISTED = 5


def render_loss(losses: Mapping[str, Any], console: Console, *, full: bool = False) -> None:
    """What a sick site has cost: the sum, and each partition that is not zero or not known."""
    said = loss_in_words(losses)
    if not said:
        return
    console.print(f"\n[bold]Lost[/] {escape(said)}")
    rows = [
        (f"{topic}-{number}", row)
        for topic, numbers in losses.items()
        for number, row in numbers.items()
        if row["lost"] != 0
    ]
    picked = pick_worst(rows, lambda row: row[1]["lost"], full=full, at_most=_LISTED)
    for name, row in picked.shown:
        count = f"{UNKNOWN} unknown" if row["lost"] is None else f"{row['lost']:,} records"
        why = f"  [dim]{escape(row['reason'])}[/]" if row["reason"] else ""
        console.print(f"  {escape(name)}: {count}{why}")
    if picked.left_out:
        console.print(f"  {and_n_more(len(picked.left_out), 'partitions more')}")
