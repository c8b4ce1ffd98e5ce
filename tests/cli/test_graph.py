"""`dcctl graph`: every format, to stdout or into a file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from orchestrator.cli.main import run

EXAMPLE = str(Path(__file__).parents[2] / "topologies" / "active-passive.yaml")


@pytest.mark.parametrize(
    ("arguments", "beginning"),
    [
        ([], "<svg "),
        (["--format", "svg"], "<svg "),
        (["--format", "dot"], 'digraph "payments" {'),
        (["--format", "mermaid"], "flowchart LR"),
        (["--format", "json"], '{\n  "format_version": 1,'),
        (["--json"], '{\n  "format_version": 1,'),
    ],
)
def test_each_format_goes_to_stdout(
    arguments: list[str], beginning: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The graph alone on stdout, one line of summary on stderr."""
    assert run(["graph", EXAMPLE, *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(beginning)
    assert captured.out.endswith("\n")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "beginning"), [("a.svg", "<svg "), ("a.gv", "digraph"), ("a.mmd", "flowchart"), ("a.json", "{")]
)
def test_the_ending_of_a_name_chooses_the_format(name: str, beginning: str, tmp_path: Path) -> None:
    """`-o picture.svg` needs no `--format`."""
    assert run(["graph", EXAMPLE, "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(beginning)


@pytest.mark.parametrize("name", ["a.png", "a.PDF", "a", "a.yaml", "a.yml"])
def test_an_ending_that_names_no_format_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written: somebody would take an SVG for what its name says."""
    assert run(["graph", EXAMPLE, "-o", str(tmp_path / name)]) == 2
    assert "-o " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_ending_and_a_format_that_contradict_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where they agree, or the ending says nothing, the format is said once."""
    for options in (["--format", "svg"], ["--json"]):
        assert run(["graph", EXAMPLE, "-o", str(tmp_path / "a.dot"), *options]) == 2
        assert "its ending says dot" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert run(["graph", EXAMPLE, "-o", str(tmp_path / "a.dot"), "--format", "dot"]) == 0
    assert run(["graph", EXAMPLE, "-o", str(tmp_path / "picture"), "--format", "svg"]) == 0


@pytest.mark.parametrize("name", ["mine.yaml", "mine.yml", "mine.json", "mine.svg", "mine"])
def test_a_topology_file_is_never_written_over(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither the one that is drawn nor another, by its own name or by a link's."""
    text = Path(EXAMPLE).read_text(encoding="utf-8")
    mine = tmp_path / name
    mine.write_text(text if not name.endswith("json") else json.dumps(yaml.safe_load(text)), encoding="utf-8")
    (tmp_path / "link.svg").symlink_to(mine)
    before = mine.read_bytes()
    for drawn in (str(mine), EXAMPLE):
        for output in (mine, tmp_path / "link.svg"):
            for options in ([], ["--format", "svg"]):
                assert run(["graph", drawn, "-o", str(output), *options]) == 2
                assert capsys.readouterr().err
    assert mine.read_bytes() == before


@pytest.mark.parametrize(
    "command",
    [["plan"], ["switchover", "--to", "east", "--dry-run"], ["failover", "--attest-down", "west", "--yes"]],
    ids=lambda words: words[0],
)
def test_a_plan_is_not_written_over_a_topology_file(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`dcctl plan my.yaml -o my.yaml`: a slip that would cost the file."""
    mine = tmp_path / "mine.yaml"
    mine.write_bytes(Path(EXAMPLE).read_bytes())
    verb, *options = command
    assert run([verb, str(mine), *options, "-o", str(mine)]) == 2
    assert "would be lost" in capsys.readouterr().err
    assert mine.read_bytes() == Path(EXAMPLE).read_bytes()


def test_a_picture_is_drawn_anew(tmp_path: Path) -> None:
    """What `graph` wrote, it may write over; in JSON, too, though that tells of the file."""
    for name in ("a.svg", "a.json"):
        for _ in range(2):
            assert run(["graph", EXAMPLE, "-o", str(tmp_path / name)]) == 0


def test_two_formats_at_once_are_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither is silently preferred."""
    assert run(["graph", EXAMPLE, "--json", "--format", "svg"]) == 2
    assert "contradict" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_an_error_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which file, and why."""
    assert run(["graph", EXAMPLE, "-o", str(tmp_path / "none" / "a.svg")]) == 1
    error = capsys.readouterr().err
    assert "a.svg: cannot be written: No such file or directory" in error
    assert "Traceback" not in error


def test_the_json_tells_of_mirrors(capsys: pytest.CaptureFixture[str]) -> None:
    """Edges carry what the file says."""
    run(["graph", EXAMPLE, "--json"])
    edges = json.loads(capsys.readouterr().out)["edges"]
    (mirror,) = [edge for edge in edges if edge["kind"] == "mirror"]
    assert mirror == {
        "source": "cluster:west",
        "target": "cluster:east",
        "kind": "mirror",
        "policy": "default",
        "topics": ["orders", "payments"],
        "managed": True,
    }


def test_a_picture_needs_no_slow_import() -> None:
    """The default answers as fast as `validate`: networkx alone would double the time."""
    program = (
        "import sys; from orchestrator.cli.main import run;"
        "run(sys.argv[1:]); print('networkx' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "graph", EXAMPLE], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("</svg>\nFalse\n")
