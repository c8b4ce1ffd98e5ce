"""A failback goes back from a failover that an earlier version made.

The logs of then are gone. An estate in memory is moved the same way, and its offsets and ids take the place of
those of then; all else in the ensemble is what the earlier version has left there.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.runs.estate_record import (
    KIND_OF,
    ClusterIds,
    Fact,
    LogsAtDeparture,
    ReverseStarts,
    body_to_json,
)
from orchestrator.runs.live.estate_facts import read_facts
from orchestrator.runs.live.estate_record import estate_path
from orchestrator.runs.plan import canonical_json
from tests.old_data.reading import FOLDERS, OldData
from tests.old_data.scrub import SECRET_VARIABLE
from tests.old_data.tree import Node, cut, in_memory
from tests.twin import truths
from tests.twin.estate import TwinEstate
from tests.twin.operator import Operator

ALL = [OldData(folder) for folder in FOLDERS]
OF_LOGS = (ClusterIds, LogsAtDeparture, ReverseStarts)


def lost_and_back(data: OldData, folder: Path) -> Operator:
    """West was lost or sick, applications work at east, and west is well again."""
    operator = Operator(TwinEstate(data.topology, folder))
    estate, is_degraded = operator.estate, "leaving" in data.about["runs"]
    estate.live(10)
    if is_degraded:
        estate.clusters["west"].set_brokers("gone", 2)
    else:
        estate.lose("west")
    estate.live(5)
    result = operator.leave() if is_degraded else operator.failover()
    assert result.outcome == "ok", result.reason
    estate.live(6)
    if is_degraded:
        estate.clusters["west"].set_brokers("up", 2)
    else:
        estate.bring_back("west")
    estate.live(12)
    return operator


def in_the_words_of_then(data: OldData, run_id: str, now: tuple[Fact, ...]) -> Iterator[Node]:
    """What the ensemble had when that run had ended, about the logs of today."""
    of_today = {
        KIND_OF[type(fact.body)]: body_to_json(fact.body)["body"]
        for fact in now
        if isinstance(fact.body, OF_LOGS)
    }
    last = [node for node in data.nodes if f"/runs/{run_id}/" in node.path or run_id in node.path][-1]
    for node in cut(data.nodes, last.path):
        kind = node.path.rpartition("/")[2].partition("-")[2].partition("-")[0]
        is_of_it = kind == KIND_OF[ClusterIds] or run_id in node.path
        if node.path.startswith(estate_path(data.topology.name)) and kind in of_today and is_of_it:
            fact = json.loads(node.value if node.value.startswith(b"{") else zlib.decompress(node.value))
            # What has been added since was not written then.
            body = {key: of_today[kind][key] for key in fact["body"]}
            value = canonical_json({**fact, "body": body}).encode()
            yield node._replace(value=value)
        else:
            yield node


@pytest.mark.parametrize("data", ALL, ids=str)
def test_a_failback_goes_back_from_a_failover_of_then(
    data: OldData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All work at home again, nobody passes over anything, and nothing is lost."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv(SECRET_VARIABLE, "opens nothing")
    operator = lost_and_back(data, tmp_path)
    estate, runs = operator.estate, data.about["runs"]
    facts = read_facts(estate.ensemble, data.topology.name)
    old = in_memory(in_the_words_of_then(data, runs.get("leaving") or runs["failover"], facts)).nodes
    assert not any(operator.run_id in path for path in old)
    estate.ensemble.nodes = old
    result = operator.failback(acknowledge="ada: there and back at once")
    assert result.outcome == "ok", result.reason
    estate.live(6)
    assert truths.skipped(estate, "west") == {}
    assert {tuple(turns) for turns in truths.written_at(estate).values()} == {("west", "east", "west")}
    assert truths.lost_at(estate, "west") == set()
