"""Standard output and error that interrupt no command: what cannot be printed there is not printed.

The status of a command that acts says what was done, never whether somebody could read of it: a full disk
is no failure of a failover. Of a command that only looks the output is all there is: where that is
incomplete, it has failed. A reader that goes away (`| head`) has what it wanted; a terminal without UTF-8
gets plain characters.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from pathlib import Path

_PLAIN_ERRORS = "dcctl-plain"
_STDERR = 2
_PLAIN = {
    "✓": "+",
    "✗": "x",
    "→": "->",
    "←": "<-",
    "↶": "<-",
    "•": "*",
    "·": ".",
    "…": "...",
    "–": "-",
    "—": "-",
    "−": "-",
    "±": "+-",
    "×": "x",
    "≤": "<=",
    "≥": ">=",
    "\u00a0": " ",
    "\u202f": " ",
}


class BestEffortStream(io.TextIOWrapper):
    """A text stream onto a file descriptor. The first error of writing ends it quietly; `lost` keeps it."""

    lost: OSError | None = None

    def write(self, text: str) -> int:
        """Write, or take the text and drop it."""
        try:
            return super().write(text)
        except OSError as error:
            self._give_up(error)
            return len(text)

    def flush(self) -> None:
        """Flush, or drop what is left."""
        try:
            super().flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        if self.lost is None:
            self.lost = error
        # What is still buffered goes the same way, at the end of the process as well.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def take_over_streams() -> None:
    """From now on `sys.stdout` and `sys.stderr` are such streams. Closed ones lead nowhere."""
    _fill_descriptors()
    codecs.register_error(_PLAIN_ERRORS, _plain)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - to the end
        elif isinstance(stream, io.TextIOWrapper):
            encoding, is_by_line = stream.encoding, stream.line_buffering
            taken = BestEffortStream(
                stream.detach(), encoding=encoding, errors=_PLAIN_ERRORS, line_buffering=is_by_line
            )
            setattr(sys, name, taken)


def _fill_descriptors() -> None:
    """Let the three standard descriptors lead somewhere: the next file that is opened would become standard
    error otherwise, and whoever this process starts would write into it.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        os.set_inheritable(opened, True)
    os.close(opened)


def end_streams(status: int, *, is_product: bool) -> int:
    """Write what is left; say on stderr where stdout is incomplete though somebody still wanted it.

    Returns the exit status: 1 in place of 0 where that output is all that the command is for (`is_product`).
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    lost = getattr(sys.stdout, "lost", None)
    if lost is not None and lost.errno != errno.EPIPE:
        is_failure = is_product and status == 0
        then = "nothing else was to be done, so this is an error" if is_failure else "the exit status stands"
        sys.stderr.write(f"stdout is incomplete: {lost.strerror}; {then}\n")
        sys.stderr.flush()
        return 1 if is_failure else status
    return status


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Characters that an encoding does not have, as near as ASCII comes to them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wanted = error.object[error.start : error.end]
    return "".join(_PLAIN.get(sign) or ascii(sign)[1:-1] for sign in wanted), error.end
