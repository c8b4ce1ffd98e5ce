"""`dcctl parts`: what is known of Java's parts, and that what is there is not fetched again."""

from __future__ import annotations

import json

import pytest

from orchestrator.cli.main import run


def test_what_is_known_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Each set with what of it the cache holds."""
    assert run(["parts", "list"]) == 0
    assert "kafka-4.3.1" in capsys.readouterr().out


@pytest.mark.integration
def test_what_is_there_is_not_fetched_again(capsys: pytest.CaptureFixture[str]) -> None:
    """`make setup` has brought it."""
    assert run(["parts", "fetch", "--no-archives", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["format_version"] == 1
