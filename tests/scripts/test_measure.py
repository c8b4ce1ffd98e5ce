"""`make measure` counts what its words say, tells where, and says the same of the same code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from scripts.measure.__main__ import main

ROOT = Path(__file__).parents[2]
SENTENCE = "nothing was moved, and the topic is as it was before"

MOVES = f'''
"""Moves."""
from orchestrator.planning import words
from orchestrator.topology.model import Query


class Move:
    """A move of applications."""

    verb: str
    """What a person types."""

    def steps(self, queries, results):
        """The steps, in order."""
        if results["stop-mirror"]["is_ok"]:
            return [query for query in queries if query.kind == "spark"]
        return results.get("fence")

    def _hidden(self, found):
        return found.result["ends"] or found.result[words.STEP] or found.result[found.name]


def listed(names):
    def inner():
        return None

    more = f" and {{len(names) - 3}} more" if len(names) > 3 else inner()
    return ", ".join(sorted(names)[:3]) + more


def refused(topic):
    return f"{SENTENCE}: {{topic}}", "MirrorSourceConnector"
'''

WORDS = f'''
STEP = "ends"


def shown(texts):
    rest = f" and {{len(texts) - 3}} partitions more"
    return ", ".join(sorted(texts)[:3]) + rest


def said(name, kind, record):
    match record.kind:
        case "step-outcome":
            return "{SENTENCE}"
    return kind in ("group", "spark") and name.policy != "identity"


def picked(names, each):
    return [each for each in names if each == each.lower()]


def chosen(rows: list[str], row: str) -> list[str]:
    """The same under other names."""
    return [row for row in rows if row == row.lower()]


def left(rows, row):
    return [row for row in rows if row == row.upper()]
'''


@pytest.fixture
def product(tmp_path: Path) -> Path:
    """A working copy with five small modules and a template."""
    files = {
        "__init__.py": "",
        "moves/__init__.py": '"""Moves."""\n',
        "moves/move.py": MOVES,
        "planning/__init__.py": "",
        "planning/words.py": WORDS,
        "planning/long.py": "def long():\n" + "    x = 1\n" * 401,
        "topology/__init__.py": "",
        "topology/model.py": 'class Query:\n    def is_query(self):\n        return self.kind == "spark"\n',
        "moves/page.j2": 'one\n{{ "s" if row.kind == "spark" else "g" }}{{ row.kind == "step" }}\n',
    }
    for path, text in files.items():
        (tmp_path / "orchestrator" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "orchestrator" / path).write_text(dedent(text), encoding="utf-8")
    return tmp_path


def measured(root: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """What the command prints as data."""
    assert main(["--json", "--root", str(root), *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def line(text: str, part: str) -> int:
    """The line of a text in which something stands first."""
    return next(number for number, found in enumerate(dedent(text).splitlines(), 1) if part in found)


def test_statements_are_counted_without_docstrings(product: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By package, in all, and of some packages together; imports, definitions and fields are statements."""
    found = measured(product, capsys, "--together", "moves,topology")
    assert found["statements by package"] == {
        "moves": 2 + 2 + 4 + 2 + 5 + 2,
        "orchestrator": 0,
        "planning": 1 + 3 + 4 + 2 + 2 + 2 + 402,
        "topology": 3,
    }
    assert found["figures"]["statements"] == 17 + 416 + 3
    assert found["packages together"] == ["moves", "topology"]
    assert found["figures"]["statements of the packages together"] == 20


def test_public_functions_and_the_words_of_their_docstrings(
    product: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither hidden ones nor those inside functions are public."""
    figures = measured(product, capsys)["figures"]
    assert figures["functions"] == 12
    assert figures["public functions"] == 10
    assert figures["docstring words of public functions"] == 4 + 5
    assert figures["docstring words a public function"] == 0.9


def test_long_and_short_and_hardly_imported_modules_are_named(
    product: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With their lines; an `__init__.py` is never too short."""
    places = measured(product, capsys)["places"]
    assert places["functions over 40 lines"] == [" 402  orchestrator/planning/long.py:long"]
    assert places["modules over 400 lines"] == [" 402  orchestrator/planning/long.py"]
    assert [place.split()[1] for place in places["modules under 50 lines"]] == [
        "orchestrator/moves/move.py",
        "orchestrator/planning/words.py",
        "orchestrator/topology/model.py",
    ]
    assert [place.split()[1:] for place in places["modules with one importer"]] == [
        ["orchestrator/planning/words.py", "by", "orchestrator/moves/move.py"],
        ["orchestrator/topology/model.py", "by", "orchestrator/moves/move.py"],
    ]
    assert places["modules without an importer"] == [
        "orchestrator/moves/move.py",
        "orchestrator/planning/long.py",
    ]


def test_comparisons_and_results_by_string_are_told_with_their_places(
    product: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A kind of something else is none of an application; the owner's own comparison is counted apart."""
    places = measured(product, capsys)["places"]
    assert places["comparisons of kind of application outside its owners"] == [
        f"orchestrator/moves/move.py:{line(MOVES, 'query.kind')}",
        f"orchestrator/planning/words.py:{line(WORDS, 'kind in')}",
        "orchestrator/moves/page.j2:2",
    ]
    assert places["comparisons of kind of application by its owners"] == ["orchestrator/topology/model.py:3"]
    assert places["comparisons of replication policy outside its owners"] == [
        f"orchestrator/planning/words.py:{line(WORDS, 'policy')}"
    ]
    assert places["mirror engine named outside its package"] == ["   1  orchestrator/moves/move.py"]
    assert places["step results read by string"] == [
        f"orchestrator/moves/move.py:{line(MOVES, part)}"
        for part in ("stop-mirror", "results.get", "found.name", "found.name")
    ]


def test_what_stands_twice_is_told_with_both_places(
    product: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Functions are alike under other names of their variables, and not with another method called."""
    places = measured(product, capsys)["places"]
    (said,) = places["texts that stand twice"]
    assert f"words.py:{line(WORDS, SENTENCE)}" in said
    assert places["functions alike"] == [
        f"orchestrator/planning/words.py:{line(WORDS, 'def picked')} picked"
        f"  orchestrator/planning/words.py:{line(WORDS, 'def chosen')} chosen"
    ]
    assert places['"and n more" written out'] == [
        f"orchestrator/moves/move.py:{line(MOVES, 'more =')}",
        f"orchestrator/planning/words.py:{line(WORDS, 'rest =')}",
    ]


def test_two_versions_are_compared(product: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Each figure beside what it was, with the ratio."""
    main(["--json", "--root", str(product)])
    (tmp_path / "before.json").write_text(capsys.readouterr().out, encoding="utf-8")
    (product / "orchestrator" / "planning" / "long.py").write_text("x = 1\n" * 198, encoding="utf-8")
    assert main(["--root", str(product), "--beside", str(tmp_path / "before.json")]) == 0
    row = next(row for row in capsys.readouterr().out.splitlines() if row.split()[:2] == ["planning", "212"])
    assert row.split()[2:] == ["was", "416", "×", "0.510"]


def test_the_same_code_gives_the_same_answer(product: Path) -> None:
    """Byte for byte, whatever Python's hashes of strings are."""
    said = {
        subprocess.run(
            [sys.executable, "-m", "scripts.measure", "--json", "--root", str(product)],
            check=True,
            capture_output=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1


def test_it_measures_this_product(capsys: pytest.CaptureFixture[str]) -> None:
    """Every figure that `make measure` prints is one of real code."""
    found = measured(ROOT, capsys)
    assert found["format_version"] == 1
    assert found["figures"]["statements"] > 10_000
    assert sum(found["statements by package"].values()) == found["figures"]["statements"]
    assert all(found["figures"][name] == len(places) for name, places in found["places"].items())
