"""The record of which side is primary: once for a run, the newest counts, taken back whole."""

from __future__ import annotations

import pytest

from orchestrator.errors import CoordinationError
from orchestrator.operations.primaries import PrimaryStore, primary_path, read_primaries
from orchestrator.planning.primaries import primaries_of
from tests.operations.memory_ensemble import MemoryEnsemble, MemoryLock


def store(ensemble: MemoryEnsemble, run_id: str) -> PrimaryStore:
    return PrimaryStore(ensemble, MemoryLock(ensemble, "lock"), "t", run_id)


def test_the_newest_record_counts_whatever_the_clocks_say() -> None:
    """Two machines, one of them an hour behind."""
    ensemble = MemoryEnsemble()
    store(ensemble, "20260101T100000-failover-a").record(
        home="west", primary="east", topics=["orders"], at_s=36_000
    )
    late = store(ensemble, "20260101T090000-failback-b")
    late.record(home="west", primary="west", topics=["orders"], at_s=32_400)
    found = primaries_of(read_primaries(ensemble, "t"))
    assert found["west", "orders"].cluster == "west"
    late.forget()
    found = primaries_of(read_primaries(ensemble, "t"))
    assert found["west", "orders"].cluster == "east"
    late.forget()
    assert late.find() is None


def test_a_run_that_is_gone_on_with_records_it_once() -> None:
    """With the time of the first."""
    ensemble = MemoryEnsemble()
    for at_s in (1.0, 2.0):
        store(ensemble, "r1").record(home="west", primary="east", topics=["orders"], at_s=at_s)
    (record,) = read_primaries(ensemble, "t")
    assert record.at_s == 1.0


def test_a_record_that_is_not_understood_is_no_leave() -> None:
    """It is an error, so that the gates become unknown."""
    ensemble = MemoryEnsemble()
    ensemble.nodes[f"{primary_path('t')}/000001-r1"] = b'{"from": "a newer version"}'
    with pytest.raises(CoordinationError, match="000001-r1: is no record"):
        read_primaries(ensemble, "t")
