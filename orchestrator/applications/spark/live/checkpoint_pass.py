"""Copying a stopped query's checkpoint to its last batch, here or in a process of its own.

A mount whose server hangs holds whoever reads it, and no time-out reaches a thread in there. So what is read
of a sick site is read by a child: after its time it is killed and not waited for, since even a killed process
stays until the mount answers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from orchestrator.adapters.checkpoint_copy import (
    CheckpointCopier,
    OriginalMovedError,
    OtherCopierError,
    Pass,
)
from orchestrator.applications.spark.live.relocation import note_left
from orchestrator.runs.engine import StepOutcome

_POLL_S = 0.2
# The child gives up by itself before it is killed, and says why.
_LAST_WORDS_S = 2.0
_GONE_S = 1.0


def copy_whole(
    original: Path, copy: Path, await_true: Callable[[Callable[[], bool]], bool], *, stopped_by: str
) -> StepOutcome:
    """Copy until the copy has the original's last batch; `await_true` keeps the time.

    `stopped_by`: the run that stopped the query, which is then noted beside the original; empty for none.
    """
    copier = CheckpointCopier(original, copy)
    found = Pass(None, None, None)
    problem = ""

    def is_whole() -> bool:
        nonlocal found, problem
        try:
            found = copier.follow()
        except OtherCopierError as error:
            problem = str(error)  # it will be done in a moment
            return False
        return found.batch == found.source_batch

    try:
        is_done = await_true(is_whole)
    except OriginalMovedError as error:
        return StepOutcome("failed", str(error))
    except OSError as error:
        return StepOutcome("failed", f"cannot be copied: {error.strerror}: {error.filename}")
    if not is_done:
        return StepOutcome("failed", problem or f"batch {found.batch} of {found.source_batch}")
    if stopped_by:
        note_left(original, stopped_by)
    return StepOutcome("ok", f"whole up to batch {found.batch}", {"batch": found.batch})


def copy_whole_apart(
    original: Path,
    copy: Path,
    await_true: Callable[[Callable[[], bool], float], bool],
    *,
    stopped_by: str,
    timeout_s: float,
) -> StepOutcome:
    """The same in a child process, killed after `timeout_s` or once `await_true` is told to wait no more."""
    task = json.dumps([str(original), str(copy), stopped_by, max(timeout_s - _LAST_WORDS_S, timeout_s / 2)])
    child = subprocess.Popen(
        [sys.executable, "-m", "orchestrator.applications.spark.live.checkpoint_pass", task],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # Ctrl-C at the terminal is for the parent, which ends the child itself.
        start_new_session=True,
    )
    is_over = await_true(lambda: child.poll() is not None, timeout_s)
    if not is_over:
        child.kill()
        with suppress(subprocess.TimeoutExpired):
            child.wait(_GONE_S)
        return StepOutcome(
            "failed", f"nothing was heard of {original} within {timeout_s:g} s, or interrupted"
        )
    said, _ = child.communicate()
    if child.returncode != 0:
        problem = f"the process that copies {original} ended with status {child.returncode}"
        return StepOutcome("failed", problem)
    outcome, message, result = json.loads(said)
    return StepOutcome(outcome, message, result)


def _main(task: str) -> None:
    """The child. It does not outlive its parent, whose end closes its stdin."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    original, copy, stopped_by, timeout_s = json.loads(task)
    deadline = time.monotonic() + timeout_s

    def await_true(is_true: Callable[[], bool]) -> bool:
        while not is_true():
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_S)
        return True

    found = copy_whole(Path(original), Path(copy), await_true, stopped_by=stopped_by)
    sys.stdout.write(json.dumps([found.outcome, found.message, dict(found.result)]))


def _end_with_parent() -> None:
    # Not by sys.stdin: Python aborts at its end where a thread still reads from it.
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    _main(sys.argv[1])
