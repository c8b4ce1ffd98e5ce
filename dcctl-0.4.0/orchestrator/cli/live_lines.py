"""A moving display on a terminal: lines that stay are printed above it, and nothing of it stays behind."""

from __future__ import annotations

from contextlib import suppress
from threading import Event, RLock, Thread

from rich.console import Console, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

_SPINNER = Spinner("dots")
_FRAME_S = _SPINNER.interval / 1000
_REFRESH_S = 0.125


def live_line(text: str, now_s: float) -> Text:
    """One line with a spinner before it, cut to the width of the terminal. `now_s`: of a monotonic clock."""
    frame = _SPINNER.frames[int(now_s / _FRAME_S) % len(_SPINNER.frames)]
    return Text(f"{frame} {text}", no_wrap=True, overflow="ellipsis")


class LiveDisplay:
    """Draws `shown` again and again below what is printed; where `console` is no terminal it only prints.

    The refreshing of rich may write between the moment at which a line is laid out above the display and the
    moment at which it is written: what it wiped then was another height than what stood there. Here one lock
    is held for both.
    """

    def __init__(self, console: Console, shown: RenderableType) -> None:
        self._console = console
        self._shown = shown
        self._lock = RLock()
        self._live: Live | None = None
        self._is_over = Event()

    def start(self) -> None:
        """Begin to draw."""
        if self._console.is_terminal and self._live is None:
            self._live = Live(self._shown, console=self._console, auto_refresh=False, transient=True)
            self._live.start()
            self._is_over = Event()
            Thread(target=self._draw, args=(self._live, self._is_over), daemon=True).start()

    def stop(self) -> None:
        """Wipe it, and draw no more."""
        with self._lock:
            self._is_over.set()
            if self._live is not None:
                self._live.stop()
                self._live = None

    def print(self, *objects: object, style: str | None = None) -> None:
        """Lines that stay."""
        with self._lock:
            self._console.print(*objects, style=style)

    def _draw(self, live: Live, is_over: Event) -> None:
        # A display that cannot be drawn is none; what it shows goes on.
        with suppress(Exception):
            while not is_over.wait(_REFRESH_S):
                with self._lock:
                    if not is_over.is_set():
                        live.refresh()
