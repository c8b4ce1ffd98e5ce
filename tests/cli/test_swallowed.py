"""An option whose value was forgotten takes no other option for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.cli.main import run

LAYOUT = str(Path(__file__).parents[2] / "topologies" / "stretched-2dc.yaml")


@pytest.mark.parametrize(
    "words",
    [
        "failover FILE --attest-down dc1 --lower-min-insync --dry-run",
        "failover FILE --attest-down dc1 --reason --yes",
        "failback FILE --keep-tails --dry-run",
        "switchover FILE --evacuate dc1 --power-off --lower-min-insync --dry-run",
        "explain FILE --lose --json",
        "history prune FILE --keep --yes",
    ],
)
def test_a_forgotten_value_is_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With `--reason --dry-run` a run would be a real one."""
    assert run(words.replace("FILE", LAYOUT).split()) == 2
    told = capsys.readouterr()
    option, follows = words.split()[-2:]
    assert option in told.err + told.out
    assert f"lacks its value: {follows} follows it" in told.err + told.out
