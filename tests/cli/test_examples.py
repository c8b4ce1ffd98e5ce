"""`dcctl examples`: whoever has installed dcctl has its examples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.cli.main import run

EXAMPLES = sorted((Path(__file__).parents[2] / "topologies").glob("*.yaml"))


def test_all_are_listed_with_what_they_describe(capsys: pytest.CaptureFixture[str]) -> None:
    """By the first line of each file."""
    assert run(["examples", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["examples"]
    assert [row["path"] for row in rows] == [str(path) for path in EXAMPLES]
    assert all(row["describes"] in Path(row["path"]).read_text(encoding="utf-8") for row in rows)
    assert run(["examples"]) == 0
    said = capsys.readouterr().out
    assert all(path.stem in said for path in EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_one_is_printed_as_it_is(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Letter by letter, comments included."""
    assert run(["examples", example.stem]) == 0
    assert capsys.readouterr().out == example.read_text(encoding="utf-8")


def test_a_file_is_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What somebody has made of an example is not overwritten by asking for it again."""
    mine = tmp_path / "my.yaml"
    words = ["examples", EXAMPLES[0].stem, "-o", str(mine)]
    assert run(words) == 0
    assert run(["validate", str(mine)]) == 0
    mine.write_text("mine", encoding="utf-8")
    assert run(words) == 1
    assert mine.read_text(encoding="utf-8") == "mine"
    assert "is not overwritten" in capsys.readouterr().err


def test_a_wrong_name_leads_to_the_right_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Status 2; and a file without a name is nothing that could be written."""
    assert run(["examples", "activ-passive"]) == 2
    assert "did you mean active-passive?" in capsys.readouterr().err
    assert run(["examples", "-o", "my.yaml"]) == 2


def test_a_file_that_is_not_there_leads_to_the_examples(capsys: pytest.CaptureFixture[str]) -> None:
    """Where somebody names a folder of the repository and has none."""
    assert run(["validate", "nowhere/topologies/active-passive.yaml"]) == 1
    assert "`dcctl examples`" in capsys.readouterr().err
