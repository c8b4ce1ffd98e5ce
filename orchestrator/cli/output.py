"""How every command speaks: results on stdout, one line of summary and all progress on stderr."""

from __future__ import annotations

import json
import os
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from orchestrator.errors import DcctlError, TopologyError
from orchestrator.wording import with_file

FORMAT_VERSION = 1

_FEWEST_COLUMNS = 20

# Whether stdout has its one document.
_has_emitted = False

# The topology file for the commands in messages; empty where they need none, None where it is not known.
_file: str | None = None


def speak_of(file: Path | None) -> None:
    """Commands in messages name this topology file; None: that of the simulation that runs, and need none."""
    global _file  # noqa: PLW0603 - a process has one command line
    _file = "" if file is None else shlex.quote(str(file))


def speak_of_no_file() -> None:
    """It is not known which topology file the command is about: commands in messages say FILE."""
    global _file  # noqa: PLW0603 - as above
    _file = None


class _Speaking(Console):
    """Commands in what it prints can be copied: they name the topology file."""

    def print(self, *objects: Any, **how: Any) -> None:
        """See `Console`."""
        if _file is not None:
            file = escape(_file)
            objects = tuple(with_file(one, file) if isinstance(one, str) else one for one in objects)
        super().print(*objects, **how)


def _width() -> int | None:
    """Columns where the environment names so few that nothing could be shown (a pseudo-terminal without a
    size has 0); None: what the terminal or the environment says.
    """
    said = os.environ.get("COLUMNS", "")
    return _FEWEST_COLUMNS if said.isdigit() and int(said) < _FEWEST_COLUMNS else None


# Names may look like signs (`:fire:`), and are printed as they are.
console = _Speaking(highlight=False, soft_wrap=True, emoji=False, width=_width())
err_console = _Speaking(stderr=True, highlight=False, soft_wrap=True, emoji=False, width=_width())


@contextmanager
def best_effort() -> Iterator[None]:
    """Show what has already happened. Whatever goes wrong on the way changes no status, and is said."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - the status stands
        with suppress(Exception):
            err_console.print(
                f"[bold red]not everything could be shown[/] ({escape(f'{type(error).__name__}: {error}')});"
                " the exit status stands"
            )


def emit(
    data: Mapping[str, Any],
    *,
    as_json: bool,
    summary: str,
    render: Callable[[Console], None] | None = None,
) -> None:
    """Print a result: for people through `render`, or as JSON with `format_version` first.

    `summary` is one line on stderr with `as_json`, and the last line of the output otherwise.
    """
    if as_json:
        _write_document(data)
        err_console.print(escape(summary))
        return
    if render is not None:
        render(console)
    console.print(escape(summary))


def expect_document() -> None:
    """A command begins: stdout has nothing of it yet."""
    global _has_emitted  # noqa: PLW0603 - a process has one stdout
    _has_emitted = False


def emit_error(status: int, subject: str, problem: str, hint: str = "", problems: Sequence[str] = ()) -> None:
    """What a command with `--json` ended with, as its document, unless stdout has one already."""
    if not _has_emitted:
        told = {"status": status, "subject": subject, "problem": problem, "hint": hint}
        _write_document({"error": {**told, **({"problems": list(problems)} if problems else {})}})


def _write_document(data: Mapping[str, Any]) -> None:
    global _has_emitted  # noqa: PLW0603 - as above
    _has_emitted = True
    sys.stdout.write(json.dumps({"format_version": FORMAT_VERSION, **data}, indent=2) + "\n")


def print_error(error: DcctlError) -> None:
    """One error for a person: subject, problem, hint."""
    if isinstance(error, TopologyError):
        for problem in error.problems:
            err_console.print(f"[bold red]error[/] {escape(problem)}")
        err_console.print(f"[bold]{escape(error.subject)}[/]: {error.counted}")
    else:
        err_console.print(f"[bold red]error[/] [bold]{escape(error.subject)}[/]: {escape(error.problem)}")
    if error.hint:
        err_console.print(f"  {escape(error.hint)}", style="dim")


def print_unforeseen(error: BaseException) -> None:
    """What no command has handled: a package that is not installed, by its extra; a bug, by its traceback."""
    from orchestrator.installation import missing_package

    missing = missing_package(error) if isinstance(error, ModuleNotFoundError) else None
    if missing is not None:
        print_error(missing)
        return
    traceback.print_exception(error)
    err_console.print(
        "[bold red]bug[/] dcctl met something that it should have handled; please report the lines above"
    )
