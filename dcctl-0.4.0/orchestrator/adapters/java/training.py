"""One server that runs for some seconds so that the classes it loads can be archived.

It never outlives its starter: a shell holds the other end of a pipe and ends the server when the pipe
closes, which a killed starter does as well.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from orchestrator.errors import JavaError

_UNTIL_THE_PIPE_CLOSES = """
exec 3<&0
"$@" </dev/null 3<&- & server=$!
{ read -r _ <&3; kill -TERM $server; } 2>/dev/null & reader=$!
wait $server
status=$?
kill $reader 2>/dev/null
exit $status
"""
_POLL_S = 0.1


class TrainedServer:
    """A server under way. Leaving the context ends it: normally, or at once after an error."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        output: Path,
        stop_within_s: float,
        given_up: threading.Event | None = None,
    ) -> None:
        self._output = output
        self._given_up = given_up or threading.Event()
        self._stop_within_s = stop_within_s
        with output.open("wb") as stream:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _UNTIL_THE_PIPE_CLOSES, "sh", *command],
                env={**os.environ, **environment},
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def __enter__(self) -> TrainedServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.end()
        finally:
            if self._process.stdin is not None:
                self._process.stdin.close()
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()

    def await_ready(self, is_ready: Callable[[], bool], within_s: float) -> None:
        """Wait until `is_ready`. Raises `JavaError` when it ends before, is given up, or takes too long."""
        deadline = time.monotonic() + within_s
        while not is_ready():
            if time.monotonic() > deadline:
                raise self._error(f"was not ready within {within_s:g} s")
            if self._process.poll() is not None:
                raise self._error(f"ended early, with exit status {self._process.returncode}")
            if self._given_up.wait(_POLL_S):
                raise self._error("was given up")

    def end(self) -> None:
        """Ask the server to end, and wait for it: this is when the archive is written."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(self._stop_within_s)
        except subprocess.TimeoutExpired:
            raise self._error(f"did not end within {self._stop_within_s:g} s") from None

    def _error(self, problem: str) -> JavaError:
        said = self._output.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return JavaError(f"{self._output.stem} (run for its archive)", ": ".join((problem, *said[-1:])))
