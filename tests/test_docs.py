"""The pages under docs/ that show commands: each command works, and says what the page shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from orchestrator.cli.main import run

ROOT = Path(__file__).parents[1]
OFFLINE_PAGES = ("durability.md",)


def shown(page: str) -> list[tuple[str, str]]:
    """Every `$ dcctl …` line of a page, with the output that the page shows below it."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


@pytest.mark.parametrize(
    ("command", "output"),
    [pair for page in OFFLINE_PAGES for pair in shown(page)],
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
