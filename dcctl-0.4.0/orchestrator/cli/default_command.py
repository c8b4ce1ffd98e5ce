"""A group of commands of which one needs no name: `history FILE` beside `history prune`."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class WithDefault(TyperGroup):
    """Where the first word is none of the group's commands, all words are those of the command `default`.

    Without any word the group's help is shown where it has `no_args_is_help`.
    """

    default = "list"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See `click.Group`."""
        parsed: list[str] = super().parse_args(ctx, self.with_default(args))
        return parsed

    def with_default(self, args: list[str]) -> list[str]:
        """The words, with the name of the command that is meant."""
        is_for_group = (not args and self.no_args_is_help) or args[:1] in (["--help"], ["-h"])
        is_named = is_for_group or (bool(args) and args[0] in self.commands)
        return args if is_named else [self.default, *args]
