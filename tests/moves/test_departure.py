"""How logs that are left are recorded: an end, and the leader epoch in which all records before it are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.moves.ends import RecordDeparture
from orchestrator.moves.ports import Seen
from orchestrator.moves.results import StandingLogs
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.effect import Done, Handle
from orchestrator.runs.ports import EstateRecord
from orchestrator.values import LogEnd, TopicPartition

ORDERS = TopicPartition("orders", 0)
_MIRROR = MirrorRef(source="west", target="east")


def recorded(sampled: dict[TopicPartition, LogEnd], standing: StandingLogs | None) -> tuple[int, int]:
    """End and epoch, by a run that has these samples, and has seen logs stand still so."""
    ports: dict[Any, Any] = {
        Seen: SimpleNamespace(samples=lambda _: SimpleNamespace(topics={}, newest_ends=lambda: sampled)),
        EstateRecord: SimpleNamespace(write=lambda _: None),
    }
    run: Any = SimpleNamespace(port=ports.__getitem__, of=lambda _: standing)
    handle = None if standing is None else Handle("standing", "await-no-writes")
    effect = RecordDeparture(mirror=_MIRROR, cluster="west", topics=("orders",), standing=handle)
    outcome = effect.perform(run)
    assert isinstance(outcome, Done)
    ((_, _, end, epoch),) = outcome.result.ends
    return end, epoch


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        (None, (100, 3)),
        (StandingLogs({ORDERS: 100}, {}, {ORDERS: 4}), (100, 3)),
        # It had another leader since: its records are of that one's epoch.
        (StandingLogs({ORDERS: 140}, {}, {ORDERS: 4}), (140, 4)),
        (StandingLogs({ORDERS: 140}, {}), (140, -1)),
        (StandingLogs({ORDERS: 90}, {}, {ORDERS: 4}), (100, 3)),
    ],
)
def test_end_and_epoch_are_of_one_look(standing: StandingLogs | None, expected: tuple[int, int]) -> None:
    """Taken from two, a change of leaders between them would look like a log that was cut."""
    assert recorded({ORDERS: LogEnd(0, 100, 3)}, standing) == expected
