"""The options of `dcctl resume` by which a person says what steps wait for: as effects declare them."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orchestrator.runs.word import Word


class SaysWords(TyperCommand):
    """A command that takes the words of every effect; its context's `obj` has the values by the words' names.

    Effects are loaded as it is parsed: most commands need none of them.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """See click."""
        return [*super().get_params(ctx), *word_options(_words())]

    def invoke(self, ctx: Any) -> Any:
        """See click."""
        ctx.obj = said_in(ctx.params)
        return super().invoke(ctx)


def word_options(words: Iterable[Word[Any]]) -> list[Any]:
    """Each word as an option that may be given several times."""

    def said(**_: list[str]) -> None: ...

    options = {
        _parameter(word): typer.Option(
            [], word.option, metavar=word.metavar, help=f"{word.says[0].upper()}{word.says[1:]}."
        )
        for word in words
    }
    made = [Parameter(name, Parameter.KEYWORD_ONLY, default=option) for name, option in options.items()]
    said.__signature__ = Signature(made)  # type: ignore[attr-defined]
    said.__annotations__ = dict.fromkeys(options, list[str])
    app = typer.Typer(add_completion=False)
    app.command()(said)
    return list(get_command(app).params)


def said_in(params: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """The words among the values of a command's parameters, from which they are taken out."""
    found = {word.name: params.pop(_parameter(word), None) for word in _words()}
    return {name: tuple(values) for name, values in found.items() if values}


def _words() -> Iterable[Word[Any]]:
    from orchestrator.verbs.registration import EFFECTS

    return EFFECTS.words.values()


def _parameter(word: Word[Any]) -> str:
    return word.name.replace("-", "_")
