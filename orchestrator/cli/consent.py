"""A person's consent to what is about to be changed: typed on a terminal, or `--yes` where there is none."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.text import Text

from orchestrator.cli.output import err_console
from orchestrator.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.runs.question import Question


def can_be_asked() -> bool:
    """Whether somebody sits at standard input."""
    return sys.stdin is not None and sys.stdin.isatty()


def refuse_without_consent(command: str, *, yes: bool, instead: str = "") -> None:
    """Raise `UsageError` where nobody can be asked and the command line does not say yes either.

    `command`: as it is typed, for the message; `instead`: what else would do, in the imperative.
    """
    if yes or can_be_asked():
        return
    also = f"; {instead}" if instead else ""
    raise UsageError(
        command,
        "standard input is no terminal, so nobody can be asked. Nothing was changed",
        f"add --yes to have it done without being asked{also}",
    )


def ask(question: Question, *, yes: bool) -> bool:
    """Whether it shall be done: said on the command line, or typed now.

    Where a name is wanted, nothing but that name is a yes. Without a terminal nobody says yes.
    """
    if yes:
        return True
    if not can_be_asked():
        return False
    err_console.print(Text(f"\n{question.title}", style="bold"))
    for name, text in question.rows:
        err_console.print(Text(f"  {name:<19} {text}"))
    prompt = f"Type the name of {question.name_is} to go on: " if question.name else "Go on? [y/N] "
    try:
        # Not as markup: that would take the brackets for a style.
        typed = err_console.input(prompt, markup=False)
    except EOFError:
        typed = ""
    if question.is_consent(typed):
        return True
    if question.name and typed.strip():
        err_console.print(Text(f"{typed.strip()!r} was typed, and not {question.name!r}"))
    return False
