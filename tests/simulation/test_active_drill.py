"""What a drill of several clusters does follows from the case: who plays a role, which copies are broken."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from orchestrator.errors import SimulationError
from orchestrator.simulation.active_drill import ActiveDrill
from orchestrator.simulation.cases import DrillVerb
from orchestrator.simulation.drill_options import DrillOptions, Teller
from orchestrator.simulation.sabotage import NONE, Sabotage, sabotage_named
from orchestrator.simulation.workload.install import applied_groups
from orchestrator.simulation.workload.scenario import TINY
from orchestrator.topology.loading import load_topology

LAYOUTS = Path(__file__).parents[1] / "layouts"


def drill(name: str, verb: DrillVerb, leaves: str, sabotage: Sabotage = NONE) -> ActiveDrill:
    options = DrillOptions(out=Path(), verb=verb, leaves=leaves, scenario=TINY, sabotage=sabotage)
    return ActiveDrill(load_topology(LAYOUTS / f"{name}.yaml"), options, cast("Teller", None), print, print)


@pytest.mark.parametrize(
    ("name", "verb", "leaves", "mirror"),
    [
        ("two-sites", "failover", "west", ("west", "east")),
        ("two-sites", "failback", "west", ("east", "west")),
        ("two-sites", "switchover", "east", ("east", "west")),
        ("two-centres", "failover", "centre", ("dc1", "reserve")),
        ("two-centres", "failback", "centre", ("dc1", "centre")),
        ("one-centre", "return", "dc2", ("dc2", "centre")),
        ("one-centre", "return", "centre", ("dc1", "centre")),
    ],
)
def test_copies_are_broken_where_the_last_move_leads(
    name: str, verb: DrillVerb, leaves: str, mirror: tuple[str, str]
) -> None:
    """From the place that is left where a mirror leads from there; where nothing moves, out of what is lost."""
    found = drill(name, verb, leaves).broken_mirror
    assert (found.source, found.target) == mirror


def test_only_who_moves_plays_a_role() -> None:
    """Whoever stays would stay behind for good, and never have read everything."""
    played = drill("two-sites", "failback", "west")
    roles = dict(zip(applied_groups(played.topology.consumers), played._load().roles, strict=True))
    assert {name for name, role in roles.items() if role.hold_lag_records} == {"billing"}
    nobody = drill("two-sites", "failback", "east")._load().roles
    assert {role.hold_lag_records for role in nobody} == {0}
    assert {role.hold_lag_records for role in drill("one-centre", "return", "centre")._load().roles} == {0}


def test_marks_are_in_the_life_of_those_who_write_whatever_moves() -> None:
    """Producers of a source write on in their first life while consumers of a centre go home."""
    records = sabotage_named("records")
    assert drill("two-sites", "failback", "west", records)._load().sabotage_life == 2
    assert drill("two-centres", "failback", "centre", records)._load().sabotage_life == 1


def test_where_nobody_has_a_standby_nobody_can_be_moved() -> None:
    """A case says so; who asks all the same hears it."""
    with pytest.raises(SimulationError, match="no application of it has a standby"):
        _ = drill("one-centre", "failover", "centre").away


@pytest.mark.parametrize(
    ("name", "verb", "leaves", "steps"),
    [
        ("two-sites", "failover", "west", ["lose", "failover", "work at east"]),
        ("two-sites", "switchover", "west", ["switchover", "work at east"]),
        (
            "two-centres",
            "failback",
            "centre",
            ["lose", "failover", "work at reserve", "return", "failback", "work at centre", "look at centre"],
        ),
        ("one-centre", "return", "dc1", ["wait", "return", "start", "work at dc1", "look at dc1"]),
    ],
)
def test_each_verb_has_its_steps(
    name: str, verb: DrillVerb, leaves: str, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this order, and as often as there are cycles; where nothing moves those who waited are started again."""
    done: list[str] = []
    played = drill(name, verb, leaves)

    def note(what: str, result: object = None) -> Callable[..., object]:
        def step(*_words: object) -> object:
            done.append(what)
            return result

        return step

    run = SimpleNamespace(outcome="ok", run_id="1")
    for method, what in {
        "_lose": "lose",
        "_lose_and_wait": "wait",
        "_fail_over": "failover",
        "_switch_over": "switchover",
        "_return": "return",
        "_fail_back": "failback",
    }.items():
        monkeypatch.setattr(ActiveDrill, method, note(what, run))
    monkeypatch.setattr(
        ActiveDrill, "_work_on", lambda _self, _simulation, cluster: done.append(f"work at {cluster}")
    )
    monkeypatch.setattr("orchestrator.simulation.active_drill.start_workload", note("start"))
    monkeypatch.setattr(
        "orchestrator.simulation.active_drill.ends_of",
        lambda _simulation: done.append(f"look at {leaves}") or {leaves: {}},
    )
    facts = SimpleNamespace(lost_dc=leaves, fault_at_s=None, fault_verified=None)
    evidence = SimpleNamespace(folder=Path())
    for cycle in (1, 2):
        played._once(cast("Any", None), cast("Any", evidence), cast("Any", facts), cycle)
    assert done == steps * 2
    assert len(played.results) == 2 * sum(step in {"failover", "switchover", "failback"} for step in steps)
    assert set(played.at_work) == ({leaves} if "return" in steps else set())


@pytest.mark.parametrize(("left", "is_drained"), [([{"billing": 3}, {}], True), ([{"billing": 3}], False)])
def test_a_drill_waits_until_all_is_read_and_gives_up_where_nothing_moves(
    left: list[dict[str, int]], is_drained: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records that a broken mirror has dropped will never be read: the verdict is not kept waiting for them."""
    here = "orchestrator.simulation.active_drill"
    looks = chain(left, repeat(left[-1]))
    monkeypatch.setattr(f"{here}.lags_at_work", lambda *_words: next(looks))
    monkeypatch.setattr(f"{here}.copies_missing", lambda *_words: {})
    monkeypatch.setattr(f"{here}.clusters_up", lambda _simulation: ["west", "east"])
    monkeypatch.setattr(f"{here}._STANDS_STILL_S", 0.05)
    monkeypatch.setattr("orchestrator.simulation.drill._POLL_S", 0.0)
    played = drill("two-sites", "failback", "west")
    played.tell = cast("Teller", SimpleNamespace(stage=lambda *_words: None, note=print))
    assert played._drain(cast("Any", SimpleNamespace(sites={}))) is is_drained
    assert played.marks[-1].name.startswith("everything read" if is_drained else "not everything")
