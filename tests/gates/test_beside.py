"""The gates of moves beside applications at work: two active sites, and a centre with its sources."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from orchestrator.simulation.workload.install import stop_consumers, stop_producers
from tests.gates.case import Case
from tests.gates.cases_beside import AWAY, CENTRE, HOME, INTO_CENTRE, SECOND_SOURCE, SITES
from tests.gates.judging import judge
from tests.gates.world import Asked, World, world_of

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]

LAYOUTS = Path(__file__).parents[1] / "layouts"
_WORK_S = 6.0


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Two active sites with one group id at both, each at work."""
    with world_of(tmp_path_factory.mktemp("sites"), LAYOUTS / "one-group.yaml", is_at_work=True) as found:
        time.sleep(_WORK_S)
        yield found


@pytest.fixture(scope="module")
def away(sites: World) -> World:
    """West's applications are at east."""
    sites.estate.must("switchover", str(sites.simulation.topology_path), "--to", "east", "--yes")
    time.sleep(_WORK_S)
    return sites


@pytest.fixture(scope="module")
def centre(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A centre at which either source's applications have their standby. Consumers have stopped."""
    folder = tmp_path_factory.mktemp("centre")
    data = yaml.safe_load((LAYOUTS / "into-centre.yaml").read_text(encoding="utf-8"))
    data["clusters"]["dc2"]["standby"] = "centre"
    for topic in data["topics"]:
        topic["partitions"] = 2
    file = folder / "into-centre.yaml"
    file.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    with world_of(folder, file, is_at_work=True) as found:
        time.sleep(_WORK_S)
        for dc in found.simulation.sites:
            stop_consumers(found.simulation, dc)
        yield found


def _is_open(world: World, verb: str, *words: str) -> None:
    answer = world.ask(verb, Asked(instead={verb: words}, is_dry=True))
    assert (answer.status, answer.closed) == (0, {}), answer


@pytest.mark.parametrize("case", SITES, ids=lambda case: case.name)
def test_a_site_that_would_go_beside_the_other(sites: World, case: Case) -> None:
    """Refused or unknown, and nothing changed; as long as nothing is broken every gate is open."""
    _is_open(sites, "switchover", "--to", "east")
    judge(sites, case)


@pytest.mark.parametrize("case", AWAY, ids=lambda case: case.name)
def test_a_site_that_is_away(away: World, case: Case) -> None:
    """Refused or unknown, and nothing changed; as long as nothing is broken the way home is open."""
    _is_open(away, "failback", *HOME)
    judge(away, case)


@pytest.mark.parametrize("case", CENTRE, ids=lambda case: case.name)
def test_a_source_that_would_go_to_its_centre(centre: World, case: Case) -> None:
    """Refused or unknown, and nothing changed; as long as nothing is broken every gate is open."""
    _is_open(centre, "switchover", *INTO_CENTRE)
    judge(centre, case)


def test_a_second_source_is_refused_while_one_is_at_the_centre(centre: World) -> None:
    """On the way home nobody could tell whose a record is."""
    file = str(centre.simulation.topology_path)
    centre.estate.must("switchover", file, "--from", "dc2", "--to", "centre", "--yes")
    time.sleep(_WORK_S)
    stop_producers(centre.simulation, "centre")
    stop_consumers(centre.simulation, "centre")
    judge(centre, SECOND_SOURCE)
