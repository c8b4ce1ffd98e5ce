"""What a living quorum tells of its voters, where it does not tell all."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.adapters.ensemble import EnsembleMembers
from orchestrator.adapters.zookeeper_access import EnsembleAccess
from orchestrator.ports.admin_values import Features, Quorum, Voter
from orchestrator.ports.voter_sets import Member, VoterSet
from orchestrator.verbs.live import voter_sets
from orchestrator.verbs.live.voter_sets import EnsembleVoters, KraftVoters

NOW_S = 1_000.0


class _Kafka:
    subject = "cluster main"

    def __init__(self, quorum: Quorum) -> None:
        self.quorum = quorum

    def features(self) -> Features:
        return Features({"kraft.version": 1}, {})

    def describe_quorum(self) -> Quorum:
        return self.quorum


def kraft(leader_s: float | None, *observers: Voter) -> VoterSet:
    """Voters 1 to 3; 3 leads, 1 fetched last a minute ago."""
    voters = (Voter(1, 5, NOW_S - 60, "a"), Voter(2, 5, NOW_S - 0.5, "b"), Voter(3, 5, leader_s, "c"))
    kafka: Any = _Kafka(Quorum(3, 5, voters, observers))
    return KraftVoters(lambda: kafka).read()


def test_nobody_is_heard_where_the_leader_tells_no_time() -> None:
    """Its clock alone says how old a fetch is."""
    assert kraft(NOW_S).heard == {2, 3}
    assert kraft(None).heard == frozenset()


def test_a_voter_that_follows_with_another_log_is_told_by_that_log() -> None:
    """Brokers follow as well, and are no voters; nor is what has not fetched for a minute."""
    broker, gone = Voter(7, 5, NOW_S, "x"), Voter(2, 5, NOW_S - 60, "b2")
    assert kraft(NOW_S, broker, gone, Voter(1, 5, NOW_S, "a2")).anew == (Member(number=1, directory_id="a2"),)


@pytest.mark.parametrize("mode", ["follower", ""])
def test_a_server_that_answers_is_not_dead_whether_or_not_it_says_its_mode(
    monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """`4lw.commands.whitelist` may leave out the word that asks for it. Without an address nobody can ask."""
    lines = [f"server.{n}=z{n}:2888:3888:participant;z{n}:2181" for n in (1, 2, 3)]
    found = EnsembleMembers.of([*lines, "server.4=z4:2888:3888:participant", "version=a"])
    said = {"z1:2181": mode, "z2:2181": "leader"}
    monkeypatch.setattr(voter_sets, "zookeeper_hosts", lambda _: "z1:2181")
    monkeypatch.setattr(voter_sets, "describe_members", lambda *_: found)
    monkeypatch.setattr(voter_sets, "server_mode", said.get)
    kafka: Any = None
    seen = EnsembleVoters(lambda: kafka, EnsembleAccess()).read()
    assert (seen.heard, seen.leader, seen.unasked) == ({1, 2}, 2, {4})
