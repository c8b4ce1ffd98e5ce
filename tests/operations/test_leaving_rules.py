"""Denying at a sick site: only what a broker has told counts as heard."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import pytest
from orchestrator.operations.actions import leaving_rules

from orchestrator.moves.plans import plan_sick_failover
from orchestrator.operations.run_session import RunSession
from orchestrator.operations.servers import RealServers
from orchestrator.planning.fence import rules_from_json
from orchestrator.values import Acl
from tests.planning.sick_pictures import FILE, REQUEST, picture

DENY = plan_sick_failover(FILE, picture(), REQUEST).step("deny")


class _Reader:
    """Two brokers answer, the third does not."""

    def __init__(self, *_: object) -> None:
        self.silent = {"west:3": "it hangs"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def ask_brokers(self) -> dict[int, str]:
        return {1: "west:1", 2: "west:2"}


class _Access:
    """Every rule is there."""

    def __init__(self, *_: object, **__: object) -> None: ...

    def rules(self, _principals: object) -> frozenset[Acl]:
        return frozenset(rules_from_json(DENY.arguments["rules"]))


class _HasHeard(RunSession):
    """The metadata log says that whoever is asked for has read it."""

    def await_brokers(self, name: str, _timeout_s: float, **_: Any) -> str:
        assert self.topology.clusters[name].metadata == "kraft"
        return ""


@pytest.mark.parametrize(
    ("metadata", "heard", "words"),
    [
        ("kraft", [1, 2], "in force at 2 brokers; unknown at west:3"),
        ("zookeeper", [], "written; in ZooKeeper mode no broker tells whether it has heard"),
    ],
)
def test_without_a_metadata_log_nobody_is_said_to_have_heard(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    metadata: Literal["kraft", "zookeeper"],
    heard: list[int],
    words: str,
) -> None:
    """Rules that are written are not rules in force."""
    monkeypatch.setattr(leaving_rules, "LeftReader", _Reader)
    monkeypatch.setattr(RealServers, "access", _Access)
    west = replace(FILE.clusters["west"], metadata=metadata)
    session = _HasHeard(replace(FILE, clusters={**FILE.clusters, "west": west}), tmp_path, run_id="r")
    found = leaving_rules.rules_are_in_force_where_it_answers(session, DENY, {})
    assert found.outcome == "ok"
    assert words in found.message
    assert found.result == {"heard": heard, "silent": ["west:3"]}
