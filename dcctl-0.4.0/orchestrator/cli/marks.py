"""What stands before a gate or a step: a sign, so that colour never says anything alone."""

from __future__ import annotations

UNKNOWN = "[bold yellow]?[/]"
MARKS = {
    "ok": "[green]✓[/]",
    "failed": "[bold red]✗[/]",
    "refused": "[bold red]✗[/]",
    "partial": "[bold red]◐[/]",
    "unknown": UNKNOWN,
}
"""By its outcome."""
