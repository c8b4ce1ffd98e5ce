"""A quorum is forced only where nothing can be lost by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import SimulationError
from orchestrator.simulation.folders import Folders
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.state import SimulationState, write_state
from orchestrator.topology.model import Topology
from tests.layouts.forced import force_quorum, kraft_voters_only, zookeeper_voters_only
from tests.simulation.layouts import kraft_2dc, zookeeper_2dc


def _simulation(folder: Path, topology: Topology) -> Simulation:
    """Nothing of it runs; the folder of dc1 is away, as after a loss."""
    folders = Folders(folder)
    write_state(folders.state, SimulationState("s", "running", 0.0, None, {}))
    folders.away("dc1").mkdir(parents=True)
    folders.site("dc2").mkdir(parents=True)
    return Simulation(folder, topology)


@pytest.mark.parametrize(
    ("topology", "datacenters", "expected"),
    [
        (kraft_2dc(combined=True), ["dc2"], "has combined nodes"),
        (zookeeper_2dc(), ["dc2"], "dc2 is down: every surviving voter has to take part"),
        (kraft_2dc(), ["dc1"], "dc1 is killed: every surviving voter has to take part"),
        (kraft_2dc(), ["elsewhere"], "has no voter in the data centres that are left"),
    ],
)
def test_what_would_lose_something_is_refused(
    tmp_path: Path, topology: Topology, datacenters: list[str], expected: str
) -> None:
    """Before any file is touched."""
    simulation = _simulation(tmp_path, topology)
    with pytest.raises(SimulationError, match=expected):
        force_quorum(simulation, "main", datacenters, lambda _stage, _detail: None)


def test_groups_and_lost_servers_go_from_the_file() -> None:
    """As the procedure has it: commented out, so that a person sees what was there."""
    text = "tickTime=500\nserver.1=a:1:2\nserver.4=b:1:2\nweight.4=1\ngroup.1=1:2:3\ngroup.2=4:5:6\n"
    assert zookeeper_voters_only(text, {4, 5, 6}) == (
        "tickTime=500\n#server.1=a:1:2\nserver.4=b:1:2\n#weight.4=1\n#group.1=1:2:3\n#group.2=4:5:6\n"
    )


def test_voters_are_the_survivors() -> None:
    """The rest of the file stays."""
    text = "node.id=104\ncontroller.quorum.voters=101@h:1,104@h:2,105@h:3\nlog.dirs=/d\n"
    assert kraft_voters_only(text, {104, 105}) == (
        "node.id=104\ncontroller.quorum.voters=104@h:2,105@h:3\nlog.dirs=/d\n"
    )
