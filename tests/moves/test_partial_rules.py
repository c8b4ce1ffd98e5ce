"""Denying at a sick site: only what a broker has told counts as heard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal, Self

import pytest

from orchestrator.moves.partial_rules import DenyAtPartial
from orchestrator.moves.ports import PartialClusters
from orchestrator.moves.results import RulesFound
from orchestrator.ports.admin_values import Quorum, Voter
from orchestrator.runs.engine import StepOutcome
from orchestrator.values import Acl
from orchestrator.verbs.plans import plan_failover
from orchestrator.verbs.registration import EFFECTS
from tests.verbs.degraded_pictures import FILE, REQUEST, picture
from tests.verbs.some_moves import WithPorts, a_session, verified
from tests.verbs.some_servers import PassingClock, SomeServers

DENY = plan_failover(FILE, picture(), REQUEST).step("deny")
HANGS = {"west:3": "it hangs"}


class _Access:
    """Every rule is there."""

    def rules(self, _principals: Iterable[str]) -> frozenset[Acl]:
        effect = EFFECTS.effect(DENY)
        assert isinstance(effect, DenyAtPartial)
        return frozenset(effect.rules)


class _West:
    """Two brokers answer; others are silent."""

    def __init__(self, silent: Mapping[str, str]) -> None:
        self.silent = silent

    def left(self, _cluster: str, _timeout_s: float) -> Self:
        return self

    def access_by(self, _cluster: str, addresses: Iterable[str], _timeout_s: float) -> _Access:
        assert set(addresses) == {"west:1", "west:2"}
        return _Access()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def ask_brokers(self) -> dict[int, str]:
        return {1: "west:1", 2: "west:2"}


class _MetadataLog:
    """What is committed, and how far each broker has read it."""

    def __init__(self, *read: int) -> None:
        self._read = read

    def describe_quorum(self) -> Quorum:
        observers = [Voter(number, end, None) for number, end in enumerate(self._read, start=1)]
        return Quorum(9, 100, (), tuple(observers))


class _East:
    name = "east"


def looked(
    folder: Path, metadata: Literal["kraft", "zookeeper"], *read: int, silent: Mapping[str, str] = HANGS
) -> StepOutcome:
    """What looking at the rules comes to, where brokers have read the metadata log so far."""
    west = replace(FILE.clusters["west"], metadata=metadata)
    file = replace(FILE, clusters={**FILE.clusters, "west": west})
    servers = SomeServers(
        clusters={"east": _East(), "west": _MetadataLog(*read)},
        workers={"east": None},
        clock=PassingClock(),
    )
    session = a_session(folder, servers, file, picture())
    return verified(
        WithPorts(session, {PartialClusters: _West(silent)}), DENY, {"record-rules": RulesFound(())}
    )


@pytest.mark.parametrize(
    ("metadata", "heard", "words"),
    [
        ("kraft", [1, 2], "in force at 2 brokers; unknown at west:3"),
        ("zookeeper", [], "written at west; in ZooKeeper mode a broker does not say whether it knows them"),
    ],
)
def test_without_a_metadata_log_nobody_is_said_to_have_heard(
    tmp_path: Path, metadata: Literal["kraft", "zookeeper"], heard: list[int], words: str
) -> None:
    """Rules that are written are not rules in force."""
    found = looked(tmp_path, metadata, 100, 101)
    assert found.outcome == "ok"
    assert words in found.message
    assert found.result == {"heard": heard, "silent": ["west:3"]}
    assert not EFFECTS.holds_surely(DENY, found.result)


def test_only_rules_that_every_broker_has_heard_of_are_surely_in_force(tmp_path: Path) -> None:
    """In ZooKeeper mode nobody tells that it has, even where all answer."""
    for metadata, are_in_force in (("kraft", True), ("zookeeper", False)):
        found = looked(tmp_path / metadata, metadata, 100, 101, silent={})
        assert found.outcome == "ok"
        assert EFFECTS.holds_surely(DENY, found.result) is are_in_force, metadata


def test_a_broker_that_has_not_read_so_far_is_named(tmp_path: Path) -> None:
    """It answers, and is not known to deny."""
    found = looked(tmp_path, "kraft", 100, 99)
    assert (found.outcome, found.message) == (
        "unknown",
        "brokers of west that may not know the access rules yet: broker 2",
    )
