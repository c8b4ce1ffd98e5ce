"""Lines of a moving display that no terminal breaks: a broken one would stay behind when it is redrawn."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderResult
from rich.spinner import Spinner
from rich.text import Text

_SPINNER = Spinner("dots")
_FRAME_S = _SPINNER.interval / 1000


class LiveLine:
    """One line with a spinner before it, cut to the width of the terminal. `now_s`: of a monotonic clock."""

    def __init__(self, text: str, now_s: float) -> None:
        frames = _SPINNER.frames
        self._text = f"{frames[int(now_s / _FRAME_S) % len(frames)]} {text}"

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        line = Text(self._text, no_wrap=True, overflow="ellipsis")
        # Some terminals break a line that fills them to the last column.
        line.truncate(max(options.max_width - 1, 1), overflow="ellipsis")
        yield line
