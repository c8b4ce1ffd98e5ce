"""`validate`, `rules` and `schema` as a person and a script meet them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.cli.main import run
from orchestrator.topology.consumer_kinds import all_rules

TOPOLOGIES = Path(__file__).parents[2] / "topologies"


def test_a_warning_is_shown_and_the_file_is_valid(capsys: pytest.CaptureFixture[str]) -> None:
    """Status 0: a warning asks, it does not refuse."""
    file = TOPOLOGIES / "stretched-2dc.yaml"
    assert run(["validate", str(file)]) == 0
    captured = capsys.readouterr()
    assert f"warning {file}:" in captured.err
    assert "[quorum-sites-even]" in captured.err
    assert "valid (stretched-2dc: 1 cluster, 2 topics, 0 mirrors" in captured.out
    assert captured.out.rstrip().endswith("; 1 warning")


def test_errors_and_warnings_are_data_for_scripts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --json an invalid file has its problems on stdout, and status 1."""
    text = (TOPOLOGIES / "stretched-2dc.yaml").read_text(encoding="utf-8")
    broken = tmp_path / "broken.yaml"
    broken.write_text(text.replace("partitions: 4", "partitions: 0"), encoding="utf-8")
    assert run(["validate", str(broken), "--json"]) == 1
    captured = capsys.readouterr()
    data = json.loads(captured.out)
    assert (data["valid"], data["errors"], data["warnings"]) == (False, 1, 1)
    assert {(p["severity"], p["rule"]) for p in data["problems"]} == {
        ("error", None),
        ("warning", "quorum-sites-even"),
    }
    assert all(p["line"] > 1 and p["column"] > 1 and p["message"] for p in data["problems"])
    assert captured.err.strip() == f"{broken}: 1 error, 1 warning"


def test_every_rule_is_listed_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    """Id, severity, what it asks for, and why; each id once."""
    assert run(["rules", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["rules"]
    assert [rule["id"] for rule in listed] == [rule.id for rule in all_rules()]
    assert len({rule["id"] for rule in listed}) == len(listed)
    assert all(rule["title"] and rule["reason"].endswith(".") for rule in listed)
    assert {rule["severity"] for rule in listed} == {"error", "warning"}
    assert run(["rules"]) == 0
    assert "quorum-survives" in capsys.readouterr().out


def test_the_page_of_keys_is_what_the_schema_says(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever changes a key prints the page anew."""
    assert run(["schema", "--format", "markdown"]) == 0
    page = Path(__file__).parents[2] / "docs" / "file.md"
    assert capsys.readouterr().out == page.read_text(encoding="utf-8")
    assert run(["schema", "--format", "yaml"]) == 2


def test_the_schema_is_printed_for_editors(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON Schema, ready to be saved."""
    assert run(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert "layout" in schema["required"]
