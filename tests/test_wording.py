"""Words that messages share."""

from __future__ import annotations

import pytest

from orchestrator.wording import with_file


@pytest.mark.parametrize(
    ("text", "named", "without"),
    [
        (
            "dcctl resume r1 FILE, or dcctl abort r1 FILE   (evidence: x)",
            "dcctl resume r1 my.yaml, or dcctl abort r1 my.yaml   (evidence: x)",
            "dcctl resume r1, or dcctl abort r1   (evidence: x)",
        ),
        (
            "`dcctl history FILE --import a.jsonl`",
            "`dcctl history my.yaml --import a.jsonl`",
            "`dcctl history --import a.jsonl`",
        ),
        ("dcctl plan FILE -o PLAN", "dcctl plan my.yaml -o PLAN", "dcctl plan -o PLAN"),
        (
            "is in FILE; dcctl status tells",
            "is in FILE; dcctl status tells",
            "is in FILE; dcctl status tells",
        ),
    ],
)
def test_commands_in_messages_name_the_file_and_nothing_else_does(
    text: str, named: str, without: str
) -> None:
    """Of the simulation that runs a command needs none."""
    assert with_file(text, "my.yaml") == named
    assert with_file(text, "") == without
