"""Exit statuses of what ends in a verdict: 0 valid, 1 invalid, 7 unknown."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec

import typer

from orchestrator.cli.output import print_error, print_unforeseen
from orchestrator.errors import DcctlError

# What could not be judged is unknown, never ok.
STATUS = {"valid": 0, "invalid": 1, "unknown": 7}
_ERROR = 1

P = ParamSpec("P")


def judged(command: Callable[P, None]) -> Callable[P, None]:
    """A command whose status 1 means *invalid* and nothing else: an error before any verdict is unknown."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except DcctlError as error:
            if error.exit_status != _ERROR:
                raise
            print_error(error)
        except (typer.Exit, typer.Abort):
            raise
        except Exception as error:
            if callable(getattr(error, "show", None)):
                raise
            print_unforeseen(error)  # a bug has not judged anything either
        else:
            return
        raise typer.Exit(STATUS["unknown"])

    return run
