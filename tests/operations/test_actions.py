"""What the steps do once their run was interrupted: they write no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchestrator.operations.actions import FailoverActions
from orchestrator.operations.observe import Estate
from orchestrator.operations.offsets_json import offsets_to_json
from orchestrator.operations.session import Session
from orchestrator.planning.failover import plan_failover
from orchestrator.planning.positions import source_partitions
from tests.planning.pictures import GROUPS, MIRROR, REQUEST, observation, topology

STEP = plan_failover(topology(), observation(), REQUEST).step("write-offsets")


class Target:
    """Takes offsets; the run's lock is lost after the first group."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.session: Session | None = None

    def write_group_offsets(self, group: str, _offsets: Any) -> None:
        self.written.append(group)
        if self.session is not None:
            self.session.cancel()


def a_session(target: Target, folder: Path) -> Session:
    estate = Estate(topology(), MIRROR, target, None, None)  # type: ignore[arg-type]
    return Session(estate, observation(), folder, run_id="r")


def results() -> dict[str, dict[str, Any]]:
    ends = offsets_to_json(dict.fromkeys(source_partitions(topology(), MIRROR), 5))
    return {
        "translate-positions": {"translations": []},
        "record-landing-ends": {"ends": ends},
        "save-offsets": {"offsets": {}},
    }


def test_an_interrupted_run_begins_no_step(tmp_path: Path) -> None:
    """Surely nothing was changed."""
    target = Target()
    session = a_session(target, tmp_path)
    session.cancel()
    outcome = FailoverActions(session).perform(STEP, results())
    assert outcome.outcome == "failed"
    assert target.written == []


def test_offsets_are_not_written_once_the_run_is_interrupted(tmp_path: Path, monkeypatch: Any) -> None:
    """Another may hold the lock by then; the groups that are left are named."""
    from orchestrator.operations import actions  # noqa: PLC0415

    monkeypatch.setattr(actions, "_GROUPS_AT_ONCE", 1)
    target = Target()
    target.session = a_session(target, tmp_path)
    outcome = FailoverActions(target.session).perform(STEP, results())
    assert outcome.outcome == "unknown"
    assert len(GROUPS) > 1
    assert len(target.written) == 1
    assert "not written, the run was interrupted" in outcome.message
