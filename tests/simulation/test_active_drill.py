"""What a drill of several clusters does follows from the case: who plays a role, which copies are broken."""

from __future__ import annotations

from pathlib import Path
from typing import cast

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
