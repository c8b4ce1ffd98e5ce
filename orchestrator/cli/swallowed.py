"""A forgotten value of an option is not the next option: `--reason --dry-run` would be a real run."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from orchestrator.errors import UsageError

_AN_OPTION = re.compile(r"--[a-z][a-z0-9-]*(=.*)?")


def refuse_swallowed(command: Any) -> None:
    """Have each option of a command, and of those in it, refuse an option as its value.

    `command`: as typer makes it. Its options raise `UsageError`.
    """
    for part in getattr(command, "commands", {}).values():
        refuse_swallowed(part)
    for option in command.params:
        if option.param_type_name == "option" and not option.is_flag:
            option.process_value = _checked(option.opts[0], option.process_value)


def _checked(name: str, process: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def checked(ctx: Any, value: Any) -> Any:
        for given in value if isinstance(value, list | tuple) else [value]:
            if isinstance(given, str) and _AN_OPTION.fullmatch(given):
                raise UsageError(name, f"lacks its value: {given} follows it", f"{name} VALUE {given}")
        return process(ctx, value)

    return checked
