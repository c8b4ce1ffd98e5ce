"""A group of commands of which one needs no name: `history FILE` beside `history prune`."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

DEFAULT = "list"


class WithDefault(TyperGroup):
    """Where the first word is none of the group's commands, all words are those of the command `DEFAULT`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See `click.Group`."""
        parsed: list[str] = super().parse_args(ctx, self.with_default(args))
        return parsed

    def with_default(self, args: list[str]) -> list[str]:
        """The words, with the name of the command that is meant."""
        return args if args and args[0] in self.commands else [DEFAULT, *args]
