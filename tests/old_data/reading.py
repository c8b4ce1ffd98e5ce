"""What this version makes of old data: the one place that knows which of its functions read what.

Each function takes plain data (a folder of old data, an ensemble) and gives plain JSON data, so that what the
code that reads it is called, and where it lies, may change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.guards.live.guard_reading import GuardReading
from orchestrator.moves.active_site import active_site
from orchestrator.moves.primary_gate import primary_rows
from orchestrator.runs.coordination_state import newest_move
from orchestrator.runs.estate_record import logs_at_departure
from orchestrator.runs.fact_copy import decode_copy, is_copy
from orchestrator.runs.live.estate_facts import read_facts
from orchestrator.runs.live.journal import journal_records
from orchestrator.snapshot.back_starts import back_starts
from orchestrator.snapshot.rejoining import log_truncations
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology
from orchestrator.verbs.live.coordination_state import read_coordination
from orchestrator.verbs.run_story import run_story
from tests.old_data.samples_file import SAMPLES, SampleRecord, read_samples_file
from tests.old_data.tree import Node, read_tree

HERE = Path(__file__).parent
FOLDERS = sorted(found.parent for found in HERE.glob("*/*/about.json"))


@dataclass(frozen=True)
class OldData:
    """One folder: what a story on servers has left."""

    folder: Path

    def __str__(self) -> str:
        return f"{self.folder.parent.name}/{self.folder.name}"

    @cached_property
    def about(self) -> dict[str, Any]:
        """Which dcctl has written it, and its runs by the names that tests call them by."""
        return dict(json.loads((self.folder / "about.json").read_text(encoding="utf-8")))

    @property
    def file(self) -> Path:
        """The topology file."""
        return self.folder / "topology.yaml"

    @cached_property
    def topology(self) -> Topology:
        """The topology, whose addresses lead nowhere."""
        return load_topology(self.file)

    @cached_property
    def nodes(self) -> list[Node]:
        """The ensemble, in the order in which it was written."""
        return read_tree(self.folder / "ensemble.jsonl")

    @cached_property
    def samples(self) -> list[SampleRecord]:
        """The samples topic."""
        return read_samples_file(self.folder / SAMPLES)

    @property
    def runs(self) -> Iterator[tuple[str, list[str]]]:
        """Each run's id with the paths of its journal's records, in the order in which runs were made."""
        below = f"/dcctl/{self.topology.name}/runs/"
        found: dict[str, list[str]] = {}
        for node in self.nodes:
            if node.path.startswith(below):
                run_id, _, record = node.path[len(below) :].partition("/")
                found.setdefault(run_id, [])
                if record:
                    found[run_id].append(node.path)
        yield from ((run_id, paths) for run_id, paths in found.items() if paths)

    def moments(self) -> Iterator[tuple[str, str]]:
        """Moments worth a look, as a name and the node that was written last: of each run that has begun a
        step, that first intent, the record in the middle, and the last."""
        for run_id, paths in self.runs:
            intents = [path for path in paths if "-step-intent" in path]
            if intents:
                yield f"{run_id} begun", intents[0]
                yield f"{run_id} in the middle", intents[len(intents) // 2]
            yield f"{run_id} at its last record", paths[-1]
        yield "in the end", self.nodes[-1].path


def guards(data: OldData, ensemble: Coordination, folder: Path) -> dict[str, Any]:
    """What the guard of a broker of each cluster decides, with a data folder that is not new; why, if closed.

    Topics are named since guards judge them one by one: they stand apart from the reason.
    """
    (folder / "orders-0").mkdir(parents=True, exist_ok=True)
    found = {}
    for cluster in sorted(data.topology.clusters):
        word = GuardReading(data.topology, cluster, folder).word(ensemble)
        reason, _, topics = word.reason.partition(": ")
        found[cluster] = {"is_open": word.is_open, **({} if word.is_open else _closed(reason, topics))}
    return found


def coordination(data: OldData, ensemble: Coordination) -> dict[str, Any]:
    """What every verb and `status` know of the ensemble: runs, primaries, holds, ids, who works where."""
    topology, (mirror,) = data.topology, data.topology.replication
    state = read_coordination(ensemble, "", topology, own_lock=True)
    primaries = primary_rows(topology, mirror, state.primaries)
    newest = newest_move(state.runs, mirror.source, mirror.target)
    return {
        "runs": [_plain(asdict(run)) for run in state.runs],
        "newest_move": newest.run_id if newest else None,
        "primaries": primaries,
        "working_side": active_site(mirror.target, primaries, newest, "").as_json(),
        "holds": [_plain(asdict(hold)) for hold in state.holds],
        "cluster_ids": dict(state.cluster_ids),
    }


def past(data: OldData, ensemble: Coordination) -> dict[str, Any]:
    """What a failback rests on: where the mirror back begins, how the logs were left, where they were cut."""
    (mirror,) = data.topology.replication
    facts = read_facts(ensemble, data.topology.name)
    starts = back_starts(facts, mirror.source, mirror.target).recorded
    left = logs_at_departure(facts, mirror.source)
    truncations = log_truncations(facts, mirror.source, mirror.target)
    return {
        "starts": {str(tp): at for tp, at in sorted(starts.items())},
        "left": None if left is None else {str(tp): list(end) for tp, end in sorted(left.log_ends().items())},
        "topic_ids": {} if left is None else dict(left.topic_ids),
        "cuts": {str(tp): _plain(found) for tp, found in sorted(truncations.items())},
    }


def story(data: OldData, ensemble: Coordination, run_id: str, folder: Path) -> dict[str, Any]:
    """A run retold."""
    return run_story(journal_records(ensemble, data.topology.name, run_id, folder))


def samples(data: OldData) -> dict[str, Any]:
    """What the samples say at their end, as `status` and a failover read them; and when the source failed."""
    history = SampleHistory()
    windows: dict[str, Any] = {}
    for offset, key, value in data.samples:
        history.add_record(key, value, offset)
        if is_failed_round(key) and (window := history.loss_window()) is not None:
            windows[f"{window.last_good_at_s:.3f}"] = list(window)
    return {
        "unreadable": history.unreadable,
        "watchers": len(history.watchers),
        "last_good_at_s": history.last_good_at_s,
        "losses": [windows[name] for name in sorted(windows)],
        "ends": {str(tp): list(end) for tp, end in sorted(history.newest_ends().items())},
        "topics": {name: topic.topic_id for name, topic in sorted(history.topics.items())},
        "positions": {
            group: {str(tp): at.offset for tp, at in sorted(history.positions(group).items())}
            for group in sorted(history.groups)
        },
        "copies": {name: _plain(asdict(copy)) for name, copy in sorted(history.copies.items())},
        "writers": {
            name: [seen.topic_id, seen.partitions, sorted(seen.transactional), seen.is_compacted]
            for name, seen in sorted(history.writers.items())
        },
    }


def is_failed_round(key: bytes) -> bool:
    """Whether a record of the samples topic tells of a round that failed."""
    words = json.loads(key)
    return isinstance(words, list) and (words[0], words[-1]) == ("round", "failed")


def copied_facts(data: OldData) -> list[dict[str, Any]]:
    """The facts of the estate record in the samples topic, by their numbers."""
    found = {}
    for _, key, value in data.samples:
        if is_copy(key) and value is not None:
            fact = decode_copy(value)[1]
            found[fact.number] = fact.as_json()
    return [found[number] for number in sorted(found)]


def facts(data: OldData, ensemble: Coordination) -> list[dict[str, Any]]:
    """The facts of the estate record in the ensemble, by their numbers."""
    return [fact.as_json() for fact in read_facts(ensemble, data.topology.name)]


def _closed(reason: str, topics: str) -> dict[str, Any]:
    return {"reason": reason, "topics": topics.split(", ")}


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))
