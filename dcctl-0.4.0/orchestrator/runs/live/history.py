"""What was: the runs of a topology, read from the journal without taking its lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.runs.estate_record import SettingsBefore
from orchestrator.runs.live.coordination import coordination_connection
from orchestrator.runs.live.earlier_runs import newest_runs
from orchestrator.runs.live.estate_facts import read_facts, read_primaries
from orchestrator.runs.live.journal import journal_records, unpacked
from orchestrator.runs.live.state_folder import run_folder
from orchestrator.runs.live.uncoordinated import has_local_journal, local_journal, read_local_journal
from orchestrator.runs.plan import RunEvent
from orchestrator.runs.words import Words
from orchestrator.topology.model import Topology

Connects = Callable[[Topology], Coordination]


def run_rows(topology: Topology, effects: Words) -> list[dict[str, Any]]:
    """The newest runs, oldest first; see `newest_runs`."""
    with coordination_of(topology) as coordination:
        return [asdict(run) for run in newest_runs(coordination, topology.name, effects)]


def run_records(topology: Topology, run_id: str, connect: Connects | None = None) -> list[RunEvent]:
    """Every record of one run; of one that had no ensemble, from this machine until it is imported."""
    if has_local_journal(topology.name, run_id):
        return read_local_journal(local_journal(topology.name, run_id))
    with coordination_of(topology, connect) as coordination:
        return journal_records(coordination, topology.name, run_id, run_folder(run_id))


def primary_records(topology: Topology) -> list[dict[str, Any]]:
    """Which run has made which side primary, oldest first."""
    with coordination_of(topology) as coordination:
        return [record.as_json() for record in read_primaries(coordination, topology.name)]


def changed_settings(topology: Topology) -> list[dict[str, Any]]:
    """Which run has changed which settings of topics, and what they had been before; oldest first."""
    with coordination_of(topology) as coordination:
        facts = read_facts(coordination, topology.name, [SettingsBefore])
    return [
        {"run_id": fact.run_id, "at_s": fact.at_s, "cluster": body.cluster, "settings_before": body.settings}
        for fact in facts
        if isinstance(body := fact.body, SettingsBefore)
    ]


def rows_at(topology: Topology, path: str) -> list[dict[str, Any]]:
    """What is kept below a path of the ensemble, in the order of its names: the oldest first."""
    with coordination_of(topology) as coordination:
        return [unpacked(value) for value in coordination.read_children(path).values()]


@contextmanager
def coordination_of(topology: Topology, connect: Connects | None = None) -> Iterator[Coordination]:
    """The topology's ensemble. Raises `CoordinationError` where there is none, or it does not answer."""
    coordination = (connect or coordination_connection)(topology)
    coordination.open()
    try:
        yield coordination
    finally:
        coordination.close()
