"""A drill whose servers vanish says so within seconds, and blames nobody else."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import SimulationError
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.drill import Drill
from orchestrator.simulation.drill_options import DrillOptions
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.standing import Standing, missing_servers
from orchestrator.topology.model import Nodes, Topology
from tests.simulation.layouts import stretched
from tests.simulation.test_toy_backend import toy  # noqa: F401 - a fixture
from tests.simulation.toy_backend import ToyBackend

_SAID_WITHIN_S = 5.0
NOBODY: frozenset[str] = frozenset()


@pytest.fixture
def simulation(toy: ToyBackend) -> Simulation:  # noqa: F811 - the fixture
    """Two data centres with two brokers and a controller each, up."""
    rows = (Nodes(dc=dc, brokers=2, controllers=1) for dc in ("dc1", "dc2", "dc3"))
    topology: Topology = replace(stretched(*rows), layout="stretched-3dc")
    return simulation_up(topology, backend="toy")


@pytest.fixture(params=[signal.default_int_handler, signal.SIG_IGN], ids=["foreground", "background"])
def _started(request: pytest.FixtureRequest) -> Iterator[None]:
    """As a shell starts a command: one in the background ignores SIGINT."""
    before = signal.signal(signal.SIGINT, request.param)
    yield
    signal.signal(signal.SIGINT, before)


def test_servers_that_ended_are_missing_and_those_of_a_lost_host_are_not(simulation: Simulation) -> None:
    """A host that stands still is a fault of its own."""
    assert missing_servers(simulation, NOBODY) == {}
    simulation.site("dc1").kill()
    simulation.site("dc2").kill(["broker-4"])
    simulation.site("dc3").pause()
    assert missing_servers(simulation, frozenset({"dc1"})) == {"dc2": "broker-4"}
    assert missing_servers(simulation, NOBODY) == {"dc1": "nothing runs (killed)", "dc2": "broker-4"}


@pytest.mark.usefixtures("_started")
def test_whoever_waits_is_interrupted_and_told_what_is_gone(simulation: Simulation) -> None:
    """Within five seconds, wherever it waits; the reason names what is gone, and no application."""
    told: list[str] = []
    began = time.monotonic()

    def rehearse() -> None:
        with Standing(simulation, told.append):
            simulation.site("dc1").kill()
            time.sleep(60)

    with pytest.raises(SimulationError, match=r"are gone: dc1: nothing runs \(killed\)") as stopped:
        rehearse()
    assert time.monotonic() - began < _SAID_WITHIN_S
    assert "rehearse again" in stopped.value.hint
    (line,) = told
    assert line.startswith("simulation stretched: servers that the drill had not ended are gone")


def test_a_drill_that_ends_well_without_its_servers_does_not(simulation: Simulation) -> None:
    """What was found at the last look counts, whoever caught the interruption; no signal is left behind."""
    before = signal.getsignal(signal.SIGUSR1)

    def rehearse() -> None:
        with Standing(simulation, lambda _: None, every_s=0.05):
            simulation.site("dc2").kill(["broker-4"])
            with contextlib.suppress(KeyboardInterrupt):
                time.sleep(60)

    with pytest.raises(SimulationError, match="are gone: dc2: broker-4"):
        rehearse()
    assert signal.getsignal(signal.SIGUSR1) == before


def test_any_other_failure_of_a_drill_without_servers_is_that_they_are_gone(simulation: Simulation) -> None:
    """What follows from it is not told as its own fault."""

    def rehearse() -> None:
        with Standing(simulation, lambda _: None, every_s=0.05):
            simulation.site("dc2").kill(["broker-4"])
            try:
                time.sleep(60)
            except KeyboardInterrupt:
                raise SimulationError("applications", "did not catch up") from None

    with pytest.raises(SimulationError, match="are gone: dc2: broker-4"):
        rehearse()


@pytest.mark.parametrize(
    "first", [SimulationError("Spark", "starting a session"), ConnectionRefusedError("Spark's JVM")], ids=repr
)
def test_an_error_that_comes_before_the_next_look_is_asked_about(
    simulation: Simulation, first: Exception
) -> None:
    """Spark, ended together with the servers, was the first to fail, in words of its own where it was being
    ended itself; of servers that stand nothing is said.
    """

    def rehearse(*gone: str) -> None:
        with Standing(simulation, lambda _: None):
            for host in gone:
                simulation.site(host).kill()
            raise first

    with pytest.raises(type(first), match="Spark"):
        rehearse()
    with pytest.raises(SimulationError, match="are gone: dc1"):
        rehearse("dc1")


def test_what_is_lost_on_purpose_or_starts_again_interrupts_nobody(simulation: Simulation) -> None:
    """A lost host is missed again once it is back; a server may start anew between two looks."""
    with Standing(simulation, lambda _: None, every_s=0.05) as standing:
        standing.lost("dc1")
        simulation.site("dc1").kill()
        simulation.site("dc2").kill(["broker-4"])
        time.sleep(0.2)
        simulation.site("dc2").start(["broker-4"])
        simulation.site("dc1").restart()
        standing.returned("dc1")
        time.sleep(1.2)
        standing.check()


def test_an_interruption_by_a_person_stays_one(simulation: Simulation) -> None:
    """Ctrl-C is no loss of servers."""
    with pytest.raises(KeyboardInterrupt), Standing(simulation, lambda _: None):
        raise KeyboardInterrupt


class _Told:
    """See `simulation.drill_options.Teller`."""

    def stage(self, name: str, detail: str = "") -> None:
        """Nobody listens."""

    def note(self, text: str) -> None:
        """Nobody listens."""


def test_a_drill_does_not_wait_on_for_applications_whose_servers_are_gone(
    simulation: Simulation, tmp_path: Path
) -> None:
    """The wait that had a minute and more ends with the servers."""
    drill = Drill(
        simulation.topology,
        DrillOptions(out=tmp_path),
        _Told(),
        lambda _: None,
        lambda _: None,
    )
    began = time.monotonic()

    def rehearse() -> None:
        with Standing(simulation, lambda _: None) as drill.standing:
            simulation.site("dc1").kill()
            drill._await("drain", lambda: False, 240, "the applications did not catch up")

    with pytest.raises(SimulationError, match="are gone: dc1"):
        rehearse()
    assert time.monotonic() - began < _SAID_WITHIN_S
