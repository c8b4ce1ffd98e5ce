"""docs/kinds.md: the package that the page shows is one, its commands know it, and what it names is there."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import pytest

from orchestrator.cli.main import run
from orchestrator.evidence.audit.kinds import audited_kind, mark_of, title_of
from orchestrator.moves.in_status import Known
from orchestrator.snapshot.samples import ApplicationSample, SampleHistory
from orchestrator.topology.consumer_kinds import KINDS, ConsumerKind
from orchestrator.topology.loading import load_topology
from orchestrator.watch.status_parts import rows_of_kinds, status_parts

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "kinds.md").read_text(encoding="utf-8")
FILE = (ROOT / "tests" / "faults" / "sick.yaml").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """What stands in the page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the page's package is installed, and its file lies."""
    installed, package = tmp_path / "tallies-1.0.dist-info", tmp_path / "tallies"
    installed.mkdir()
    package.mkdir()
    (package / "__init__.py").touch()
    for block in blocks("python"):
        path, _, code = block.removeprefix("# ").partition("\n")
        (tmp_path / path).write_text(code, encoding="utf-8")
    (toml,) = blocks("toml")
    group, entry = re.findall(r'entry-points\."(.*)"\]\n(.*) = ', toml)[0]
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: tallies\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(f"[{group}]\n{entry} = {toml.split(chr(34))[-2]}\n")
    (yaml,) = blocks("yaml")
    entries = yaml.removeprefix("consumers:\n")
    (tmp_path / "tallies.yaml").write_text(FILE.replace("failover:\n", f"{entries}failover:\n"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "tallies"]:
        del sys.modules[name]


def test_its_commands_know_the_kind(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every one that is shown ends well, and nothing is wrong with the package."""
    shown = [line.removeprefix("$ ") for block in blocks("console") for line in block.splitlines()]
    for command in shown:
        name, *words = shlex.split(command)
        assert (name, run(words)) == ("dcctl", 0)
        told = capsys.readouterr()
        if words == ["schema"]:
            assert "Consumer-tally" in json.loads(told.out)["$defs"]
        if words[0] == "graph":
            assert "consumer:ada" in {node["id"] for node in json.loads(told.out)["nodes"]}
    assert {shlex.split(command)[1] for command in shown} == {"validate", "schema", "graph", "rules"}
    assert KINDS.broken() == ()


def test_status_tells_what_it_shows(folder: Path) -> None:
    """By the samples of a watcher, and without any."""
    file = load_topology(folder / "tallies.yaml")
    history, parts = SampleHistory(), status_parts(file.consumers)
    known = Known(
        consumers=file.consumers,
        plan=SimpleNamespace(predicted=SimpleNamespace(reread={})),  # type: ignore[arg-type]
        history=history,
        seen=SimpleNamespace(of_kind=lambda _: SimpleNamespace(value=None)),  # type: ignore[arg-type]
        judged_at_s=2.0,
    )
    (row,) = rows_of_kinds(parts, known, taken=())["tallies"]
    told = parts["tally"].row(**row)
    assert (told.position, told.note) == ("unknown", "no watcher has seen its notebook")
    history.add(ApplicationSample(watcher="w", kind="tally", name="ada", at_s=1.0, told={"orders-0": 7}))
    (row,) = rows_of_kinds(parts, known, taken=())["tallies"]
    assert row == {"tally": "ada", "positions": 1, "problem": "", "reread": {}}


def test_an_audit_reads_its_ledger(folder: Path) -> None:
    """The rows that the comparison wants."""
    ledger = audited_kind("tally").ledger
    path = ledger.path(folder, "ada", 1)
    assert (list(ledger.problems(path)), ledger.is_there(path)) == ([f"no {path.name}"], False)
    record = {"topic": "orders", "partition": 0, "offset": 7, "producer": "checkout", "sequence": 7}
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(record | {"life": 1, "at_ms": 1}) + "\n", encoding="utf-8")
    assert ledger.rows(path).to_pylist() == [record | {"life": 1, "at_ms": 1}]
    assert (title_of("tally"), mark_of("tally")) == ("tally", " (tally)")


def test_every_part_of_a_kind_is_told_of() -> None:
    """What a declaration may have, and no more."""
    told = re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
    assert {name for row in told for name in re.findall(r"`(\w+)`", row)} == {
        field.name for field in fields(ConsumerKind)
    }


def test_what_it_names_is_there() -> None:
    """Each class in the module that the page says, and each path."""
    for name, module in re.findall(r"`(\w+)` \(`(orchestrator/[\w/]+)\.py`\)", PAGE):
        assert hasattr(importlib.import_module(module.replace("/", ".")), name), name
    paths = re.findall(r"`((?:orchestrator|tests)/[\w./]*)`", PAGE)
    assert len(paths) > 10
    assert [path for path in paths if not (ROOT / path).exists()] == []
