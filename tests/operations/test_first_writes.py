"""Records that cannot be read: a right that is missing is told from a cluster that does not answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from orchestrator.operations.actions import MOVE_TABLE, TableActions
from orchestrator.operations.session import Session

from orchestrator.errors import ClusterError
from orchestrator.moves.plans import plan_failover
from orchestrator.operations.observe import Estate
from orchestrator.planning.positions import source_partitions
from orchestrator.topology.model import Producer, RecordMark
from orchestrator.values import TopicPartition
from tests.planning.pictures import MIRROR, REQUEST, observation, topology

NAMES = ("checkout", "cashier")


def marked(name: str) -> Producer:
    """One of two that share a topic: that it grows says nothing of either."""
    mark = RecordMark(header="app", value=name)
    return Producer(name=name, cluster="west", topics=("orders",), identified_by=mark)


class _East:
    """It tells where its topics end, and nothing grows."""

    name = "east"
    properties: dict[str, Any] = {}  # noqa: RUF012 - as the adapter has it

    def end_offsets(self, partitions: Any) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 5)


@pytest.mark.parametrize(
    ("code", "library_hint", "hint"),
    [
        ("TOPIC_AUTHORIZATION_FAILED", "lacks an ACL", "the operator needs READ on these topics"),
        ("_TRANSPORT", "is the cluster up?", "is the cluster up?"),
        ("", "", "look again: dcctl resume RUN"),
    ],
)
def test_only_a_right_that_is_missing_is_asked_for(
    tmp_path: Path, code: str, library_hint: str, hint: str
) -> None:
    """Whoever has it looks for what else is wrong."""

    class Refusing(_East):
        def follow(self, _starts: object) -> NoReturn:
            raise ClusterError("cluster east", "reading records: no", library_hint, code)

    file = replace(topology(), producers=tuple(map(marked, NAMES)))
    session = Session(
        Estate(file, MIRROR, Refusing(), None, None),  # type: ignore[arg-type]
        observation(),
        tmp_path,
        run_id="r",
    )
    step = replace(
        plan_failover(file, observation(), REQUEST).step("producers-write"),
        timeout_s=0.1,
    )
    ends: dict[str, dict[str, int]] = {}
    for tp in source_partitions(topology(), MIRROR):
        ends.setdefault(tp.topic, {})[str(tp.partition)] = 4
    found = TableActions(session, MOVE_TABLE).perform(step, {"record-landing-ends": {"ends": ends}})
    rows = found.result["producers"]
    assert [row["producer"] for row in rows if "cannot be read" in row["reason"]] == list(NAMES)
    assert {row["hint"] for row in rows} == {hint}
