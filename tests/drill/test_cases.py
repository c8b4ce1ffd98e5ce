"""Every case that `dcctl drill --list` names runs, and ends as it is declared to. Minutes each: `make drills`."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from orchestrator.simulation.cases import CASES, EXIT_STATUS, Case
from tests.drill.rehearsal import rehearse
from tests.faults.estate import SMALL

pytestmark = [pytest.mark.drills, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_ends_as_it_is_declared_to(tmp_path: Path, case: Case) -> None:
    """Under the smallest load; one producer writes two topics, so that each case can be shown."""
    data = yaml.safe_load(SMALL.read_text(encoding="utf-8"))
    data["producers"] = [data["producers"][0] | {"topics": ["orders", "payments"]}]
    file = tmp_path / "two-topics.yaml"
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    words = ("--scenario", case.name, "--load", "tiny", "--master", "local[2]")
    rehearsal = rehearse(tmp_path, *words, file=file, load=None, timeout_s=1700)
    told = rehearsal.report.get("reasons") or rehearsal.stderr
    assert rehearsal.status == EXIT_STATUS[case.expected], told
    assert rehearsal.report["case"] == case.name
    if case.expected != "refused":
        assert rehearsal.report["verdict"] == case.expected, told
