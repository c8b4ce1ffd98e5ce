"""The journal in a real ZooKeeper: it comes back as it was written, small, large and huge."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from orchestrator.errors import DcctlError, LockHeldError
from orchestrator.moves.ways import way_along
from orchestrator.runs.live.earlier_runs import earlier_runs
from orchestrator.runs.live.history import run_records, run_rows
from orchestrator.runs.live.journal import journal_records, lock_path
from orchestrator.runs.live.run import Run
from orchestrator.runs.live.run_journal import RunJournal
from orchestrator.runs.plan import EventKind, RunEvent
from orchestrator.verbs.live.move_estate import open_estate
from orchestrator.verbs.live.real_servers import REAL_SERVERS
from orchestrator.verbs.registration import EFFECTS, PARTICIPANTS
from tests.verbs.pictures import AHEAD, topology
from tests.zookeeper_server import ZooKeeperServer, connected, zookeeper_server

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    with zookeeper_server(tmp_path_factory.mktemp("zookeeper")) as running:
        yield running


def an_event(sequence: int, kind: EventKind = "step-outcome", **data: object) -> RunEvent:
    return RunEvent(run_id="r", sequence=sequence, kind=kind, at_s=float(sequence), data=data)


def incompressible(size_bytes: int) -> str:
    import random  # noqa: PLC0415 - only here

    return random.Random(7).randbytes(size_bytes // 2).hex()  # noqa: S311 - bulk, not secrets


def test_records_of_every_size_come_back(server: ZooKeeperServer, tmp_path: Path) -> None:
    """What does not fit into a znode lies in parts beside it, with its digest: any machine can read it."""
    with connected(server) as coordination:
        lock = coordination.acquire(lock_path("sizes"), {})
        journal = RunJournal(lock, "sizes", "r", tmp_path)
        events = [an_event(1, note="small"), an_event(2, note="x" * 200_000)]
        events.append(an_event(3, note=incompressible(3_000_000)))
        for event in events:
            journal.append(event)
            journal.append(event)  # a repetition after a lost answer
        assert journal_records(coordination, "sizes", "r", tmp_path) == events
        elsewhere = tmp_path / "another-machine"
        assert journal_records(coordination, "sizes", "r", elsewhere) == events
        parts = coordination.names("/dcctl/sizes/run-parts/r")
        assert len(parts) > 1
        coordination.write(f"/dcctl/sizes/run-parts/r/{parts[-1]}", b"")
        with pytest.raises(DcctlError, match="is no JSON that dcctl writes"):
            journal_records(coordination, "sizes", "r", elsewhere)


def test_a_huge_plan_hides_no_run(server: ZooKeeperServer, tmp_path: Path) -> None:
    """Who reads the ensemble alone knows from where to where it led, and by whom."""
    with connected(server) as coordination:
        lock = coordination.acquire(lock_path("huge"), {})
        journal = RunJournal(lock, "huge", "r", tmp_path)
        plan = {"request": {"by": "ada", "reason": "fire"}, "facts": {"rows": incompressible(3_000_000)}}
        first = an_event(1, "run-started", verb="failover", source="west", target="east", plan=plan)
        journal.append(first)
        journal.append(an_event(2, "step-intent"))
        (run,) = earlier_runs(coordination, "huge", effects=EFFECTS)
        told = (run.verb, run.source, run.target, run.who, run.reason, run.outcome)
        assert told == ("failover", "west", "east", "ada", "fire", "incomplete")
        assert journal_records(coordination, "huge", "r", tmp_path)[0] == first


def test_a_run_takes_the_lock_and_leaves_its_story(server: ZooKeeperServer, tmp_path: Path) -> None:
    """Who is second is told; afterwards `history` and `show` know the run and how it ended."""
    from dataclasses import replace  # noqa: PLC0415

    east = replace(topology().clusters["east"], bootstrap=("127.0.0.1:1",), connect=("http://127.0.0.1:1",))
    file = replace(
        topology(),
        clusters={**topology().clusters, "east": east},
        coordination=replace(topology().coordination, zookeeper=server.hosts),  # type: ignore[type-var]
    )
    seen: list[RunEvent] = []
    opened = partial(open_estate, REAL_SERVERS, file, way_along(file, AHEAD, PARTICIPANTS))
    with Run(file, "r1", opened, command="failover", folder=tmp_path / "r1", on_event=seen.append) as run:
        run.record("run-started", data={"verb": "failover", "source": "west", "target": "east"})
        with (
            pytest.raises(LockHeldError, match="for failover"),
            Run(file, "r2", opened, command="other", folder=tmp_path / "r2", on_event=seen.append),
        ):
            pass
        assert [row["outcome"] for row in run_rows(file, EFFECTS)] == ["not begun"]
        run.record("run-ended", data={"outcome": "ok"})
    assert [(row["run_id"], row["outcome"]) for row in run_rows(file, EFFECTS)] == [("r1", "ok")]
    assert [record.kind for record in seen] == ["run-started", "run-ended"]
    assert (tmp_path / "r1" / "journal.jsonl").read_text().count("\n") == 2
    with connected(server) as coordination:
        assert coordination.holder(lock_path(file.name)) is None
        assert earlier_runs(coordination, "no-such-topology", effects=EFFECTS) == ()
    with pytest.raises(DcctlError, match=r"is not in the journal\n.*r1"):
        run_records(file, "r9")
