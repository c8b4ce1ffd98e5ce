"""The record of which side is primary: once for a run, the newest counts, taken back whole."""

from __future__ import annotations

import pytest

from orchestrator.errors import CoordinationError
from orchestrator.runs.estate_record import PrimaryMoved
from orchestrator.runs.live.estate_facts import old_primary_path, read_primaries
from orchestrator.runs.live.estate_record import estate_path
from orchestrator.runs.live.estate_store import EnsembleRecord
from orchestrator.runs.primaries import PrimaryRecord, primaries_of
from tests.runs.memory_ensemble import MemoryEnsemble, MemoryLock

EAST = PrimaryMoved(home="west", primary="east", topics=("orders",))
WEST = PrimaryMoved(home="west", primary="west", topics=("orders",))


def store(ensemble: MemoryEnsemble, run_id: str) -> EnsembleRecord:
    return EnsembleRecord(MemoryLock(ensemble, "lock"), "t", run_id)


def primary(ensemble: MemoryEnsemble) -> str:
    return primaries_of(read_primaries(ensemble, "t"))["west", "orders"].cluster


def test_the_newest_record_counts_whatever_the_clocks_say() -> None:
    """Two machines, one of them an hour behind."""
    ensemble = MemoryEnsemble()
    store(ensemble, "20260101T100000-failover-a").append([EAST], at_s=36_000.0)
    late = store(ensemble, "20260101T090000-failback-b")
    late.append([WEST], at_s=32_400.0)
    assert primary(ensemble) == "west"
    late.withdraw(PrimaryMoved)
    assert primary(ensemble) == "east"
    assert late.find(PrimaryMoved) is None
    late.write(WEST)
    assert primary(ensemble) == "west", "withdrawn, and written anew by the same run"


def test_a_run_that_is_gone_on_with_records_it_once() -> None:
    """With the time of the first."""
    ensemble = MemoryEnsemble()
    for _ in range(2):
        store(ensemble, "r1").write(EAST)
    assert len(read_primaries(ensemble, "t")) == 1


def test_what_an_earlier_dcctl_has_recorded_counts_before_all_that_is_new() -> None:
    """In nodes of their own, numbered; they become facts with the first one that is written."""
    ensemble = MemoryEnsemble()
    old = PrimaryRecord(home="west", primary="east", topics=("orders",), at_s=5.0, run_id="r0")
    ensemble.write_json(f"{old_primary_path('t')}/000001-r0", old.as_json())
    assert primary(ensemble) == "east"
    store(ensemble, "r1").write(WEST)
    assert [record.run_id for record in read_primaries(ensemble, "t")] == ["r0", "r1"]
    assert primary(ensemble) == "west"


@pytest.mark.parametrize("path", [f"{estate_path('t')}/00000001-primary-r1", f"{old_primary_path('t')}/1-r1"])
@pytest.mark.parametrize("value", [b'{"from": "a newer version"}', b"x", b"[]"])
def test_a_record_that_is_not_understood_is_no_leave(path: str, value: bytes) -> None:
    """It is an error, so that the gates become unknown."""
    ensemble = MemoryEnsemble()
    ensemble.nodes[path] = value
    with pytest.raises(CoordinationError, match=r"1-(primary-)?r1: is no"):
        read_primaries(ensemble, "t")
