"""Words that messages share, and words that no message has.

A message is read alone, in a log or in JSON, by somebody who never saw the program: it has the field's words
(`docs/glossary.md` has the few others), and names what it speaks of.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from orchestrator.verbs.registration import EFFECTS
from orchestrator.wording import with_file
from tests.test_hints import texts

CODE = Path(__file__).parents[1] / "orchestrator"


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


_PRIVATE = {
    r"\banew\b": "again",
    r"\b(taken?|taking|takes|took) (it|this|the run|everything|all else)? ?back\b": "rolled back",
    r"\blet stand\b": "left in place",
    r"\bhands off\b": "no hold on …",
    r"\b[Ll]anding topics?\b": "the topic that producers write to after the move",
    r"\blate tail\b": "records that are copied late",
    r"\bthe other side\b": "the cluster's name",
    r"\bcomes? to its end\b": "is drained, has ended",
    r"(?<!attest-)\bsick\b": "degraded",
    r"\bgone on with\b": "resumed",
    r"\bbrought in by\b": "imported by",
    r"\b(is|are) not told\b": "is unknown",
    r"\bwithout a word\b": "silently",
    r"\bpassed over\b": "skipped",
    r"\bone by one\b": "by name",
    r"\b[Nn]obody (knows|says|tells)\b": "… is unknown",
    r"\bat hand\b": "available",
    r"\b[Aa]ll of (them|it) (are|has|have|was|were)\b": "all 25 positions are",
}
"""Words of this house, with what a message says instead."""
_MEANS_NOTHING_ALONE = re.compile(
    r"(it|they|all of (them|it)|none( of them)?)( (is|are|has|have|does|do|was))?"
)
_CONTRACT = {"taken back", "gone on"}
"""Values in JSON."""


@pytest.mark.parametrize("private", _PRIVATE)
def test_no_message_has_a_private_word(private: str) -> None:
    """In any string that may become one: gates, steps, errors, hints, rules, views."""
    found = [
        f"{path.relative_to(CODE.parent)}:{line}: {text!r}; say: {_PRIVATE[private]}"
        for path, line, text in _sentences()
        if re.search(private, text) and text not in _CONTRACT
    ]
    assert found == []


def test_no_message_is_a_pronoun_with_a_verb() -> None:
    """`it is` and `all of them have` mean something beside the question only."""
    found = [
        f"{path.relative_to(CODE.parent)}:{line}: {text!r}"
        for path, line, text in _sentences()
        if _MEANS_NOTHING_ALONE.fullmatch(text.strip()) and " " in text.strip()
    ]
    assert found == []


def test_every_title_of_a_step_is_an_imperative_with_an_object() -> None:
    """`Verify that every group has members`: what is done, and to what."""
    titles = [effect.TITLE for effect in EFFECTS if getattr(effect, "TITLE", "")]
    # Of a batch of an apply its objects follow: `Create topic orders at west`.
    without_object = {"Add", "Create", "Delete", "Move", "Restart", "Resume", "Set"}
    verbs = {"Allow", "Compare", "Copy", "Correct", "Count", "Create", "Deny", "Configure", "Open", "Record"}
    verbs |= {
        "Elect",
        "Put",
        "Read",
        "Remove",
        "Save",
        "Set",
        "Start",
        "Stop",
        "Translate",
        "Verify",
        "Wait",
        "Write",
        "Run",
    }
    assert len(titles) > 30
    wrong = [
        title
        for title in titles
        if title.split()[0] not in verbs | without_object
        or (len(title.split()) < 4 and title.split()[0] not in without_object | {"Configure"})
    ]
    assert wrong == []
    assert [title for title in titles if re.search(r"\b(there|them)\b", title.split(" to ")[0])] == []


@cache
def _sentences() -> list[tuple[Path, int, str]]:
    return [
        (path, line, text)
        for path in sorted(CODE.rglob("*.py"))
        for line, text in texts(ast.parse(path.read_text(encoding="utf-8")))
        if " " in text
    ]
