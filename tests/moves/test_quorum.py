"""Voters of a quorum: whose file changes how, and who begins where all stand still."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.moves.within_cluster.quorum.files import has_change, left_alone, put_back, voters_listed
from orchestrator.moves.within_cluster.quorum.standing import StoppedVoter, beginning
from orchestrator.moves.within_cluster.quorum.steps import needed_together
from orchestrator.ports.voters import Voter
from orchestrator.topology.loading import load_topology
from tests.twin.voters import TwinVoter, module

VOTERS = module("dcctl_voters")
ZOO = """\
tickTime=500
dataDir=/d
server.1=a:2888:3888
server.4=b:2888:3888;2181
weight.4=1
group.1=1:2:3
group.2=4:5:6
"""
KRAFT = (
    "process.roles=controller\nnode.id=104\ncontroller.quorum.voters=101@h:1, 104@h:2,105@h:3\nlog.dirs=/d\n"
)


def voter(text: str) -> Voter:
    """With that file."""
    return TwinVoter(4, "dc2", text, "kraft").seen()


def changed(text: str, kept: set[int]) -> str:
    """The file with these voters alone."""
    lines = text.splitlines()
    for change in left_alone(voter(text), kept).changes:
        assert lines[change.number - 1] == change.was
        lines[change.number - 1] = change.now
    return "\n".join(lines) + "\n"


def test_lost_servers_groups_and_weights_are_commented_out() -> None:
    """As the procedure has it, so that a person sees what was there."""
    assert changed(ZOO, {4, 5, 6}) == ZOO.replace("server.1", "#server.1").replace(
        "weight", "#weight"
    ).replace("group", "#group")
    assert voters_listed(voter(ZOO)) == {1: "a:3888", 4: "b:3888"}


def test_the_static_list_is_shortened_and_nothing_else_changes() -> None:
    """Blanks between the voters of a list are Kafka's own to take away."""
    assert changed(KRAFT, {104, 105}) == KRAFT.replace("101@h:1, ", "")
    assert voters_listed(voter(KRAFT)) == {101: "h:1", 104: "h:2", 105: "h:3"}


@pytest.mark.parametrize(("text", "kept"), [(ZOO, {4}), (KRAFT, {104})])
def test_what_is_put_back_is_what_was_there(text: str, kept: set[int]) -> None:
    """By its lines and by its digest; a file that was not changed, or is put back already, stays as it is."""
    change, short = left_alone(voter(text), kept), voter(changed(text, kept))
    back = put_back(change, short)
    assert back.sha256 == short.sha256
    assert back.becomes == change.sha256 == voter(text).sha256
    assert [(line.was, line.now) for line in back.changes] == [(c.now, c.was) for c in change.changes]
    stays = put_back(change, voter(text))
    assert (stays.sha256, stays.becomes, stays.changes) == (change.sha256, change.sha256, ())
    assert has_change(voter(changed(text, kept)), change)
    assert not has_change(voter(text), change)


@given(ends=st.lists(st.tuples(st.integers(1, 3), st.integers(0, 9)), min_size=2, max_size=5))
def test_whoever_has_most_begins_with_no_more_others_than_a_majority_needs(
    ends: list[tuple[int, int]],
) -> None:
    """All of them have to vote, so nobody who lacks something can lead."""
    stopped = [
        StoppedVoter(server=f"c-{at}", site="dc2", epoch=epoch, end=end)
        for at, (epoch, end) in enumerate(ends)
    ]
    needed = len(ends) // 2 + 1
    found = beginning(stopped, needed)
    reaches = {one.server: one.reaches for one in stopped}
    assert reaches[found.first[0]] == max(ends)
    assert len(found.first) == needed
    assert sorted([*found.first, *found.rest]) == sorted(reaches)
    together = beginning(stopped, needed, all_of=(stopped[-1].server,))
    assert stopped[-1].server in together.first


@pytest.mark.parametrize(
    ("layout", "needed"), [("stretched-2dc", 5), ("stretched-2dc-kraft", 4)], ids=["hierarchical", "majority"]
)
def test_together_every_survivor_begins_and_as_many_others_as_it_takes(layout: str, needed: int) -> None:
    """Three survive of six: more than half of each group, or of all."""
    topology = load_topology(Path(__file__).parents[2] / "topologies" / f"{layout}.yaml")
    assert needed_together(topology.clusters["main"], 3, 3) == needed


def batch(base: int, epoch: int, count: int, payload: bytes = b"x" * 40) -> bytes:
    """One batch of records as Kafka writes it, as far as it is looked at."""
    head = struct.pack(">qiib", base, 49 + len(payload), epoch, 2)
    return (head + b"\0" * 6 + struct.pack(">i", count - 1)).ljust(61, b"\0") + payload


def test_the_end_of_a_metadata_log_is_behind_its_last_whole_batch(tmp_path: Path) -> None:
    """One that was cut off counts for nothing; without a batch a snapshot says it."""
    assert VOTERS.metadata_end(tmp_path) == (-1, 0)
    (tmp_path / "00000000000000000070-0000000002.checkpoint").write_bytes(b"")
    (tmp_path / "00000000000000000070.log").write_bytes(b"")
    assert VOTERS.metadata_end(tmp_path) == (2, 70)
    whole = batch(70, 2, 5) + batch(75, 3, 2)
    (tmp_path / "00000000000000000070.log").write_bytes(whole + batch(77, 3, 9)[:-1])
    assert VOTERS.metadata_end(tmp_path) == (3, 77)
    index = struct.pack(">ii", 5, len(batch(70, 2, 5))).ljust(64, b"\0")
    (tmp_path / "00000000000000000070.index").write_bytes(index)
    assert VOTERS.metadata_end(tmp_path) == (3, 77)
    (tmp_path / "00000000000000000070.index").write_bytes(struct.pack(">ii", 5, 7))
    assert VOTERS.metadata_end(tmp_path) == (3, 77)


def test_the_end_of_a_log_of_transactions_is_its_last_whole_one(tmp_path: Path) -> None:
    """Behind it are zeros; the newest log may be empty, and a snapshot may be newer."""

    def entry(zxid: int, end: bytes = b"B") -> bytes:
        header = struct.pack(">qiqqi", 1, 2, zxid, 3, 4)
        return struct.pack(">qi", 5, len(header)) + header + end

    head = b"ZKLG".ljust(16, b"\0")
    assert VOTERS.last_transaction(tmp_path) == -1
    (tmp_path / "log.1").write_bytes(head + entry(1) + entry(2) + b"\0" * 64)
    (tmp_path / "log.3").write_bytes(head + b"\0" * 64)
    assert VOTERS.last_transaction(tmp_path) == 2
    (tmp_path / "log.3").write_bytes(head + entry(3) + entry(4, b"\0"))
    assert VOTERS.last_transaction(tmp_path) == 3
    (tmp_path / "snapshot.1f").write_bytes(b"")
    (tmp_path / "snapshot.1f.gz").write_bytes(b"")
    assert VOTERS.last_snapshot(tmp_path) == 0x1F


def test_no_password_of_a_file_is_told(tmp_path: Path) -> None:
    """Only lines about the quorum leave the host."""
    config = tmp_path / "server.properties"
    secret = "listener.name.controller.plain.sasl.jaas.config=required password=hunter2;\n"
    (tmp_path / "__cluster_metadata-0").mkdir()
    config.write_text(
        KRAFT.replace("/d", str(tmp_path))
        + secret
        + "controller.listener.names=C\nlisteners=C://127.0.0.1:1\n"
    )
    found = VOTERS.looked_at({"controller-104": {"config": str(config)}})
    assert "hunter2" not in str(found)
    assert [line for _, line in found["controller-104"]["lines"]] == KRAFT.splitlines()[:3]
    assert (found["controller-104"]["id"], found["controller-104"]["runs"]) == (104, False)
    (tmp_path / "__cluster_metadata-0").rmdir()
    found = VOTERS.looked_at({"controller-104": {"config": str(config)}})
    assert "__cluster_metadata-0" in found["controller-104"]["problem"]
    assert "No such file" in VOTERS.looked_at({"x": {"config": str(tmp_path / "none")}})["x"]["problem"]


def test_a_server_whose_members_are_dynamic_is_asked_at_the_port_of_its_own_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ZooKeeper takes `clientPort` out of zoo.cfg as it begins."""
    asked: list[tuple[str, int]] = []

    def said_by(host: str, port: int) -> dict[str, bool]:
        asked.append((host, port))
        return {"runs": True, "leads": False}

    monkeypatch.setattr(VOTERS, "said_by", said_by)
    version = tmp_path / "version-2"
    version.mkdir()
    (tmp_path / "myid").write_text("2\n")
    (version / "currentEpoch").write_text("1")
    members = tmp_path / "zoo.cfg.dynamic.100000000"
    members.write_text("server.1=a:1:2:participant;10.0.0.1:21\nserver.2=b:1:2:participant;10.0.0.2:22\n")
    config = tmp_path / "zoo.cfg"
    config.write_text(f"dataDir={tmp_path}\nreconfigEnabled=true\ndynamicConfigFile={members}\n")
    found = VOTERS.look(str(config))
    assert asked == [("10.0.0.2", 22)]
    assert (found["file"], found["is_dynamic"], found["runs"]) == (str(members), True, True)
