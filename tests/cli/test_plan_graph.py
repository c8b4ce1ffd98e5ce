"""`--graph`: the plan of a dry run is drawn into a file, and into no other."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from orchestrator.cli.main import run
from orchestrator.runs.drawing import dot, mermaid
from orchestrator.runs.plan import Plan, plan_from_json
from orchestrator.verbs.live import (
    apply,
    failback_procedure,
    failover_procedure,
    fence_procedure,
    switchover_procedure,
)
from tests.runs.test_any_exception import plans

FILE = str(Path(__file__).parents[2] / "topologies" / "active-passive.yaml")
COMMANDS: Mapping[str, list[str]] = {
    "failover": ["failover", FILE, "--attest-down", "west", "--dry-run"],
    "switchover": ["switchover", FILE, "--to", "east", "--dry-run"],
    "failback": ["failback", FILE, "--dry-run"],
    "fence": ["fence", FILE, "--cluster", "west", "--dry-run"],
    "unfence": ["unfence", FILE, "--cluster", "west", "--dry-run"],
    "apply": ["plan", FILE],
}
ENDINGS: Mapping[str, Callable[[Plan], str]] = {
    "dot": dot.dot_text, "gv": dot.dot_text, "mmd": mermaid.mermaid_text
}  # fmt: skip


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """No server is asked; which plan was asked for."""
    found: list[str] = []

    def preview(verb: str) -> Callable[..., Plan]:
        def made(*arguments: object, **_: object) -> Plan:
            name = verb or str(arguments[-1])
            found.append(name)
            return plans()[name]

        return made

    monkeypatch.setattr(failover_procedure, "preview_failover", preview("failover"))
    monkeypatch.setattr(switchover_procedure, "preview_switchover", preview("switchover"))
    monkeypatch.setattr(failback_procedure, "preview_failback", preview("failback"))
    monkeypatch.setattr(fence_procedure, "preview_fence", preview(""))
    monkeypatch.setattr(apply, "plan_apply", preview("apply"))
    return found


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("verb", COMMANDS)
def test_every_verb_draws_its_plan_in_the_language_of_the_ending(
    verb: str, ending: str, tmp_path: Path, asked: list[str]
) -> None:
    """The whole plan, and again over an older drawing; the exit status is that of the dry run."""
    path = tmp_path / f"plan.{ending}"
    status = run(COMMANDS[verb])
    for _ in range(2):
        assert run([*COMMANDS[verb], "--graph", str(path)]) == status
        assert path.read_text(encoding="utf-8") == ENDINGS[ending](plans()[verb])
    assert asked == [verb] * 3


def test_it_stands_beside_the_plan_file(tmp_path: Path) -> None:
    """Both are written, and neither over the other."""
    out, graph = tmp_path / "plan.json", tmp_path / "plan.dot"
    assert run([*COMMANDS["fence"], "-o", str(out), "--graph", str(graph)]) == 0
    assert graph.read_text(encoding="utf-8").startswith(dot.FIRST_LINE)
    same = tmp_path / "same.dot"
    assert run([*COMMANDS["fence"], "-o", str(same), "--graph", str(same)]) == 1
    assert '"fence"' in same.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["plan.svg", "plan", "plan.yaml", "dot"])
def test_an_ending_of_no_known_language_names_the_known_ones(
    name: str, tmp_path: Path, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is asked."""
    assert run([*COMMANDS["failover"], "--graph", str(tmp_path / name)]) == 2
    assert ".dot, .gv, .mmd" in " ".join(capsys.readouterr().err.split())
    assert run([*COMMANDS["apply"], "--graph", str(tmp_path / name)]) == 2
    assert asked == []


@pytest.mark.parametrize("verb", [verb for verb in COMMANDS if verb != "apply"])
def test_a_plan_that_is_going_to_be_run_is_not_drawn(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A usage error that names what is missing."""
    command = [word for word in COMMANDS[verb] if word != "--dry-run"]
    assert run([*command, "--yes", "--graph", str(tmp_path / "plan.dot")]) == 2
    assert "add --dry-run" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content", [b"", b"version: 1\n", b'digraph "payments" {\n}\n', b"flowchart LR\n", b"\xff\xfe\x00", b"\n"]
)
def test_no_other_file_is_written_over(
    content: bytes, tmp_path: Path, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A topology file, a drawing by hand, a topology's graph: it is left as it was, and nothing was asked."""
    path = tmp_path / "payments.dot"
    path.write_bytes(content)
    assert run([*COMMANDS["failover"], "--graph", str(path)]) == 1
    assert path.read_bytes() == content
    assert "is no drawn plan" in " ".join(capsys.readouterr().err.split())
    assert asked == []


def test_what_is_no_plain_file_is_an_error_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder, a pipe that nobody reads, a folder that is not there."""
    (tmp_path / "folder.dot").mkdir()
    os.mkfifo(tmp_path / "pipe.dot")
    for name, words in (
        ("folder.dot", "is no plain file"),
        ("pipe.dot", "is no plain file"),
        ("none/plan.dot", "there is no such folder"),
    ):
        assert run([*COMMANDS["fence"], "--graph", str(tmp_path / name)]) == 1
        assert words in " ".join(capsys.readouterr().err.split())


def test_a_plan_of_an_earlier_version_is_drawn_by_its_phases() -> None:
    """Its steps have no section and no reasons."""
    old = {
        "format_version": 1, "verb": "fence", "topology": "payments", "source": "west", "target": "",
        "request": {}, "created_at_s": 0.0, "expires_at_s": 1.0, "topology_digest": "", "observed": {},
        "gates": [],
        "steps": [{"id": "deny", "phase": "fence", "title": "Deny writing at west", "action": "deny"}],
    }  # fmt: skip
    text = dot.dot_text(plan_from_json(old))
    assert 'label="fence"' in text
    assert "Deny writing at west" in text
