"""A real run is measured by canaries: what their report says is what ledgers and logs say, or it is not valid."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as LibTopicPartition

from orchestrator.adapters.kafka.client import client_properties
from orchestrator.adapters.processes import process_id, send
from orchestrator.evidence.audit.ledgers import processed_path, sends_path
from orchestrator.moves.request import FailoverRequest
from orchestrator.simulation.running import Simulation
from orchestrator.verbs.live.failover_procedure import run_failover
from tests.drill.recomputed import recomputed
from tests.drill.rehearsal import ROOT
from tests.faults.estate import Estate, at_work

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]

CANARY = ROOT / "tests" / "faults" / "canary.yaml"
FAILOVER = ("failover", "--to", "east", "--attest-down", "west", "--accept-loss", "100000", "--yes")
FAILBACK = ("failback", "--acknowledge", "test: there and back at once", "--yes")
_WORK_S = 6.0
_STALL_S = 1.5
_INVALID, _USAGE, _UNKNOWN = 1, 2, 7


@contextmanager
def stalled_mirror(simulation: Simulation) -> Iterator[None]:
    """So that something is lost: the mirror stands still for the source's last moments."""
    programs = simulation.site("east").supervisor.program_ids()
    pids = [process_id(pid) for name, pid in programs.items() if name.startswith("connect-")]
    workers = [pid for pid in pids if pid is not None]
    send(signal.SIGSTOP, workers)
    try:
        time.sleep(_STALL_S)
        yield
    finally:
        send(signal.SIGCONT, workers)


def lose_west(estate: Estate) -> None:
    """After some work, at once, with records on their way."""
    time.sleep(_WORK_S)
    with stalled_mirror(estate.simulation()):
        estate.must("sim", "kill", "west")


def report_of(estate: Estate, run: str, *options: str, ends: int = 0) -> dict[str, Any]:
    """`dcctl report` of one run, by the ledgers of the simulation unless others are named."""
    given = options if "--ledgers" in options else ("--ledgers", str(estate.simulation().ledgers), *options)
    done = estate.command("report", run, *given, "--json")
    assert done.returncode == ends, (done.stdout[-2000:], done.stderr)
    told: dict[str, Any] = json.loads(done.stdout)
    whole = json.loads((Path(told["folder"]) / "report.json").read_text(encoding="utf-8"))
    assert whole == told["report"]
    assert (Path(told["folder"]) / "report.html").stat().st_size > 10_000
    return whole


def numbers_in(simulation: Simulation, topic: str) -> set[int]:
    """Sequence numbers of the records in one topic at east, read with nothing of dcctl's."""
    cluster = simulation.topology.clusters["east"]
    login = client_properties("east", cluster.bootstrap, cluster.client)
    consumer = Consumer({**login, "group.id": "test-reads", "enable.auto.commit": False})
    try:
        numbers: set[int] = set()
        for partition in consumer.list_topics(topic, timeout=10).topics[topic].partitions:
            place = LibTopicPartition(topic, partition, 0)
            _, end = consumer.get_watermark_offsets(place, timeout=10)
            consumer.assign([place])
            while consumer.position([place])[0].offset < end and end:
                numbers.update(int(m.value().split(b",")[1]) for m in consumer.consume(500, timeout=1))
        return numbers
    finally:
        consumer.close()


def acknowledged(ledgers: Path, life: int) -> set[int]:
    """Numbers that the canary saw acknowledged in one life."""
    lines = sends_path(ledgers, "canary-writer", life).read_text(encoding="utf-8").splitlines()
    return {int(line.split(",")[1]) for line in lines if line.startswith("ack,") and line.endswith(",.")}


def without_lines(path: Path, first: int, until: int) -> None:
    """Sabotage: some lines of a ledger were never written."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    assert len(lines) > until
    path.write_text("".join(lines[:first] + lines[until:]), encoding="utf-8")


def evidence_lasts(estate: Estate, run: str, tmp_path: Path) -> None:
    """Signed; audited elsewhere with the same figures; made again by the journal where `result.json` is gone."""
    folder, copy = estate.runs()[0], tmp_path / "copy"
    estate.must("report", "verify", str(folder))
    shutil.copytree(folder, copy)
    audited = json.loads(estate.must("audit", str(copy), "--json"))
    assert (audited["verdict"], audited["read_from"]) == ("valid", "kept")
    assert audited["differs_from_report"] == []
    given = ("--ledgers", str(estate.simulation().ledgers))
    (folder / "result.json").rename(tmp_path / "result.json")
    again = estate.must("report", run, *given, "--out", str(tmp_path / "elsewhere"), "--json")
    assert json.loads(again)["result_from"] == "the journal"
    kept = {path.name for path in (tmp_path / "elsewhere").iterdir()}
    assert {"plan.json", "journal.jsonl", "result.json", "inputs.json", "kept", "manifest.sig"} <= kept
    (tmp_path / "result.json").rename(folder / "result.json")
    again = estate.must("report", run, *given, "--json")
    assert json.loads(again)["manifest"]["replaced"]
    estate.must("report", "verify", str(folder))
    estate.must("report", "verify", str(tmp_path / "elsewhere"))


def test_a_lost_site_is_reported_as_ledgers_and_logs_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There, back, and there again, with a kill on the way. A ledger with a gap, a record that nobody read: not valid."""
    with at_work(tmp_path / "state", monkeypatch, file=CANARY) as estate:
        lose_west(estate)
        estate.must(*FAILOVER)
        time.sleep(_WORK_S)
        (run,) = [folder.name for folder in estate.runs()]
        simulation = estate.simulation()

        report = report_of(estate, run)

        assert (report["verdict"], report["reasons"]) == ("valid", [])
        lost = acknowledged(simulation.ledgers, 1) - numbers_in(simulation, "west.canary")
        assert len(lost) > 0
        west = report["clusters"]["west"]["topics"]
        assert list(west) == ["canary"]
        assert west["canary"]["lost"] == {"tail": len(lost), "hole": 0}
        assert report["fault"]["targets"] == ["west"]
        assert "attested by" in report["fault"]["kind"]
        assert list(report["rto"]["per_producer"]) == ["canary-writer"]
        assert list(report["rto"]["per_consumer"]) == ["canary-reader"]
        assert report["canaries"]["unmeasured_topics"] == ["orders", "payments"]
        assert report["canaries"]["unmeasured_consumers"] == ["billing", "shipping", "fraud"]
        assert "orders" in report["predicted"]["loss"]
        folder = estate.runs()[0]
        assert recomputed(folder, folder).differences == []
        evidence_lasts(estate, run, tmp_path)

        sabotaged_ledgers_are_not_valid(estate, run, tmp_path)

        estate.must("sim", "restart", "west")
        estate.must(*FAILBACK)
        time.sleep(_WORK_S)
        back = report_of(estate, estate.runs()[-1].name)
        assert (back["verdict"], back["reasons"]) == ("valid", [])
        assert back["clusters"]["east"]["topics"]["canary"]["lost"] == {"tail": 0, "hole": 0}
        assert back["clusters"]["east"]["topics"]["canary"]["acked"] > 0
        lose_west(estate)
        estate.resumed(estate.killed_at("consumers-progress", *FAILOVER))
        time.sleep(_WORK_S)
        again = report_of(estate, estate.runs()[-1].name)
        assert (again["verdict"], again["reasons"]) == ("valid", [])
        lost = acknowledged(simulation.ledgers, 3) - numbers_in(simulation, "west.canary")
        assert again["clusters"]["west"]["topics"]["canary"]["lost"] == {"tail": len(lost), "hole": 0}


def sabotaged_ledgers_are_not_valid(estate: Estate, run: str, tmp_path: Path) -> None:
    """Each in a copy, into a folder of its own."""
    ledgers = estate.simulation().ledgers
    gap, skipped = tmp_path / "gap", tmp_path / "skipped"
    for copy in (gap, skipped):
        shutil.copytree(ledgers, copy)
    without_lines(sends_path(gap, "canary-writer", 1), 40, 60)
    without_lines(processed_path(skipped, "canary-reader", 2), 10, 15)

    def told(ledgers: Path, out: str, ends: int, *file: str) -> dict[str, Any]:
        # A copy grows no more: nothing comes of waiting for who has not read to the end.
        options = ("--ledgers", str(ledgers), "--out", str(tmp_path / out), "--wait", "1")
        return report_of(estate, run, *file, *options, ends=ends)

    found = told(gap, "a", _UNKNOWN)
    assert any(
        reason.startswith("west.canary-") and "records that no ledger has" in reason
        for reason in found["reasons"]
    )
    found = told(skipped, "b", _INVALID)
    assert any("records skipped" in reason for reason in found["reasons"])
    found = told(Path("/nowhere"), "c", _UNKNOWN)
    assert any("no such folder" in reason for reason in found["reasons"])
    assert found["clusters"] == {}

    plain = tmp_path / "plain.yaml"
    text = (estate.simulation().topology_path).read_text(encoding="utf-8")
    plain.write_text(text.replace("canary: true", "canary: false"), encoding="utf-8")
    found = told(ledgers, "d", _UNKNOWN, str(plain))
    assert any("nothing was measured" in reason for reason in found["reasons"])
    assert found["canaries"]["unmeasured_topics"] == ["orders", "payments", "canary"]


def test_positions_that_were_shifted_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that lags is sent too far: what it skips is counted, and where it went on is named."""
    with at_work(tmp_path / "state", monkeypatch, file=CANARY) as estate:
        time.sleep(_WORK_S)
        estate.simulation().site("west").stop(["consumer-canary-reader"])
        time.sleep(_WORK_S)
        estate.must("sim", "kill", "west")
        request = FailoverRequest(to="east", attested=("west",), accept_loss=100_000, by="test")
        done = run_failover(estate.simulation().topology, request, offset_shift=3)
        assert done.outcome == "ok"
        time.sleep(_WORK_S)
        report = report_of(estate, done.run_id, ends=_INVALID)
        assert any("records skipped" in reason for reason in report["reasons"])
        assert any("it went on at" in reason and "the run says" in reason for reason in report["reasons"])


def test_a_planned_move_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And says that it was planned."""
    with at_work(tmp_path / "state", monkeypatch, file=CANARY) as estate:
        time.sleep(_WORK_S)
        estate.must("switchover", "--to", "east", "--yes")
        time.sleep(_WORK_S)
        report = report_of(estate, estate.runs()[0].name)
        assert (report["verdict"], report["reasons"]) == ("valid", [])
        assert report["fault"]["kind"] == "planned move"
        assert report["clusters"]["west"]["topics"]["canary"]["lost"] == {"tail": 0, "hole": 0}
        rows = [row for row in report["consumers"] if row["source"] == "west"]
        assert sum(sum(row["reread"].values()) for row in rows) == 0
