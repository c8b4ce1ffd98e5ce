"""A process in which commands run on an estate in memory while their output comes to harm.

`python -m tests.cli.stream_harm FOLDER`: reads cases from standard input, one JSON line each, and runs each
in a process of its own, which ends as the product's does. It prints one JSON line for each: exit status, and
what the journal and the world have.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

from orchestrator.cli import main, run_end
from orchestrator.runs.live.journal import unpacked
from orchestrator.runs.live.run import Run
from orchestrator.runs.plan import RunEvent
from tests.twin.command_line import lead_to
from tests.twin.conftest import Estates
from tests.twin.operator import Operator

MOMENTS = ("at the beginning", "with the plan", "at the first step", "at the producers", "with the result")
HARMS = ("reader gone", "full", "latin-1", "ascii")
STREAMS = {"stdout": (1,), "stderr": (2,), "both": (1, 2)}


def run_case(case: dict[str, Any], operator: Operator, file: str, out: Path) -> None:
    """In a process of its own: never returns."""
    harm = partial(do_harm, case["harm"], STREAMS[case["stream"]]) if case["harm"] else None
    fresh_streams(out, harm if case["moment"] == MOMENTS[0] else None)
    if harm is not None and case["moment"] != MOMENTS[0]:
        at_moment(case["moment"], harm)
    if case["ending"] == "incomplete":
        operator.estate.record.harm_where(lambda entry: entry.verb == "stop connector", "fails")
    if case["ending"] == "refused":
        operator.estate.hold("all", "somebody is at the racks")
    try:
        options = ["--json"] if case["is_json"] else []
        main.main(["failover", file, "--attest-down", "west", "--reason", "rehearsal", "--yes", *options])
    except SystemExit as ended:
        status = ended.code
    except BaseException:  # noqa: BLE001 - that would be the defect that is looked for
        status = traceback.format_exc()
    told = {"status": status, "journal": journal(operator), "done": operator.estate.record.done}
    out.with_suffix(".told").write_text(json.dumps(told), encoding="utf-8")
    sys.exit(status if isinstance(status, int) else 99)


def fresh_streams(out: Path, harm: Callable[[], None] | None) -> None:
    """Standard output and error as a shell would give them to a new process: files, where no harm is done."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        target = os.open(out.with_suffix(f".{name}"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(target, number)
        os.close(target)
        wrapped(number, name, "utf-8")
    if harm is not None:
        harm()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                # A new process finds out anew what a descriptor leads to.
                wrapped(stream.fileno(), "stdout" if stream is sys.stdout else "stderr", stream.encoding)


def wrapped(number: int, name: str, encoding: str) -> None:
    """Let a standard stream write to a descriptor."""
    raw = io.FileIO(number, "w", closefd=False)
    setattr(sys, name, io.TextIOWrapper(io.BufferedWriter(raw), encoding, line_buffering=name == "stderr"))


def do_harm(harm: str, numbers: tuple[int, ...]) -> None:
    """From now on these file descriptors take nothing, or their streams not every sign."""
    for number in numbers:
        if harm == "full":
            target = os.open("/dev/full", os.O_WRONLY)
            os.dup2(target, number)
            os.close(target)
        elif harm == "closed":  # as `>&-` does, before the interpreter begins
            os.close(number)
            setattr(sys, "stdout" if number == 1 else "stderr", None)
        elif harm == "reader gone":
            reader, writer = os.pipe()
            os.close(reader)
            os.dup2(writer, number)
            os.close(writer)
        else:
            (sys.stdout if number == 1 else sys.stderr).reconfigure(encoding=harm)  # type: ignore[union-attr]


def at_moment(moment: str, harm: Callable[[], None]) -> None:
    """Let it happen once, then."""
    left = [harm]

    def happens() -> None:
        while left:
            left.pop()()

    if moment == "with the result":
        shown = run_end._show

        def show(*given: Any, **named: Any) -> None:
            happens()
            shown(*given, **named)

        run_end._show = show
    else:
        note = Run.note
        wanted = {"with the plan": "run-started", "at the first step": "step-outcome"}.get(moment)

        def noted(run: Run[Any], event: RunEvent) -> None:
            if event.kind == wanted or (wanted is None and event.step == "start-producers"):
                happens()
            note(run, event)

        Run.note = noted  # type: ignore[method-assign]


def journal(operator: Operator) -> list[str]:
    """Kind, step and outcome of each record of every run, without ids and times."""
    found = []
    for path, value in sorted(operator.estate.ensemble.nodes.items()):
        name = path.rpartition("/")[2]
        if re.match(r"\d{6}-", name) and "/runs/" in path:
            record = unpacked(value)
            found.append(f"{name} {record.get('outcome') or record['data'].get('outcome')}")
    return found


def main_loop(folder: Path) -> None:
    """One estate, and for each case a copy of this process."""
    operator = Estates(folder).at_work("tests/faults/small.yaml")
    operator.estate.lose("west")
    operator.estate.live(5)
    file = lead_to(operator.estate, folder)
    with (
        (folder / "warm-up").open("w", encoding="utf-8") as sink,
        redirect_stdout(sink),
        redirect_stderr(sink),
    ):
        # Modules are loaded once, not by each case.
        main.run(["failover", file, "--attest-down", "west", "--dry-run"])
    for number, line in enumerate(sys.stdin):
        out = folder / f"case-{number}"
        child = os.fork()
        if not child:
            run_case(json.loads(line), operator, file, out)
        _, ended = os.waitpid(child, 0)
        told = json.loads(out.with_suffix(".told").read_text(encoding="utf-8"))
        said = {
            name: out.with_suffix(f".{name}").read_bytes().decode("latin-1") for name in ("stdout", "stderr")
        }
        print(json.dumps({**told, **said, "exit": os.waitstatus_to_exitcode(ended)}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main_loop(Path(sys.argv[1]))
