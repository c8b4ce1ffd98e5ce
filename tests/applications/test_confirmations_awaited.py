"""Records that cannot be read: a right that is missing is told from a cluster that does not answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from orchestrator.errors import ClusterError
from orchestrator.moves.results import TopicEnds
from orchestrator.replication.mirror_ref import source_partitions
from orchestrator.topology.model import Producer, RecordMark
from orchestrator.values import TopicPartition
from orchestrator.verbs.plans import plan_failover
from tests.verbs.pictures import MIRROR, REQUEST, observation, topology
from tests.verbs.some_moves import a_session, performed
from tests.verbs.some_servers import PassingClock, SomeServers

NAMES = ("checkout", "cashier")


def marked(name: str) -> Producer:
    """One of two that share a topic: that it grows says nothing of either."""
    mark = RecordMark(header="app", value=name)
    return Producer(name=name, cluster="west", topics=("orders",), identified_by=mark)


class _East:
    """It tells where its topics end, and nothing grows."""

    name = "east"

    def end_offsets(self, partitions: Any) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 5)


@pytest.mark.parametrize(
    ("code", "library_hint", "hint"),
    [
        ("TOPIC_AUTHORIZATION_FAILED", "lacks an ACL", "give dcctl's principal READ on these topics"),
        ("_TRANSPORT", "is the cluster up?", "is the cluster up?"),
        ("", "", "verify again: dcctl resume RUN FILE"),
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
    servers = SomeServers(clusters={"east": Refusing()}, workers={"east": None}, clock=PassingClock())
    session = a_session(tmp_path, servers, file, observation())
    ends = dict.fromkeys(source_partitions(topology(), MIRROR), 4)
    landing = TopicEnds(ends=ends, seen_from=ends, now=ends, at_s=1.0)
    step = plan_failover(file, observation(), REQUEST).step("producers-write")
    found = performed(session, step, {"record-landing-ends": landing})
    rows = found.result["producers"]
    assert [row["producer"] for row in rows if "cannot be read" in row["reason"]] == list(NAMES)
    said = "; where a person has seen this producer write at the target: dcctl resume"
    assert {row["hint"].partition(said)[0] for row in rows} == {hint}
