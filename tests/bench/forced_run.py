"""A quorum of the survivors and the way back, by dcctl and by a bare script of the same steps, on real servers.

`python -m tests.bench.forced_run LAYOUT` (`stretched-2dc`, `stretched-2dc-kraft`); prints one line of JSON.
The script looks at nothing, locks nothing and records nothing: it stops voters, changes lines, and starts
them. Both work on the same simulation, one loss after the other, under the same writes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from orchestrator.errors import ClusterError, SimulationError
from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.running import Simulation
from orchestrator.topology.loading import load_topology
from tests.bench.groups_run import in_memory
from tests.layouts.observed import topic_partitions
from tests.layouts.test_evacuated import all_in_sync, awaited, placed
from tests.layouts.writes import Writer

ROOT = Path(__file__).parents[2]
LOST, LEFT = "dc1", "dc2"
KEY = "min.insync.replicas"
_WITHIN_S = 180.0
_STOPS_S = 5.0
_ZOOKEEPER_LINES = re.compile(r"^(server\.[0-9]+|group|weight)[.0-9=]", re.MULTILINE)


def main() -> None:
    """Measure one layout."""
    layout = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="dcctl-bench-", dir=in_memory()) as folder:
        os.environ["DCCTL_STATE_DIR"] = folder
        simulation = simulation_up(load_topology(ROOT / "topologies" / f"{layout}.yaml"), watch=False)
        try:
            measured = _measured(simulation, Path(folder))
        finally:
            simulation.down()
    sys.stdout.write(json.dumps({"layout": layout, **measured}) + "\n")


def _measured(simulation: Simulation, folder: Path) -> dict[str, Any]:
    partitions = topic_partitions(simulation, "main")
    with (
        Writer(simulation.client_properties("main", "operator"), partitions) as writer,
        Changes(simulation) as changes,
    ):
        assert not writer.await_acks(time.time(), _WITHIN_S)
        found: dict[str, Any] = {}
        for who, way in (("script", _Script(simulation)), ("dcctl", _Dcctl(simulation, folder))):
            _lead_from_lost(simulation)
            simulation.site(LOST).kill()
            time.sleep(_STOPS_S)
            began_s = time.time()
            phases = way.force()
            assert not writer.await_acks(began_s, _WITHIN_S)
            first_s = min(
                at_s
                for answered in writer.ledger.answered_at_s.values()
                for at_s in reversed(answered.values())
                if at_s > began_s
            )
            simulation.site(LOST).restart()
            changes.longest_gap_s = 0.0
            changes.await_one(_WITHIN_S)
            way.restore()
            awaited(lambda: all_in_sync(placed(simulation)), _WITHIN_S)
            found[who] = {
                "first_write_s": first_s - began_s,
                "phases": phases,
                "standing_still_s": changes.longest_gap_s,
            }
    return found


def _lead_from_lost(simulation: Simulation) -> None:
    """The quorum's leader is lost with the site, for both: a controller that led ends only after five seconds.

    In ZooKeeper mode the highest id leads, which is at the other site, for both.
    """
    programs = {
        one.node_id: one.program for one in simulation.estate.controllers_of("main") if one.dc == LEFT
    }

    def is_there() -> bool:
        with simulation.cluster("main") as kafka:
            leader = kafka.describe_quorum().leader_id
        if leader in programs:
            simulation.site(LEFT).stop([programs[leader]])
            simulation.site(LEFT).start([programs[leader]])
        return leader not in programs

    if programs:
        awaited(lambda: _answered(is_there), _WITHIN_S)


class _Script:
    """What somebody would type who knows which files to change. Nothing is checked."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        estate = simulation.estate
        self._is_kraft = bool(estate.controllers_of("main"))
        voters = [*estate.zookeepers_of("main"), *estate.controllers_of("main")]
        self._voters = {dc: [one.program for one in voters if one.dc == dc] for dc in (LOST, LEFT)}
        self._before: dict[Path, str] = {}
        self._settings: dict[str, dict[str, str | None]] = {}

    def force(self) -> dict[str, float]:
        watch = _Phases()
        with watch.phase("stop-voters"):
            self._stop(LEFT)
        with watch.phase("form-quorum"):
            for program in self._voters[LEFT]:
                self._change(program)
            self._simulation.site(LEFT).start(self._voters[LEFT])
        with watch.phase("lower-min-insync"):
            self._lower()
        return watch.seconds

    def restore(self) -> None:
        self._stop(LOST)
        self._stop(LEFT)
        for file, text in self._before.items():
            file.write_text(text, encoding="utf-8")
        for dc in (LEFT, LOST):
            self._simulation.site(dc).start(self._voters[dc])
        awaited(lambda: _answered(lambda: all_in_sync(placed(self._simulation))), _WITHIN_S)
        with self._simulation.cluster("main") as kafka:
            kafka.alter_configs("topic", self._settings)

    def _stop(self, dc: str) -> None:
        """Killed after five seconds, as dcctl does."""
        host, names = self._simulation.site(dc), self._voters[dc]
        stopping = threading.Thread(target=host.stop, args=(names,))
        stopping.start()
        stopping.join(_STOPS_S)
        for name in names if stopping.is_alive() else ():
            with suppress(SimulationError):  # it has ended meanwhile
                host.kill([name])
        stopping.join()

    def _change(self, program: str) -> None:
        name = "server.properties" if self._is_kraft else "zoo.cfg"
        file = self._simulation.site(LEFT).files.place(f"{program}/{name}")
        text = self._before.setdefault(file, file.read_text(encoding="utf-8"))
        kept = {one.rpartition("-")[2] for one in self._voters[LEFT]}
        file.write_text("\n".join(_line(line, kept) for line in text.splitlines()) + "\n", encoding="utf-8")

    def _lower(self) -> None:
        awaited(lambda: _answered(self._lowered), _WITHIN_S)

    def _lowered(self) -> bool:
        with self._simulation.cluster("main") as kafka:
            names = sorted(kafka.topic_names())
            own = kafka.configs("topic", names)
            self._settings = {name: {KEY: own[name].get(KEY)} for name in names}
            kafka.alter_configs("topic", {name: {KEY: "2"} for name in names})
        return True


def _line(line: str, kept: set[str]) -> str:
    if line.startswith("controller.quorum.voters="):
        key, _, rows = line.partition("=")
        return f"{key}={','.join(row for row in rows.split(',') if row.partition('@')[0] in kept)}"
    if _ZOOKEEPER_LINES.match(line):
        number = line.partition("=")[0].rpartition(".")[2]
        return line if line.startswith("server.") and number in kept else f"#{line}"
    return line


class _Dcctl:
    """The commands, each in a process of its own."""

    def __init__(self, simulation: Simulation, state: Path) -> None:
        self._simulation, self._state = simulation, state

    def force(self) -> dict[str, float]:
        began_s = time.time()
        self._command("failover", "--attest-down", LOST, "--lower-min-insync", "all")
        result = json.loads((self._run_folder() / "result.json").read_text(encoding="utf-8"))
        seconds = {row["id"]: row["seconds"] for row in result["steps"]}
        return {"look and plan": result["started_at_s"] - began_s, **seconds}

    def restore(self) -> None:
        self._command("failback")

    def _run_folder(self) -> Path:
        return max((self._state / "runs").glob("*"))

    def _command(self, verb: str, *words: str) -> None:
        file = str(self._simulation.topology_path)
        command = [sys.executable, "-m", "orchestrator.cli.main", verb, file, *words, "--yes"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr


class _Phases:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - began


class Changes:
    """Changes the cluster's metadata all the time; knows the longest that this could not be done."""

    def __init__(self, simulation: Simulation) -> None:
        self.longest_gap_s, self._last = 0.0, time.monotonic()
        self._simulation, self._stop, self._made = simulation, threading.Event(), 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Changes:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def await_one(self, within_s: float) -> None:
        """Until the next change is made."""
        made = self._made
        awaited(lambda: self._made > made, within_s)

    def _run(self) -> None:
        topic = self._simulation.topology.topics[0].name
        while not self._stop.wait(0.1):
            if not _answered(lambda: self._change(topic)):
                continue
            now = time.monotonic()
            self.longest_gap_s = max(self.longest_gap_s, now - self._last)
            self._last, self._made = now, self._made + 1

    def _change(self, topic: str) -> bool:
        with self._simulation.cluster("main") as kafka:
            kafka.alter_configs("topic", {topic: {"segment.ms": str(600_000_000 + self._made)}})
        return True


def _answered(asked: Callable[[], bool]) -> bool:
    try:
        return asked()
    except ClusterError:
        return False


if __name__ == "__main__":
    main()
