"""The gates of a stretched cluster, on real servers: each refusing, or not knowing, with nothing changed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.errors import ClusterError
from orchestrator.simulation.as_before import as_it_stands
from orchestrator.simulation.running import Simulation
from tests.faults.estate import Estate
from tests.faults.stretched import stretched
from tests.layouts.test_evacuated import all_in_sync, awaited, placed

_WITHIN_S = 120.0
LOST = ("failover", "--attest-down", "dc1", "--lower-min-insync", "all")
EVACUATE = ("switchover", "--evacuate", "dc1")
POWER_OFF = (*EVACUATE, "--power-off")
REFUSED, UNKNOWN = 4, 7

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]


class Answers:
    """One simulation, asked again and again while something is wrong."""

    def __init__(self, estate: Estate, folder: Path) -> None:
        self.estate, self.folder = estate, folder
        self.simulation: Simulation = estate.simulation()
        self.file = self.simulation.topology_path

    def variant(self, change: Callable[[dict[str, Any]], None]) -> Path:
        """The completed topology file, changed."""
        return self._changed(self.file, change)

    def inventory(self, change: Callable[[dict[str, Any]], None]) -> Path:
        """The topology file with another inventory."""
        data = yaml.safe_load(self.file.read_text(encoding="utf-8"))
        hosts = self._changed(Path(data["inventory"]), change)
        return self.variant(lambda own: own.update(inventory=str(hosts)))

    def _changed(self, file: Path, change: Callable[[dict[str, Any]], None]) -> Path:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
        change(data)
        found = self.folder / f"{file.stem}-{time.monotonic_ns()}.yaml"
        found.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
        return found

    def closed(self, verb: str, *words: str, file: Path | None = None) -> Mapping[str, str]:
        """Gates that are not ok, each `outcome: reason`; the exit status follows from them."""
        done = self.estate.command(verb, str(file or self.file), *words, "--json", "--yes")
        data = json.loads(done.stdout)
        gates = [gate for gate in data["plan"]["gates"] if gate["outcome"] != "ok"]
        wanted = REFUSED if any(gate["outcome"] == "refused" for gate in gates) else UNKNOWN
        assert (done.returncode, bool(gates)) == (wanted, True), (done.returncode, done.stderr)
        assert all(gate["hint"] and gate["measured"] for gate in gates), gates
        assert "Nothing was changed" in " ".join(done.stderr.split()), done.stderr
        return {gate["id"]: f"{gate['outcome']}: {gate['reason']}" for gate in gates}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    """Two sites with KRaft, all well."""
    folder = tmp_path_factory.mktemp("stretched")
    with (
        pytest.MonkeyPatch.context() as patch,
        stretched(folder / "state", patch, "stretched-2dc-kraft") as estate,
    ):
        yield Answers(estate, folder)


def _answered(answers: Answers, holds: Callable[[frozenset[int]], bool]) -> bool:
    """Whether it holds of the brokers that are up; not where nobody answers yet."""
    try:
        return holds(placed(answers.simulation).living)
    except ClusterError:
        return False


@contextmanager
def stopped(answers: Answers, dc: str, *names: str) -> Iterator[None]:
    """Servers that do not run meanwhile, as the cluster sees it."""
    site = answers.simulation.site(dc)
    site.stop(names)
    numbers = {int(name.partition("-")[2]) for name in names}
    awaited(lambda: _answered(answers, numbers.isdisjoint), _WITHIN_S)
    try:
        yield
    finally:
        site.start(names)
        awaited(lambda: _is_whole(answers), _WITHIN_S)


def _is_whole(answers: Answers) -> bool:
    try:
        return all_in_sync(placed(answers.simulation))
    except ClusterError:
        return False


def test_1_while_both_sites_are_up(answers: Answers) -> None:
    """A site that takes part is not lost; leaders go nowhere where nobody could lead; the ensemble is asked."""
    before = as_it_stands(answers.simulation, "main")
    said = answers.closed(*LOST)
    assert "servers of main at dc1 take connections" in said["lost-site-off"]
    assert set(answers.closed("failover")) == {"attested"}
    gone = answers.closed("failover", "--attest-down", "dc1", "--attest-down", "dc2")
    assert gone["quorum-continues"].startswith("refused")

    with stopped(answers, "dc2", "broker-3", "broker-4"):
        assert answers.closed(*EVACUATE)["site-evacuable"].startswith("refused")
    with stopped(answers, "dc2", "broker-4"):
        assert answers.closed(*EVACUATE)["margin-after"].startswith("refused")
    answers.estate.must(*EVACUATE, "--yes")
    with stopped(answers, "dc1", "broker-1"):
        assert answers.closed("failback")["isr-full"].startswith("refused")
    answers.estate.must("failback", "--yes")

    answers.simulation.coordination.stop(["zookeeper"])
    try:
        said = answers.closed(*EVACUATE)
        assert said["coordination"].startswith("unknown")
    finally:
        answers.simulation.coordination.start(["zookeeper"])
    brokers = {"dc1": ["broker-1", "broker-2"], "dc2": ["broker-3", "broker-4"]}
    for dc, names in brokers.items():
        answers.simulation.site(dc).pause(names)
    try:
        said = answers.closed("leaders", "--balance")
        assert said["leaders-known"].startswith("unknown")
        assert answers.closed(*EVACUATE)["site-evacuable"].startswith("unknown")
    finally:
        for dc, names in brokers.items():
            answers.simulation.site(dc).resume(names)
    awaited(lambda: _is_whole(answers), _WITHIN_S)
    answers.estate.must("leaders", "--balance", "--yes")
    assert list(before.differences(as_it_stands(answers.simulation, "main"))) == []


def test_1_before_servers_are_stopped_by_plan(answers: Answers) -> None:
    """Topics that would wait, servers that no host tells of, and who would be left: nothing is touched."""
    before = as_it_stands(answers.simulation, "main")

    def without_a_broker(data: dict[str, Any]) -> None:
        data["all"]["hosts"]["dc1"]["dcctl_servers"].pop("broker-2")

    def with_another_unit(data: dict[str, Any]) -> None:
        data["all"]["hosts"]["dc1"]["dcctl_servers"]["broker-2"]["unit"] = "nobody"

    assert (
        "too few replicas are in sync for min.insync.replicas of"
        in answers.closed(*POWER_OFF)["writes-go-on"]
    )
    word = (*POWER_OFF, "--lower-min-insync", "all")
    lacking = answers.closed(*word, file=answers.inventory(without_a_broker))
    assert set(lacking) == {"servers-told"}
    assert lacking["servers-told"].startswith("refused: hosts at dc1 tell of 4 servers")
    strange = answers.closed(*word, file=answers.inventory(with_another_unit))
    assert strange["servers-told"].startswith("unknown: dc1:")
    with stopped(answers, "dc2", "broker-4"):
        assert answers.closed(*word)["margin-after"].startswith("refused")
    answers.estate.must("leaders", "--balance", "--yes")
    assert list(before.differences(as_it_stands(answers.simulation, "main"))) == []


def test_2_the_site_is_lost_and_nothing_is_stopped(answers: Answers) -> None:
    """Hosts, files and versions are looked at before: whoever is left runs on as it was."""
    simulation = answers.simulation
    simulation.site("dc1").kill()
    config = simulation.site("dc2").files.place("controller-105/server.properties")
    text = config.read_text(encoding="utf-8")

    def without_a_voter(data: dict[str, Any]) -> None:
        data["all"]["hosts"]["dc2"]["dcctl_servers"].pop("controller-106")

    def without_its_manager(data: dict[str, Any]) -> None:
        data["all"]["hosts"]["dc2"]["dcctl_servers"]["controller-106"]["config"] = (
            "/nowhere/server.properties"
        )

    def of_another_version(data: dict[str, Any]) -> None:
        data["clusters"]["main"]["kafka"] = "4.2.0"

    refused = answers.closed(*LOST, file=answers.inventory(without_a_voter))
    assert "2 at dc2, where the file has 3" in refused["voters-present"]
    unknown = answers.closed(*LOST, file=answers.inventory(without_its_manager))
    assert unknown["voters-present"].startswith("unknown: controller-106: dc2: /nowhere/server.properties")
    unproven = answers.closed(*LOST, file=answers.variant(of_another_version))
    assert "not on Kafka 4.2.0" in unproven["quorum-proven"]

    lines = text.splitlines()
    number = next(n for n, line in enumerate(lines, 1) if line.startswith("controller.quorum.voters"))
    first, _, rest = lines[number - 1].partition(",")
    config.write_text(text.replace(lines[number - 1], f"{first.partition('=')[0]}={rest}"), encoding="utf-8")
    try:
        by_hand = answers.closed(*LOST)["files-as-known"]
        assert f"{config}:{number} of controller-105 names 5 voters" in by_hand
    finally:
        config.write_text(text, encoding="utf-8")


def test_3_a_change_of_the_quorum_is_under_way_or_stands(answers: Answers) -> None:
    """What was begun is gone on with; a site that is not back is not brought back."""
    run = answers.estate.killed_at("form-quorum", *LOST, "--yes")
    answers.estate.await_lock_free()
    assert answers.closed("failback")["voters-present"].startswith("unknown")
    answers.estate.resumed(run)
    assert answers.closed("failback")["voters-present"].startswith("unknown")

    answers.simulation.site("dc1").restart()
    answers.estate.ended("failback", "--yes")
    awaited(lambda: all_in_sync(placed(answers.simulation)), _WITHIN_S)
