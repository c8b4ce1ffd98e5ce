"""What is done to a simulation so that its runs leave old data behind: one function a story.

Each begins with an estate at work and leaves the simulation as it is to be kept. Short pauses let records flow.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tests.faults.estate import SMALL, SMALL_SPARK, Estate
from tests.faults.test_degraded import DEGRADED, await_batch, kill

_WORK_S = 4.0
_REFUSED = 4
FAILOVER = ("failover", "--to", "east", "--attest-down", "west", "--accept-loss", "100000", "--yes")
FAILBACK = ("failback", "--acknowledge", "ada: there and back at once", "--yes")
ALONE = ("--without-coordination", "--reason", "fire; the bridge agrees that only I act")
LEAVE = ("failover", "--to", "east", "--attest-sick", "west", "--accept-loss", "100000", "--yes")


@dataclass
class Making:
    """One story under way: the estate, a folder for plan files and local journals, and runs by a name."""

    estate: Estate
    folder: Path
    runs: dict[str, str] = field(default_factory=dict)

    def named(self, name: str) -> None:
        """Give the newest run a name that tests call it by."""
        self.runs[name] = self.estate.runs()[-1].name

    def did(self, name: str, *words: str) -> None:
        """A command that ends well, and has made a run."""
        known = len(self.estate.runs())
        self.estate.must(*words)
        assert len(self.estate.runs()) > known, words
        self.named(name)
        time.sleep(_WORK_S)

    def planned(self, name: str, *words: str) -> None:
        """A plan file by `-o`; whether its gates are open does not count."""
        self.estate.command(*words, "-o", str(self.folder / f"{name}.plan.json"))
        assert (self.folder / f"{name}.plan.json").exists(), words


def small(making: Making) -> None:
    """Applied, fenced, there and back by plan, lost, taken back, back again, and lost beside the ensemble."""
    estate, simulation = making.estate, making.estate.simulation()
    file = str(simulation.topology_path)
    changed = making.folder / "changed.yaml"
    data = yaml.safe_load(simulation.topology_path.read_text(encoding="utf-8"))
    data["topics"][0]["config"] = {"retention.ms": "86400000"}
    changed.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    making.planned("apply", "plan", str(changed))
    making.did("apply", "apply", str(making.folder / "apply.plan.json"), "--reason", "a day is enough")
    making.did("apply-back", "apply", file, "--yes")
    estate.must("hold", "dc:west", "--reason", "disks are being swapped")
    estate.must("release", "dc:west")
    making.did("fence", "fence", "--cluster", "west", "--yes", "--reason", "rehearsal")
    making.did("unfence", "unfence", "--cluster", "west", "--yes")

    making.planned("switchover", "switchover", "--to", "east", "--dry-run")
    making.did("switchover", "switchover", "--to", "east", "--yes", "--reason", "the racks move")
    making.planned("failback", "failback", "--acknowledge", "ada: there and back at once", "--dry-run")
    making.did("failback", *FAILBACK)

    estate.must("sim", "kill", "west")
    making.planned("failover", *FAILOVER[:-1], "--dry-run")
    run = estate.killed_at("write-offsets", *FAILOVER)
    making.named("failover")
    estate.resumed(run)
    time.sleep(_WORK_S)
    estate.must("sim", "restart", "west")
    run = estate.killed_at("write-offsets", *FAILBACK)
    making.named("failback-undone")
    estate.must("unlock", run, "--yes", "--reason", "its process is dead")
    estate.ended("abort", run, "--yes", "--reason", "not tonight")
    time.sleep(_WORK_S)
    making.did("failback-again", *FAILBACK)

    estate.must("sim", "kill", "west")
    simulation.coordination.stop(["zookeeper"])
    estate.must(*FAILOVER, *ALONE, "--acknowledge", "ada: it burns")
    making.named("alone")
    (journal,) = (estate.state / "alone" / "small").glob("*.jsonl")
    for file_of_run in journal.parent.glob(f"{journal.stem}*"):
        (making.folder / file_of_run.name).write_bytes(file_of_run.read_bytes())
    simulation.coordination.start(["zookeeper"])
    estate.must("history", "--import", str(journal))
    estate.must("hold", "dc:east", "--reason", "somebody is at the racks")


def spark(making: Making) -> None:
    """A query moves with its state and back; the way back is killed in its middle, and stays unfinished."""
    estate = making.estate
    await_batch(estate.simulation())
    estate.must("sim", "kill", "west")
    making.did("failover", *FAILOVER)
    estate.must("sim", "restart", "west")
    estate.killed_at("write-offsets", *FAILBACK)
    making.named("failback-unfinished")


def sick(making: Making) -> None:
    """One broker of three dies; leaving the site is killed and taken back, and then done."""
    estate, simulation = making.estate, making.estate.simulation()
    kill(simulation, "broker-2")
    # Attested as down it is refused, and such a run is kept too.
    assert estate.command(*FAILOVER).returncode == _REFUSED
    time.sleep(3 * _WORK_S)
    run = estate.killed_at("drain", *LEAVE)
    making.named("leaving-undone")
    estate.ended("abort", run, "--yes", "--reason", "rehearsal")
    time.sleep(_WORK_S)
    making.did("leaving", *LEAVE)


@dataclass(frozen=True)
class Story:
    """A story with the topology file that it begins with."""

    tell: Callable[[Making], None]
    file: Path


STORIES: Mapping[str, Story] = {
    "small": Story(small, SMALL),
    "spark": Story(spark, SMALL_SPARK),
    "sick": Story(sick, DEGRADED),
}
