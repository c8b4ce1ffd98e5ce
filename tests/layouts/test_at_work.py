"""Applications of several active clusters on real servers: each works at home, and reads each record once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.evidence.origins import Compared, compare_origins, read_ledgers, read_logs, stays
from orchestrator.simulation.at_work import begin_work
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.workload.install import stop_producers
from orchestrator.simulation.workload.progress import lags_at_work, workload_progress
from orchestrator.simulation.workload.scenario import TINY
from orchestrator.topology.loading import load_topology
from orchestrator.values import TopicPartition
from tests.drill.rehearsal import processes_of
from tests.faults.estate import Estate

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900), pytest.mark.usefixtures("own_state")]

FILES = Path(__file__).parent
# Nobody stays behind: each reads to the end, so that all can be compared.
LOAD = replace(TINY, roles=())
_TIMEOUT_S = 120.0
_STEADY_S = 5.0


@contextmanager
def at_work(file: Path) -> Iterator[Simulation]:
    """A simulation whose applications work everywhere; nothing of it is left behind."""
    simulation = simulation_up(load_topology(file))
    try:
        begin_work(simulation, LOAD, lambda _stage, _detail: None)
        yield simulation
    finally:
        simulation.down()
    assert not simulation.folder.exists()
    assert processes_of(simulation.folder) == []


def compared(simulation: Simulation, results: Sequence[Mapping[str, Any]] = ()) -> Compared:
    """Everything, once nothing is written any more, and all has been copied and read.

    `results`: of the moves. Their fences tell from where on a landing topic is for whom.
    """
    topology = simulation.topology
    for dc, site in simulation.sites.items():
        if site.state == "up":
            stop_producers(simulation, dc)
    eventually(lambda: not any(lags_at_work(simulation).values()))
    told = read_ledgers(topology, simulation.ledgers)
    clusters = {name: simulation.cluster(name) for name in topology.clusters}
    eventually(lambda: not _behind(compare_origins(topology, told, logs=read_logs(topology, clusters))))
    windows = {
        consumer.name: stays(topology, told, consumer, _fences(results, consumer.cluster))
        for consumer in topology.consumers
    }
    return compare_origins(topology, told, logs=read_logs(topology, clusters), windows=windows)


def _fences(results: Sequence[Mapping[str, Any]], left: str) -> list[dict[TopicPartition, int]]:
    """Where landing topics ended each time that a cluster was left."""
    return [
        {TopicPartition(topic, int(n)): end for topic, ends in fenced.items() for n, end in ends.items()}
        for result in results
        if result["source"] == left and result["plan"]["verb"] != "failback"
        for fenced in [result["fence_offsets"]["landing"]]
    ]


def _behind(found: Compared) -> int:
    return sum(len(copy.tail) for copy in found.copies)


def eventually(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _TIMEOUT_S
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.5)


@pytest.mark.parametrize(("file", "copies"), [("two-sites", 4), ("two-centres", 6), ("into-centre", 4)])
def test_each_consumer_reads_each_record_of_its_origins_once(file: str, copies: int) -> None:
    """By names and by a pattern, at each cluster; what a site writes stands once at every place of it."""
    with at_work(FILES / f"{file}.yaml") as simulation:
        before = workload_progress(simulation.ledgers)
        time.sleep(_STEADY_S)
        after = workload_progress(simulation.ledgers)
        assert all(after.acked[name] > count for name, count in before.acked.items())
        assert all(after.processed[name] > count for name, count in before.processed.items())
        assert set(after.processed) == {consumer.name for consumer in simulation.topology.consumers}
        found = compared(simulation)
        assert found.problems() == []
        assert len(found.copies) == copies
        assert all(one.expected == one.read > 0 for one in found.readings)


@pytest.mark.parametrize(
    ("file", "left", "entered"),
    [
        ("two-centres", "centre", "reserve"),
        ("two-sites", "west", "east"),
        ("into-centre", "dc1", "centre"),
    ],
)
def test_what_moves_and_comes_home_has_read_each_record_once(
    file: str, left: str, entered: str, tmp_path: Path
) -> None:
    """Twice there and back, while others write: nothing skipped, nothing again, wherever it was read."""
    estate = Estate(tmp_path / "state")
    with at_work(FILES / f"{file}.yaml") as simulation:
        topology = simulation.topology
        moving = {consumer.name for consumer in topology.consumers_of(left)}
        for _ in range(2):
            for verb, leaves, to in (("switchover", left, entered), ("failback", entered, left)):
                words = ("--from", leaves) if verb == "switchover" else ()
                estate.must(verb, *words, "--to", to, "--yes")
                told = read_ledgers(topology, simulation.ledgers)
                assert {told.at[name] for name in moving} == {to}
                time.sleep(_STEADY_S)
        found = compared(simulation, estate.results())
        assert found.problems() == []
        assert all(one.expected == one.read > 0 for one in found.readings if one.consumer in moving)


@pytest.mark.parametrize(
    ("file", "left", "entered"),
    [
        ("two-centres", "centre", "reserve"),
        ("two-sites", "west", "east"),
        ("into-centre", "dc1", "centre"),
    ],
)
def test_what_is_lost_goes_on_elsewhere_and_comes_home(
    file: str, left: str, entered: str, tmp_path: Path
) -> None:
    """Killed under load, disks and all: nothing skipped, no more read again than was stated, home at the end."""
    estate = Estate(tmp_path / "state")
    with at_work(FILES / f"{file}.yaml") as simulation:
        topology = simulation.topology
        moving = {consumer.name for consumer in topology.consumers_of(left)}
        stated: dict[str, int] = dict.fromkeys(moving, 0)
        for _ in range(2):
            estate.must("sim", "kill", left)
            time.sleep(_STEADY_S)
            estate.must("failover", "--to", entered, "--attest-down", left, "--yes")
            for name, cost in estate.results()[-1]["plan"]["predicted"]["reread"].items():
                stated[name] += cost["at_most"]
            time.sleep(_STEADY_S)
            estate.must("sim", "restart", left)
            estate.must("failback", "--to", left, "--yes")
            time.sleep(_STEADY_S)
        found = compared(simulation, estate.results())
        told = read_ledgers(topology, simulation.ledgers)
        assert {told.at[name] for name in moving} == {left}
        for one in found.readings:
            assert (one.skipped, one.lost, one.uncalled) == ((), (), ()), one
        for name, most in stated.items():
            again = sum(len(one.again) for one in found.readings if one.consumer == name)
            print(f"{file}: {name} read {again} records again, at most {most} were stated")  # noqa: T201
            # No boot guard keeps consumers off a centre: those that come up with it read on until the failback.
            assert again <= most or left == "centre"
        stays_put = [one for one in found.readings if one.consumer not in moving]
        assert all(one.again == () for one in stays_put)
        assert [copy for copy in found.copies if copy.hole or copy.tail] == []
        # A worker that was killed copies again what it had not stored; nothing else stands twice.
        assert {copy.cluster for copy in found.copies if copy.twice} <= {left}


def test_a_source_and_its_centre_are_lost_together(tmp_path: Path) -> None:
    """Consumers go on at the second centre as far as it has copies; what the source kept reaches them later."""
    estate = Estate(tmp_path / "state")
    with at_work(FILES / "two-centres.yaml") as simulation:
        topology = simulation.topology
        moving = {consumer.name for consumer in topology.consumers_of("centre")}
        for site in ("dc1", "centre"):
            estate.must("sim", "kill", site)
        time.sleep(_STEADY_S)
        attested = ("--attest-down", "centre", "--attest-down", "dc1")
        estate.must("failover", "--to", "reserve", *attested, "--yes")
        told = read_ledgers(topology, simulation.ledgers)
        assert {told.at[name] for name in moving} == {"reserve"}
        before = workload_progress(simulation.ledgers)
        time.sleep(_STEADY_S)
        # Of dc2, which lives; nothing of dc1 can come.
        assert workload_progress(simulation.ledgers).processed["reporting"] > before.processed["reporting"]
        predicted = estate.results()[-1]["plan"]["predicted"]["reread"]
        estate.must("sim", "restart", "dc1")
        time.sleep(_STEADY_S)
        estate.must("sim", "restart", "centre")
        estate.must("failback", "--to", "centre", "--yes")
        found = compared(simulation, estate.results())
        for one in found.readings:
            assert (one.skipped, one.lost, one.uncalled) == ((), (), ()), one
            print(f"{one.consumer}: {len(one.again)} again, stated {predicted.get(one.consumer)}")  # noqa: T201
        assert [copy for copy in found.copies if copy.hole or copy.tail] == []


@pytest.mark.parametrize("example", ["into-centre"])
def test_a_move_is_refused_before_records_are_lost_to_a_reader(example: str, tmp_path: Path) -> None:
    """Who would not see them is named, and so is a second source; a person's word stands for the one alone."""
    estate, file = Estate(tmp_path / "state"), tmp_path / "narrow.yaml"
    text = (FILES / f"{example}.yaml").read_text(encoding="utf-8")
    text = text.replace(r"'(.*\.)?orders'", r"'.*\.orders'").replace("partitions: 2", "partitions: 3")
    text = text.replace("  dc2:\n    kafka: 4.3.1\n", "  dc2:\n    kafka: 4.3.1\n    standby: centre\n")
    file.write_text(text, encoding="utf-8")
    with at_work(file):
        assert _refused(estate, "--from", "dc1", "--to", "centre") == {
            "landing-read": "reporting reads copies of dc1 at centre and not orders there"
        }
        word = ("--accept-unread", "reporting")
        estate.must("switchover", "--from", "dc1", "--to", "centre", *word, "--yes")
        assert _refused(estate, "--from", "dc2", "--to", "centre", *word)["landing-alone"].startswith(
            "applications of dc1 write orders at centre since run"
        )
        estate.must("failback", "--to", "dc1", "--yes")


def _refused(estate: Estate, *words: str) -> dict[str, str]:
    """The gates that refuse a switchover, each with the beginning of its reason."""
    done = estate.command("switchover", *words, "--dry-run", "--json")
    assert done.returncode == 4, (done.stdout, done.stderr)
    gates = json.loads(done.stdout)["gates"]
    return {gate["id"]: gate["reason"].split(":")[0] for gate in gates if gate["outcome"] == "refused"}
