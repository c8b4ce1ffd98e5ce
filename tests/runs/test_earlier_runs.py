"""What the journal says of earlier runs: whether a failover is still to be done rests on it."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import pytest

from orchestrator.runs.coordination_state import away, newest_move
from orchestrator.runs.estate_record import RunBegun
from orchestrator.runs.live.earlier_runs import earlier_runs, newest_runs
from orchestrator.runs.live.estate_facts import read_facts
from orchestrator.verbs.registration import EFFECTS
from tests.runs.memory_ensemble import MemoryEnsemble, a_record, write_run

WEST_TO_EAST = {"verb": "failover", "source": "west", "target": "east"}
EAST_TO_WEST = {"verb": "failback", "source": "east", "target": "west"}


def a_run(
    ensemble: MemoryEnsemble,
    folder: Path,
    run_id: str,
    *,
    begun: bool,
    outcome: str = "",
    about: dict[str, Any] = WEST_TO_EAST,
) -> None:
    records = [a_record(run_id, 1, "run-started", **about)]
    if begun:
        records.append(a_record(run_id, 2, "step-intent", "stop-mirror"))
    if outcome:
        records.append(a_record(run_id, 3, "run-ended", outcome=outcome))
    write_run(ensemble, "t", run_id, folder / run_id, *records)


def forget_the_facts(ensemble: MemoryEnsemble) -> None:
    """As an earlier dcctl has left it: journals, and no estate record."""
    for node in [node for node in ensemble.nodes if "/estate" in node]:
        del ensemble.nodes[node]


@pytest.fixture(params=["facts", "journals alone"])
def written_by(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_run_counts_as_refused_only_if_no_step_was_begun(tmp_path: Path) -> None:
    """A refused resumption ends nothing: what was done before is still there."""
    ensemble = MemoryEnsemble()
    a_run(ensemble, tmp_path, "r1", begun=False, outcome="refused")
    a_run(ensemble, tmp_path, "r2", begun=True, outcome="refused")
    a_run(ensemble, tmp_path, "r3", begun=False)
    a_run(ensemble, tmp_path, "r4", begun=True)
    a_run(ensemble, tmp_path, "r5", begun=True, outcome="ok")
    runs = newest_runs(ensemble, "t", EFFECTS)
    assert [run.outcome for run in runs] == ["refused", "incomplete", "not begun", "incomplete", "ok"]
    assert [run.has_effect for run in runs] == [False, True, False, True, True]
    assert [run.run_id for run in earlier_runs(ensemble, "t", effects=EFFECTS)] == ["r2", "r4", "r5"]


def test_no_number_of_refused_attempts_hides_a_run_that_changed_something(
    tmp_path: Path, written_by: str
) -> None:
    """The history shows the newest twenty; what decides sees those that have begun, and no others."""
    ensemble = MemoryEnsemble()
    for number in range(3):
        a_run(ensemble, tmp_path, f"r{number:03d}", begun=True, outcome="incomplete")
    for number in range(3, 40):
        a_run(ensemble, tmp_path, f"r{number:03d}", begun=False, outcome="refused")
    if written_by == "journals alone":
        forget_the_facts(ensemble)
    assert [run.outcome for run in newest_runs(ensemble, "t", EFFECTS)] == ["refused"] * 20
    asked = earlier_runs(ensemble, "t", effects=EFFECTS)
    assert [run.run_id for run in asked] == ["r000", "r001", "r002"]


def test_runs_stand_in_the_order_in_which_they_began_whatever_clocks_say(
    tmp_path: Path, written_by: str
) -> None:
    """A failback by a machine whose clock is 40 minutes fast, and half an hour later a failover."""
    ensemble = MemoryEnsemble()
    a_run(ensemble, tmp_path, "20260101T104000-failback", begun=True, outcome="ok", about=EAST_TO_WEST)
    a_run(ensemble, tmp_path, "20260101T103000-failover", begun=True, outcome="ok")
    if written_by == "journals alone":
        forget_the_facts(ensemble)
    runs = earlier_runs(ensemble, "t", effects=EFFECTS)
    assert [run.verb for run in runs] == ["failback", "failover"]
    newest = newest_move(runs, "west", "east")
    assert newest is not None
    assert newest.verb == "failover"


def test_what_an_earlier_dcctl_has_left_stands_before_the_first_new_run(tmp_path: Path) -> None:
    """It becomes part of the record together with the first fact, or not at all."""
    ensemble = MemoryEnsemble()
    a_run(ensemble, tmp_path, "r9", begun=True, outcome="ok")
    a_run(ensemble, tmp_path, "r5", begun=True, outcome="undone", about=EAST_TO_WEST)
    forget_the_facts(ensemble)
    a_run(ensemble, tmp_path, "r1", begun=True)
    assert [(run.run_id, run.outcome) for run in earlier_runs(ensemble, "t", effects=EFFECTS)] == [
        ("r9", "ok"),
        ("r5", "undone"),
        ("r1", "incomplete"),
    ]


def test_the_own_run_is_no_earlier_one(tmp_path: Path) -> None:
    """Asked again under the own lock, a run does not find itself in its way."""
    ensemble = MemoryEnsemble()
    a_run(ensemble, tmp_path, "r1", begun=True)
    a_run(ensemble, tmp_path, "r2", begun=True)
    assert [run.run_id for run in earlier_runs(ensemble, "t", without="r2", effects=EFFECTS)] == ["r1"]


def test_of_two_active_sites_the_runs_of_one_say_nothing_of_the_other(tmp_path: Path) -> None:
    """Both lead between the same clusters; which applications they move, where these live tells."""
    ensemble = MemoryEnsemble()
    a_run(ensemble, tmp_path, "r1-west-leaves", begun=True, outcome="ok")
    east_leaves = {"verb": "switchover", "source": "east", "target": "west"}
    a_run(ensemble, tmp_path, "r2-east-leaves", begun=True, outcome="incomplete", about=east_leaves)
    runs = earlier_runs(ensemble, "t", effects=EFFECTS)
    found = {home: newest_move(runs, home, other) for home, other in (("west", "east"), ("east", "west"))}
    assert {home: run.run_id for home, run in found.items() if run} == {
        "west": "r1-west-leaves",
        "east": "r2-east-leaves",
    }


def of_part(about: dict[str, str], *applications: str) -> dict[str, Any]:
    return {**about, "part": {"applications": list(applications), "topics": []}}


@pytest.mark.parametrize(
    ("later", "verb"),
    [
        ({"source": "east", "target": "west"}, "the other site's applications go and come home"),
        ({"source": "north", "target": "east"}, "another source goes to the same place and comes home"),
        ({"source": "west", "target": "north"}, "the same cluster's other applications go elsewhere"),
    ],
)
def test_who_is_away_is_never_forgotten_however_many_runs_came_since(
    tmp_path: Path, later: dict[str, str], verb: str
) -> None:
    """Sixty moves of others, all that there is of them each time, and of the same site parts that came home."""
    ensemble = MemoryEnsemble()
    there, back = WEST_TO_EAST, EAST_TO_WEST
    a_run(ensemble, tmp_path, "r00", begun=True, outcome="ok", about={**there, "verb": "switchover"})
    a_run(ensemble, tmp_path, "r01", begun=True, outcome="ok", about=back)
    a_run(ensemble, tmp_path, "r02", begun=True, outcome="ok", about=of_part(there, "billing"))
    for number in range(3, 63):
        kind = number % 3
        goes, returns = {**later, "verb": "switchover"}, {**later, "verb": "failback"}
        returns |= {"source": later["target"], "target": later["source"]}
        about = (goes, returns, of_part((there, back)[number // 3 % 2], "shipping"))[kind]
        a_run(ensemble, tmp_path, f"r{number:02d}", begun=True, outcome="ok", about=about)
    runs = earlier_runs(ensemble, "t", effects=EFFECTS)
    assert away(runs, "west", "east").by("billing") == "r02", verb
    assert away(runs, "west", "east").by("checkout") == ""
    assert runs[0].run_id == "r01"
    assert [run.run_id for run in runs] == sorted(run.run_id for run in runs)


def test_of_runs_that_are_settled_only_the_newest_are_read(tmp_path: Path) -> None:
    """Behind a move of all that there is nothing older tells who is away."""
    ensemble = MemoryEnsemble()
    for number in range(60):
        about = (WEST_TO_EAST, EAST_TO_WEST)[number % 2]
        a_run(ensemble, tmp_path, f"r{number:02d}", begun=True, outcome="ok", about=about)
    assert len(earlier_runs(ensemble, "t", effects=EFFECTS)) == 20


@pytest.mark.parametrize("is_there", [True, False])
def test_whom_a_run_has_moved_is_read_from_the_parts_of_a_long_record(tmp_path: Path, is_there: bool) -> None:
    """Where names are too many for its node; only without these parts nobody can tell."""
    ensemble, names = MemoryEnsemble(), [f"group-{number:04d}" for number in range(400)]
    about = {**of_part(WEST_TO_EAST, *names), "plan": {"steps": [secrets.token_hex(1_200_000)]}}
    a_run(ensemble, tmp_path, "r1", begun=True, outcome="ok", about=about)
    assert any("run-parts" in path for path in ensemble.nodes)
    begun = read_facts(ensemble, "t", [RunBegun])[0].body
    assert isinstance(begun, RunBegun)
    assert begun.part == tuple(names)
    if not is_there:
        for path in [path for path in ensemble.nodes if "run-parts" in path]:
            del ensemble.nodes[path]
    known = away(earlier_runs(ensemble, "t", effects=EFFECTS), "west", "east")
    assert known.unnamed == ("" if is_there else "r1")
    assert known.by("group-0399") == ("r1" if is_there else "")
