"""The estate record in an ensemble: numbers under the lock, one transaction with the journal, any size."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestrator.errors import CoordinationError
from orchestrator.ports.services import ServiceState
from orchestrator.runs.estate_record import (
    LogsAtDeparture,
    PrimaryMoved,
    ReverseStarts,
    RunBegun,
    RunEnded,
    journals_unread,
    logs_at_departure,
    rows,
)
from orchestrator.runs.facts_within_clusters import ServicesStopped
from orchestrator.runs.live.estate_facts import begun_runs, old_primary_path, read_facts, read_primaries
from orchestrator.runs.live.estate_record import FactName, estate_path, fact_names
from orchestrator.runs.live.estate_store import EnsembleRecord
from orchestrator.runs.live.uncoordinated import LocalRecord
from orchestrator.runs.plan import RunEvent
from orchestrator.runs.primaries import PrimaryRecord
from orchestrator.runs.within_clusters import stopped_services
from orchestrator.snapshot.back_starts import back_starts
from orchestrator.values import TopicPartition
from tests.runs.memory_ensemble import MemoryEnsemble, MemoryLock, a_record, write_run

ABOUT = {"verb": "failback", "source": "east", "target": "west"}
_RAN = ServiceState(site="dc1", is_running=True, is_enabled=True)
EAST = PrimaryMoved(home="west", primary="east", topics=("orders",))


def large(partitions: int = 20_000) -> LogsAtDeparture:
    ends = tuple(("orders", number, number * 7919 % 1_000_003, 5) for number in range(partitions))
    return LogsAtDeparture(cluster="west", ends=ends, topic_ids={"orders": "id"})


def store(ensemble: MemoryEnsemble, run_id: str = "r") -> EnsembleRecord:
    return EnsembleRecord(MemoryLock(ensemble, "lock"), "t", run_id)


def test_facts_of_many_threads_get_numbers_of_their_own() -> None:
    """Steps of one run go side by side."""
    ensemble = MemoryEnsemble()
    record = store(ensemble)
    with ThreadPoolExecutor(8) as pool:
        for _ in pool.map(lambda n: record.append([RunEnded(outcome=str(n))]), range(40)):
            pass
    assert sorted(name.number for name in fact_names(ensemble, "t")) == list(range(1, 42))


@pytest.mark.parametrize("body", [large(), large(3)])
def test_a_fact_of_any_size_comes_back(body: LogsAtDeparture) -> None:
    """No node is larger than ZooKeeper takes, and no transaction either."""
    ensemble = MemoryEnsemble()
    store(ensemble).write(body)
    assert logs_at_departure(read_facts(ensemble, "t"), "west") == body
    assert max(map(len, ensemble.nodes.values())) < 900_000
    nodes = [node for node in ensemble.nodes if node.startswith(estate_path("t") + "/")]
    assert max(len(ensemble.nodes[node]) for node in nodes) < 5_000


def test_parts_of_another_body_are_in_nobodys_way() -> None:
    """Somebody died between the parts and their fact; the next one has other ends to tell."""
    ensemble = MemoryEnsemble()
    store(ensemble).write(large())
    fact = max(node for node in ensemble.nodes if node.startswith(estate_path("t") + "/"))
    del ensemble.nodes[fact]
    store(ensemble).write(large(30_000))
    assert logs_at_departure(read_facts(ensemble, "t"), "west") == large(30_000)


def old_run(ensemble: MemoryEnsemble, folder: Path, run_id: str, *records: RunEvent) -> None:
    """A run that an earlier dcctl has left: its journal, and no facts."""
    before = set(ensemble.nodes)
    write_run(ensemble, "t", run_id, folder / run_id, *records)
    for node in set(ensemble.nodes) - before:
        if "/estate" in node:
            del ensemble.nodes[node]


def test_what_an_earlier_dcctl_has_recorded_is_withdrawn_as_well(tmp_path: Path) -> None:
    """Its failover is taken back by this version: nothing of it is left in force."""
    ensemble = MemoryEnsemble()
    about = {"verb": "failover", "source": "west", "target": "east"}
    records = [a_record("r0", 1, "run-started", **about), a_record("r0", 2, "step-intent", "record-primary")]
    old_run(ensemble, tmp_path, "r0", *records)
    old = PrimaryRecord(home="west", primary="east", topics=("orders",), at_s=5.0, run_id="r0")
    ensemble.write_json(f"{old_primary_path('t')}/000001-r0", old.as_json())
    taken_back = store(ensemble, "r0")
    assert taken_back.find(PrimaryMoved) == EAST
    taken_back.withdraw(PrimaryMoved)
    assert taken_back.find(PrimaryMoved) is None
    assert read_primaries(ensemble, "t") == ()


def test_what_died_while_it_took_over_old_journals_is_begun_anew(tmp_path: Path) -> None:
    """In part they count for nothing, and an earlier dcctl may have gone on meanwhile."""
    ensemble = MemoryEnsemble()
    for number in range(250):
        run_id = f"r{number:03d}"
        records = [a_record(run_id, 1, "run-started", **ABOUT), a_record(run_id, 2, "step-intent", "x")]
        old_run(ensemble, tmp_path, run_id, *records)

    class Dying(MemoryLock):
        left = 2

        def create_all(self, nodes: Mapping[str, bytes]) -> None:
            self.left -= 1
            if self.left < 0:
                raise CoordinationError("lock", "no answer")
            super().create_all(nodes)

    with pytest.raises(CoordinationError):
        EnsembleRecord(Dying(ensemble, "lock"), "t", "r").write(EAST)
    assert any(node.startswith(estate_path("t")) for node in ensemble.nodes)
    assert fact_names(ensemble, "t") == []
    records = [a_record("s", 1, "run-started", **ABOUT), a_record("s", 2, "step-intent", "x")]
    kept = {node: value for node, value in ensemble.nodes.items() if "/estate" in node}
    old_run(ensemble, tmp_path, "s", *records)
    ensemble.nodes |= kept
    store(ensemble).write(EAST)
    assert begun_runs(ensemble, "t") == [*(f"r{number:03d}" for number in range(250)), "s"]


def test_an_old_journal_that_cannot_be_read_keeps_nobody_from_beginning(tmp_path: Path) -> None:
    """Its bulk lies in a file of a machine that is gone. Who needs what it says is told so."""
    ensemble = MemoryEnsemble()
    bulk = {"in_file": "000003-step-outcome-x.json", "digest": "0"}
    records = [a_record("r0", 1, "run-started", **ABOUT), a_record("r0", 2, "step-intent", "x")]
    old_run(ensemble, tmp_path, "r0", *records, a_record("r0", 3, "step-outcome", "x", **bulk))
    store(ensemble).write(EAST)
    facts = read_facts(ensemble, "t")
    (unread,) = journals_unread(facts, "west", "east")
    assert unread.run_id == "r0"
    assert begun_runs(ensemble, "t") == ["r0"]


def test_a_part_that_is_missing_or_changed_is_an_error() -> None:
    """Never a smaller fact."""
    ensemble = MemoryEnsemble()
    store(ensemble).write(large())
    (part,) = (node for node in ensemble.nodes if "estate-parts" in node)
    kept = ensemble.nodes.pop(part)
    with pytest.raises(CoordinationError, match="part 0 of 1 is not there"):
        read_facts(ensemble, "t")
    ensemble.nodes[part] = kept[:-9]
    with pytest.raises(CoordinationError, match="estate-parts"):
        read_facts(ensemble, "t")


@pytest.mark.parametrize("after", [None, 17])
def test_the_name_of_a_node_tells_what_it_is_about(after: int | None) -> None:
    """Ids of runs have hyphens."""
    name = FactName(12, "logs_left", "20260101T000000-failover-3f9a1c", after)
    assert FactName.of(name.text) == name


@pytest.mark.parametrize("text", ["", "x-begun-r", "00000001-begun", "00000001-begun-r~x"])
def test_another_name_is_an_error(text: str) -> None:
    """Somebody has put it there."""
    with pytest.raises(CoordinationError, match="is no name of a fact"):
        FactName.of(text)


def test_that_a_run_has_begun_is_written_with_its_first_intent_and_its_end_with_the_last_record(
    tmp_path: Path,
) -> None:
    """Once each, however often the journal is written; a refused resumption is no end."""
    ensemble = MemoryEnsemble()
    records = [a_record("r", 1, "run-started", **ABOUT), a_record("r", 2, "step-intent", "a")]
    records += [a_record("r", 3, "step-intent", "b"), a_record("r", 4, "run-ended", outcome="refused")]
    records += [a_record("r", 5, "run-ended", outcome="ok")]
    for upto in range(1, len(records) + 1):
        write_run(ensemble, "t", "r", tmp_path, *records[:upto])
    bodies = [fact.body for fact in read_facts(ensemble, "t", [RunBegun, RunEnded])]
    assert bodies == [RunBegun(**ABOUT), RunEnded(outcome="ok")]


@pytest.mark.parametrize("alone", [False, True])
def test_a_run_finds_and_withdraws_its_own_facts_and_no_others(
    alone: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With the ensemble, and in a file without it."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path))
    (tmp_path / "alone" / "t").mkdir(parents=True)
    ensemble = MemoryEnsemble()
    mine = LocalRecord("t", "mine") if alone else store(ensemble, "mine")
    other = LocalRecord("t", "other") if alone else store(ensemble, "other")
    starts = ReverseStarts(
        home="west", standby="east", starts=rows({TopicPartition("orders", 0): 5}), is_set=False
    )
    for body in (EAST, starts):
        mine.write(body)
        other.write(body)
    mine.withdraw(PrimaryMoved)
    assert (mine.find(PrimaryMoved), mine.find(ReverseStarts)) == (None, starts)
    assert other.find(PrimaryMoved) == EAST
    if not alone:
        assert back_starts(read_facts(ensemble, "t"), "west", "east").recorded == {
            TopicPartition("orders", 0): 5
        }


@pytest.mark.parametrize("alone", [False, True])
def test_what_is_left_of_a_fact_takes_its_place_in_one_write(
    alone: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Who dies in the middle of an undo has lost nothing of it."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path))
    (tmp_path / "alone" / "t").mkdir(parents=True)
    ensemble = MemoryEnsemble()
    record = LocalRecord("t", "mine") if alone else store(ensemble, "mine")
    both = ServicesStopped(cluster="main", before={"broker-1": _RAN, "broker-2": _RAN})
    one = ServicesStopped(cluster="main", before={"broker-1": _RAN})
    record.write(both)
    record.withdraw(ServicesStopped, like=both, leaving=one)
    assert record.find(ServicesStopped, like=both) == one
    if not alone:
        assert stopped_services(read_facts(ensemble, "t")) == {"main": {"broker-1": _RAN}}
        assert ensemble.transactions[-1] == 2


@pytest.mark.parametrize("alone", [False, True])
def test_a_run_along_two_ways_records_each_of_them(
    alone: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two active sites change places: each primary is found and withdrawn without the other."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path))
    (tmp_path / "alone" / "t").mkdir(parents=True)
    record = LocalRecord("t", "mine") if alone else store(MemoryEnsemble(), "mine")
    west = PrimaryMoved(home="east", primary="west", topics=("orders",))
    for body in (EAST, west):
        record.write(body)
    assert [record.find(PrimaryMoved, like=body) for body in (EAST, west)] == [EAST, west]
    record.withdraw(PrimaryMoved, like=west)
    assert [record.find(PrimaryMoved, like=body) for body in (EAST, west)] == [EAST, None]
