"""The pages under docs/ that show commands: each command works, and says what the page shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from typer.main import get_command

from orchestrator.cli.main import _register_commands, app, run
from orchestrator.runs.drawing.mermaid import mermaid_text
from orchestrator.verbs.registration import EFFECTS
from tests.runs.test_any_exception import plans

ROOT = Path(__file__).parents[1]
OFFLINE_PAGES = ("durability.md", "layouts.md")
OFFLINE_COMMANDS = ("validate", "explain", "graph")
PAGES = (ROOT / "README.md", ROOT / "topologies" / "README.md", *sorted((ROOT / "docs").glob("*.md")))


def shown(page: Path) -> list[tuple[str, str]]:
    """Every `$ …` line of a page, with the output that the page shows below it."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def default_of(group: Any) -> str | None:
    """The command of a group that needs no name, if it has one."""
    with_default = getattr(group, "with_default", None)
    return None if with_default is None else str(with_default(["no command's name"])[0])


def meant(words: Sequence[str]) -> tuple[list[str], Any, list[str]]:
    """The command that words call: its name, itself, and the words behind its name."""
    _register_commands()
    found: Any = get_command(app)
    name, rest = list[str](), list(words)
    while hasattr(found, "commands"):
        if not rest or rest[0] not in found.commands:
            default = default_of(found)
            assert default is not None, f"no such command: {' '.join(words)}"
            return name, found.commands[default], rest
        found = found.commands[rest[0]]
        name.append(rest.pop(0))
    return name, found, rest


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_shown_command_is_one(page: Path) -> None:
    """Its name and each of its options are known, and no argument is missing."""
    for command, _ in shown(page):
        words = shlex.split(command, comments=True)
        if words[0] != "dcctl":
            continue
        _, found, rest = meant(words[1:])
        # What a page shows may not be there: only words are looked at.
        found.make_context(found.name, rest)


@pytest.mark.parametrize(
    ("command", "output"),
    [
        pair
        for page in OFFLINE_PAGES
        for pair in shown(ROOT / "docs" / page)
        if pair[0].split()[1] in OFFLINE_COMMANDS
    ],
    ids=lambda text: text[:40],
)
def test_a_documented_command_says_what_the_page_shows(
    command: str, output: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit status 0, and the shown output is there, however the terminal breaks lines."""
    monkeypatch.chdir(ROOT)
    name, *words = shlex.split(command, comments=True)
    assert name == "dcctl"
    assert run(words) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert " ".join(output.split()) in said


def test_the_plan_that_is_shown_is_drawn_as_shown() -> None:
    """The picture in the page on plans, letter by letter."""
    page = (ROOT / "docs" / "plans.md").read_text(encoding="utf-8")
    (drawn,) = re.findall(r"^```mermaid\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert drawn == mermaid_text(plans()["fence"])


def test_every_path_that_the_readme_names_is_there() -> None:
    """Of files and folders of this repository; what a command makes is named otherwise."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:orchestrator|docs|tests|playbooks|topologies)/[\w./-]*)`", text))
    assert {"orchestrator/moves/failover_runbook.py", "orchestrator/watch/"} <= named
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def table(page: Path, heading: str) -> list[list[str]]:
    """The rows of the first table below a line, without its head."""
    rows = page.read_text(encoding="utf-8").partition(f"\n{heading}")[2].split("\n\n| ")[1].split("\n\n")[0]
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows.splitlines()[2:]]


def test_actions_with_another_name_have_that_name() -> None:
    """The page for programs names what plans name."""
    rows = table(ROOT / "docs" / "renamed.md", "Actions with another name:")
    assert rows
    assert {now.strip("`") for _, _, now in rows} <= {effect.NAME for effect in EFFECTS}
    arguments = {step.action: set(step.arguments) for plan in plans().values() for step in plan.steps}
    for action, before, now in table(ROOT / "docs" / "renamed.md", "Arguments with another name:"):
        assert before.strip("`") not in arguments[action.strip("`")]
        assert set(re.findall(r"`(\w+)`", now)) <= arguments[action.strip("`")]


def _stored(result: type[Any]) -> set[str]:
    """The keys of a result as it lies in a journal."""
    return set(TypeAdapter(result).json_schema(mode="serialization").get("properties", ()))


def test_results_with_other_keys_have_these_keys() -> None:
    """In journals that are written from now on."""
    rows = table(ROOT / "docs" / "renamed.md", "## Results of steps in a journal")
    assert len(rows) > 20
    results = {effect.NAME: effect.RESULT for effect in EFFECTS}
    for action, before, now in rows:
        keys = set(re.findall(r"`([a-z_]+)`", now))
        assert keys == _stored(results[action.strip("`")]), action
        assert keys != set(re.findall(r"`([a-z_]+)`", before)) or " or " in before or " and " in before, (
            action
        )


def test_every_override_is_told_of() -> None:
    """Whatever a person can set aside, and the journal keeps, stands in one place."""
    source = (ROOT / "orchestrator" / "runs" / "overrides.py").read_text(encoding="utf-8")
    told = (ROOT / "docs" / "safety.md").read_text(encoding="utf-8").partition("## Overrides\n")[2]
    options = set(re.findall(r'"(--[a-z-]+)', source))
    assert "--accept-cluster" in options
    assert options <= set(re.findall(r"`(--[a-z-]+)`", told.partition("\n## ")[0]))
