"""Progress for a person: a spinner with the running stage on a terminal, a line a stage elsewhere.

All of it goes to stderr, so that stdout holds nothing but the result.
"""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from orchestrator.cli.live_lines import LiveDisplay, live_line
from orchestrator.cli.output import err_console

# Without a terminal (a log, CI) the running stage is shown again this often, so that silence means trouble.
_REPEAT_S = 10.0


class Narrator:
    """Tells what is going on. `stage` begins a stage and ends the one before; `detail` says how far it is."""

    def __init__(self, console: Console = err_console) -> None:
        self._console = console
        self._started = self._stage_started = self._told = time.monotonic()
        self._stage = self._detail = ""
        self._display = LiveDisplay(console, self)

    def __enter__(self) -> Narrator:
        self._display.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._end_stage("✓" if kind is None else "✗")
        self._display.stop()

    @property
    def is_terminal(self) -> bool:
        """Whether a person sees it move; a log gets a line for everything."""
        return self._console.is_terminal

    def stage(self, name: str, detail: str = "") -> None:
        """Begin a stage, unless it is the running one; then only its detail changes."""
        if name != self._stage:
            self._end_stage("✓")
            self._stage, self._stage_started = name, time.monotonic()
            self._told = 0.0
        self.detail(detail)

    def detail(self, text: str) -> None:
        """How far the running stage is."""
        self._detail = text
        if not self._console.is_terminal and self._stage and time.monotonic() - self._told > _REPEAT_S:
            self._told = time.monotonic()
            self._display.print(f"{self._clock()}   … {escape(self._stage)}  {escape(text)}", style="dim")

    def note(self, text: str) -> None:
        """A line that stays, under the stages."""
        self._display.print(f"{self._clock()}     {escape(text)}")

    def line(self, text: str) -> None:
        """A line that stays; in a log behind the clock, as those of the stages. `text` is markup."""
        self._display.print(text if self._console.is_terminal else f"{self._clock()}{text}")

    def print(self, renderable: object) -> None:
        """Something longer that stays: a table, a plan."""
        self._display.print(renderable)

    def __rich__(self) -> Text:
        if not self._stage:
            return Text("")
        now = time.monotonic()
        return live_line(f"{self._stage}  {now - self._stage_started:.0f} s  {self._detail}", now)

    def _end_stage(self, mark: str) -> None:
        if self._stage:
            seconds = time.monotonic() - self._stage_started
            detail = f"  [dim]{escape(self._detail)}[/]" if self._detail else ""
            self._display.print(
                f"{self._clock()} {mark} {escape(self._stage)} [dim]({seconds:.1f} s)[/]{detail}"
            )
        self._stage = self._detail = ""

    def _clock(self) -> str:
        seconds = int(time.monotonic() - self._started)
        return f"[dim]{seconds // 60:2d}:{seconds % 60:02d}[/]"
