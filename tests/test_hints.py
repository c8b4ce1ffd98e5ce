"""Commands that messages name can be pasted: each that takes a topology file names it, as FILE.

The console puts the file in (`orchestrator.wording.with_file`); JSON, journals and plans keep the word.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from orchestrator.cli.main import _register_commands, app
from orchestrator.wording import with_file

CODE = Path(__file__).parents[1] / "orchestrator"
_ITS_FILE = re.compile(r" (?:FILE|OLD-FILE|PLAN|my\.yaml)\b")
_NO_MESSAGES = frozenset({"help", "epilog"})
"""What `--help` says has no file that it could name."""


@cache
def taking_a_file() -> frozenset[str]:
    """The commands with a topology file among their arguments, as they are written behind `dcctl`."""
    _register_commands()

    def below(command: Any, words: tuple[str, ...]) -> Iterator[str]:
        for name, one in getattr(command, "commands", {}).items():
            yield from below(one, (*words, name))
        if any(param.name == "file" for param in command.params):
            yield " ".join(words)
            if words[-2:] == ("report", "run"):  # which `report RUN` is short for
                yield "report"

    return frozenset(below(get_command(app), ()))


def without_file(text: str) -> list[str]:
    """The commands in a text that take a topology file, and name none."""
    found = []
    for part in re.split(r"(?<![\w/.-])dcctl ", text)[1:]:
        phrase = re.split(r"[;,:`()\n]|\.(?: |$)", part)[0]
        words = phrase.split()
        name = next((n for n in (" ".join(words[:2]), " ".join(words[:1])) if n in taking_a_file()), "")
        if name and not _ITS_FILE.search(f" {phrase}"):
            found.append(f"dcctl {phrase}")
    return found


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of each string that may become a message; what is filled in is `X`."""
    docs = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    helps = {
        id(below)
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg in _NO_MESSAGES
        for below in ast.walk(node.value)
    }
    whole = {id(piece) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for piece in node.values}
    for node in ast.walk(tree):
        if id(node) in docs | helps:
            continue
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(
                    str(piece.value) if isinstance(piece, ast.Constant) else "X" for piece in node.values
                ),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in whole:
            yield node.lineno, node.value


def test_every_command_in_a_message_names_its_file() -> None:
    """In any string of the code that is no docstring and no help of a command."""
    wrong = [
        f"{path.relative_to(CODE.parent)}:{line}: {command}"
        for path in sorted(CODE.rglob("*.py"))
        for line, text in texts(ast.parse(path.read_text(encoding="utf-8")))
        for command in without_file(text)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("dcctl resume r1 FILE, or dcctl abort r1", ["dcctl abort r1"]),
        ("stop it, then `dcctl offsets restore X`", ["dcctl offsets restore X"]),
        ("dcctl plan FILE -o PLAN; dcctl sim up, dcctl sim status", ["dcctl sim up"]),
        ("dcctl cannot tell; brokers that dcctl watches; see dcctl.log", []),
        ("dcctl apply PLAN. dcctl status my.yaml", []),
    ],
)
def test_a_command_without_its_file_is_found(text: str, found: list[str]) -> None:
    """Also of a group, and behind another one."""
    assert without_file(text) == found


def test_the_file_is_put_in_where_it_is_found() -> None:
    """What is looked for here is what the console fills in."""
    filled = with_file("dcctl relocate spark FILE --query X; dcctl unlock r1 FILE", "my.yaml")
    assert filled == "dcctl relocate spark my.yaml --query X; dcctl unlock r1 my.yaml"
