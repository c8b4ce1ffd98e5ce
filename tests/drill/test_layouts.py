"""Each site of each layout with several active clusters, lost and returned under load. Minutes each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.cli.main import run
from orchestrator.simulation.cases import EXIT_STATUS, Case, cases_of
from orchestrator.simulation.sabotage import NONE
from orchestrator.topology.loading import load_topology
from tests.drill.rehearsal import ROOT, Rehearsal, rehearse

pytestmark = [pytest.mark.drills, pytest.mark.timeout(1800)]

LAYOUTS = ROOT / "tests" / "layouts"
# Of what is broken one side stands for its mirror image, and the way back for the way there.
_MIRRORED = {("two-sites", "east"), ("two-centres", "dc1"), ("two-centres", "dc2"), ("one-centre", "dc2")}


def _cases() -> Iterator[tuple[str, Case]]:
    for name in ("two-sites", "two-centres", "one-centre"):
        topology = load_topology(LAYOUTS / f"{name}.yaml")
        for case in cases_of(topology):
            is_whole = case.sabotage is NONE and case.budget_records is None
            if case.lacks(topology) or (not is_whole and (name, case.leaves) in _MIRRORED):
                continue
            if is_whole or case.verb in {"failback", "return"} or case.budget_records is not None:
                yield name, case


CASES = tuple(_cases())


def rehearsed(tmp_path: Path, name: str, *words: str) -> Rehearsal:
    file = LAYOUTS / f"{name}.yaml"
    return rehearse(tmp_path, *words, "--load", "tiny", file=file, load=None, timeout_s=1700)


@pytest.mark.parametrize(("name", "case"), CASES, ids=[f"{name}-{case.name}" for name, case in CASES])
def test_it_ends_as_it_is_declared_to(tmp_path: Path, name: str, case: Case) -> None:
    """Whatever is broken is found, and nothing else is."""
    found = rehearsed(tmp_path, name, "--scenario", case.name)
    told = found.report.get("reasons") or found.stderr
    assert found.status == EXIT_STATUS[case.expected], told
    assert found.report["case"] == case.name
    if case.expected != "refused":
        assert found.report["verdict"] == case.expected, told


@pytest.mark.parametrize(
    ("name", "verb", "lose"),
    [
        ("two-sites", "failback", "west"),
        ("two-sites", "failback", "east"),
        ("two-centres", "failback", "centre"),
        ("two-centres", "return", "dc1"),
        ("one-centre", "return", "dc1"),
        ("one-centre", "return", "centre"),
    ],
)
def test_lost_and_returned_three_times_each_record_is_processed_once(
    tmp_path: Path, name: str, verb: str, lose: str
) -> None:
    """By each consumer that should; each application does what `explain` says; nothing is missing in the end.

    The same comes out of what the folder keeps.
    """
    found = rehearsed(tmp_path, name, "--verb", verb, "--lose", lose, "--cycles", "3")
    report = found.report
    assert (found.status, report["verdict"], report["reasons"]) == (0, "valid", []), found.stderr
    assert len(report["faults"]) == 3
    assert [move["verb"] for move in report["moves"]] == (
        ["failover", "failback"] * 3 if verb == "failback" else []
    )
    assert all(one["read"] == one["expected"] > 0 for one in report["readings"])
    assert not any(one[key] for one in report["readings"] for key in ("lost", "skipped", "uncalled"))
    assert not any(copy[key] for copy in report["copies"] for key in ("tail", "hole", "twice", "reordered"))
    assert {one["is_as_stated"] for one in report["applications"]} == {True}
    assert {one["loss"] for one in report["applications"]} == {1, 2, 3}
    assert (found.folder / "report.html").exists()
    assert run(["audit", str(found.folder)]) == 0
