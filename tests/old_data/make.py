"""Makes old data anew, by real servers: `python -m tests.old_data.make FOLDER [STORY …]`.

FOLDER is below `tests/old_data/`, named by the version. A folder that is there already is never written again:
what an earlier version has left cannot be made by this one.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator import __version__
from orchestrator.adapters.kafka import read_records
from orchestrator.simulation.running import Simulation
from orchestrator.values import TopicPartition
from tests.drill.rehearsal import ROOT
from tests.faults.estate import at_work
from tests.old_data.samples_file import SAMPLES, SampleRecord, write_samples
from tests.old_data.scrub import Scrub
from tests.old_data.stories import STORIES, Making
from tests.old_data.tree import Node, dump_tree, write_tree

HERE = Path(__file__).parent
STATE = "/var/lib/dcctl"
_WORK_S = 4.0


def samples_of(simulation: Simulation) -> list[SampleRecord]:
    """Every record of the samples topic."""
    mirror = simulation.topology.replication[0]
    target = simulation.cluster(mirror.target)
    partition = TopicPartition(mirror.samples_topic, 0)
    log = target.log_ends([partition])[partition]
    ranges = {partition: (log.start_offset, log.end_offset)}
    return [
        SampleRecord(record.offset, record.key or b"", record.value)
        for chunk in read_records(target.name, target.properties, ranges)
        for record in chunk
    ]


def make(name: str, out: Path) -> None:
    """Tell one story, and keep what is left of it in `out`."""
    with (
        tempfile.TemporaryDirectory(prefix="dcctl-old-data-") as place,
        pytest.MonkeyPatch.context() as patch,
    ):
        state, kept = Path(place) / "state", Path(place) / "kept"
        kept.mkdir()
        with at_work(state, patch, STORIES[name].file) as estate:
            time.sleep(_WORK_S)
            making = Making(estate, kept)
            STORIES[name].tell(making)
            simulation = estate.simulation()
            samples = samples_of(simulation)
            assert simulation.topology.coordination is not None
            nodes = dump_tree(simulation.topology.coordination.zookeeper)
            (kept / "topology.yaml").write_bytes(simulation.topology_path.read_bytes())
            for run_name, run in making.runs.items():
                result = state / "runs" / run / "result.json"
                if run_name == "failover" and result.exists():
                    data = json.loads(result.read_text(encoding="utf-8"))
                    (kept / "result.json").write_text(json.dumps(data, sort_keys=True) + "\n", "utf-8")
        keep(out, kept, Left(nodes, samples, making.runs, state))


@dataclass(frozen=True)
class Left:
    """What a story has left: nodes of the ensemble, samples, names of runs, and the state folder's path."""

    nodes: list[Node]
    samples: list[SampleRecord]
    runs: dict[str, str]
    state: Path


def keep(out: Path, files: Path, left: Left) -> None:
    """Write it into `out`, with the texts in the folder `files`, free of what belongs to this machine."""
    texts = {file.name: file.read_text(encoding="utf-8") for file in sorted(files.iterdir())}
    words = {str(left.state): STATE, str(ROOT): "/opt/dcctl", socket.gethostname(): "ops-1"}
    scrub = Scrub(words, texts.values())
    for name, text in texts.items():
        if name.endswith(".yaml"):
            scrub.learn_topology(text, name)
    scrub.learn_bulk(left.nodes)
    out.mkdir(parents=True)
    write_tree(out / "ensemble.jsonl", map(scrub.node, left.nodes))
    for name, text in texts.items():
        (out / name).write_text(scrub.text(text), encoding="utf-8")
    write_samples(out / SAMPLES, map(scrub.sample, left.samples))
    about = {"dcctl_version": __version__, "runs": left.runs}
    (out / "about.json").write_text(json.dumps(about, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.old_data.make", description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("stories", nargs="*", choices=[*STORIES, []], default=[])
    given = parser.parse_args()
    for name in given.stories or STORIES:
        out = HERE / given.folder / name
        if out.exists():
            sys.stderr.write(f"{out.relative_to(ROOT)} is there already; remove it by hand\n")
            return 1
        began_s = time.monotonic()
        make(name, out)
        size = sum(file.stat().st_size for file in out.iterdir())
        sys.stderr.write(f"{name}: {size / 1000:.0f} kB in {time.monotonic() - began_s:.0f} s\n")
    return 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
