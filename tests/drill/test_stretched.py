"""Each site of each stretched example, lost, waited for and left by plan, under load. Minutes each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.cli.main import run
from orchestrator.simulation.cases import EXIT_STATUS, Case, cases_of
from orchestrator.topology.loading import load_topology
from tests.drill.rehearsal import ROOT, rehearse

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]

FILES = sorted((ROOT / "topologies").glob("stretched-*.yaml"))


def _cases() -> Iterator[tuple[Path, Case]]:
    for file in FILES:
        yield from ((file, case) for case in cases_of(load_topology(file)))


CASES = tuple(_cases())


@pytest.mark.parametrize(("file", "case"), CASES, ids=[f"{file.stem}-{case.name}" for file, case in CASES])
def test_it_ends_as_it_is_declared_to(tmp_path: Path, file: Path, case: Case) -> None:
    """What explain says of the loss is what happens; in the end all is as before."""
    words = ("--scenario", case.name, "--load", "tiny")
    found = rehearse(tmp_path, *words, file=file, load=None, timeout_s=850)
    told = found.report.get("reasons") or found.stderr
    assert found.status == EXIT_STATUS[case.expected], told
    assert (found.report["case"], found.report["verdict"]) == (case.name, case.expected), told
    if case.expected == "valid":
        assert found.report["recovery"]["rpo_records"] == 0
        stated = {row["subject"]: row["is_as_stated"] for row in found.report["statements"]}
        assert False not in stated.values()
        assert run(["audit", str(found.folder), "--json"]) == 0
