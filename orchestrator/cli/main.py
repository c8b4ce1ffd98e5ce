"""`dcctl`: parse, call, print, and end with an explicit status.

Exit status: 0 done or nothing to do · 1 error · 2 usage · 3 drift or changes found · 4 a gate refused ·
5 lock held by another · 6 incomplete, can be resumed · 7 outcome unknown · 8 declined by the person who was
asked · 130 interrupted (Ctrl-C). A drill ends with 0 for a valid verdict, 1 for an invalid one and 7 for an
unknown one, any other error included. What cannot be printed makes 1 of the 0 of a command that only looks,
and changes no other status.
"""

from __future__ import annotations

import functools
import gc
import importlib
import logging
import signal
import sys
from collections.abc import Sequence
from types import FrameType

import typer
from typer.main import get_command

from orchestrator import __version__
from orchestrator.cli.output import (
    best_effort,
    emit_error,
    err_console,
    expect_document,
    print_error,
    print_unforeseen,
    speak_of_no_file,
)
from orchestrator.cli.streams import end_streams, take_over_streams
from orchestrator.cli.swallowed import refuse_swallowed
from orchestrator.errors import DcctlError, TopologyError

_COLLECT_EVERY = 50_000

_GROUPS = (
    "topology",
    "reconcile",
    "explain",
    "graph",
    "examples",
    "importing",
    "drill",
    "sim",
    "switchover",
    "failover",
    "failback",
    "fence",
    "leaders",
    "runs",
    "hold",
    "watch",
    "canary",
    "status",
    "offsets",
    "relocate",
    "audit",
    "report",
    "parts",
)

# What they print is all that they are for. Not `audit` and `report`, whose status 1 is the verdict *invalid*.
LOOKING = frozenset(
    {
        "validate",
        "rules",
        "schema",
        "examples",
        "plan",
        "drift",
        "explain",
        "graph",
        "import",
        "history",
        "show",
        "status",
        "sim status",
        "offsets translate",
        "parts list",
    }
)

# What a shell reports for a command that Ctrl-C ended; typer turns an interruption into it by itself.
_INTERRUPTED = 130

app = typer.Typer(
    name="dcctl",
    help="Moves Kafka between data centres, with a stated and measured loss.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dcctl {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Moves Kafka between data centres, with a stated and measured loss."""


def main(argv: list[str] | None = None) -> None:
    """Run one command and end the process with its exit status."""
    # What libraries log has no place on a user's terminal; Python prints it there unless something takes it.
    logging.getLogger().addHandler(logging.NullHandler())
    take_over_streams()
    signal.signal(signal.SIGTERM, _interrupted)
    status = run(argv)
    words = sys.argv[1:] if argv is None else argv
    sys.exit(end_streams(status, is_product=_only_looks(words)))


def run(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status; every error has become words on stderr."""
    # Large files make millions of objects that live to the end; collected as often as by default they cost
    # twice the time, and more for each object the larger the file.
    gc.set_threshold(_COLLECT_EVERY)
    expect_document()
    try:
        _register_commands()
        command = get_command(app)
        refuse_swallowed(command)
        result = command.main(args=argv, prog_name="dcctl", standalone_mode=False)
    except (typer.Exit, typer.Abort, KeyboardInterrupt, Exception) as error:  # noqa: BLE001 - the last line of defence
        status = _status(error)
        words = sys.argv[1:] if argv is None else argv
        if _is_document_wanted(words) and not isinstance(error, typer.Exit):
            with best_effort():
                _emit_error(error, status)
        return status
    finally:
        speak_of_no_file()
    return result if isinstance(result, int) else 0


def _only_looks(words: Sequence[str]) -> bool:
    """Whether the command that these words call is one of `LOOKING`."""
    # The one command of them that changes something where it is asked to.
    is_import = words[:1] == ["history"] and any(word.split("=")[0] == "--import" for word in words)
    acts = is_import or words[:2] == ["history", "prune"]
    return not acts and (" ".join(words[:1]) in LOOKING or " ".join(words[:2]) in LOOKING)


@functools.cache
def _register_commands() -> None:
    """Inside `run`, so that an interruption while modules are loaded ends in words as well."""
    for group in _GROUPS:
        importlib.import_module(f"orchestrator.cli.{group}").register(app)


def _status(error: BaseException) -> int:
    if isinstance(error, typer.Exit) and error.exit_code != _INTERRUPTED:
        return error.exit_code
    if isinstance(error, DcctlError):
        with best_effort():
            print_error(error)
        return error.exit_status
    if isinstance(error, typer.Exit | typer.Abort | KeyboardInterrupt):
        err_console.print("interrupted")
        return _INTERRUPTED
    # typer carries its own click: a usage error is known by its interface.
    show = getattr(error, "show", None)
    if callable(show):
        show()
        return 2
    print_unforeseen(error)
    return 1


def _is_document_wanted(words: Sequence[str]) -> bool:
    options = words[: words.index("--")] if "--" in words else words
    return "--json" in options


def _emit_error(error: BaseException, status: int) -> None:
    if isinstance(error, TopologyError):
        emit_error(status, error.subject, error.counted, error.hint, error.problems)
    elif isinstance(error, DcctlError):
        emit_error(status, error.subject, error.problem, error.hint)
    elif status == _INTERRUPTED:
        emit_error(status, "dcctl", "interrupted")
    else:
        # A usage error of typer's, or what nobody has foreseen.
        emit_error(status, "dcctl", getattr(error, "message", "") or f"{type(error).__name__}: {error}")


def _interrupted(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
