"""A site that is sick rather than dead: what answers is fenced and drained, the rest is named and counted."""

from __future__ import annotations

import json
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from confluent_kafka import Producer

from orchestrator.adapters.kafka import read_records
from orchestrator.adapters.kafka.client import logger
from orchestrator.evidence.audit.ledgers import END_MARK, sends_path
from orchestrator.evidence.audit.run import run_audit
from orchestrator.evidence.audit.verdict import judge
from orchestrator.evidence.clients.places import LIFE_AT_SOURCE
from orchestrator.evidence.run_audit import run_inputs
from orchestrator.simulation.drill_audit import start_spark
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.workload.install import stop_consumers, stop_producers
from orchestrator.simulation.workload.progress import lags, workload_progress
from orchestrator.snapshot.live.reader import read_samples
from orchestrator.values import TopicPartition
from orchestrator.verbs.live.run_result import RunResult
from tests.drill.rehearsal import EXAMPLE, ROOT
from tests.faults.estate import Estate, at_work

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]

DEGRADED = ROOT / "tests" / "faults" / "sick.yaml"
LEAVE = ("failover", "--to", "east", "--attest-sick", "west", "--yes", "--json")
_WORK_S = 4.0


def test_one_broker_of_three_dies_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused while all is well; then killed on its way and taken back; then done: fenced, drained, 0 lost."""
    with at_work(tmp_path / "state", monkeypatch, DEGRADED) as estate:
        simulation = estate.simulation()
        time.sleep(_WORK_S)
        well = estate.command(*LEAVE)
        assert well.returncode == 4, well.stderr
        assert "west is healthy" in well.stderr
        assert "dcctl switchover --to east" in well.stderr

        fault_at_s = time.time()
        kill(simulation, "broker-2")
        down = estate.command("failover", "--to", "east", "--attest-down", "west", "--yes")
        assert down.returncode == 4, down.stderr
        assert "--attest-degraded west" in down.stderr

        run = estate.killed_at("drain", *LEAVE)
        estate.ended("abort", run, "--yes", "--reason", "rehearsal")
        before = acked(simulation)
        time.sleep(_WORK_S)
        assert acked(simulation) > before, "nobody writes at the sick side again"

        result = left(estate)
        assert {row["lost"] for row in rows_of(result).values()} == {0}, result["loss"]
        assert_denied(simulation)
        assert "0 records lost in 6 partitions" in estate.must("show", result["run_id"])
        assert lost_records(simulation) == {}
        assert_valid(estate, simulation, result, fault_at_s)


def test_a_broker_and_hosts_that_stand_still_keep_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes connections and answers nothing; applications that nobody can stop are denied; killed, resumed."""
    with at_work(tmp_path / "state", monkeypatch, DEGRADED) as estate:
        simulation = estate.simulation()
        time.sleep(_WORK_S)
        hide_host(simulation, "west")
        with frozen(simulation, "west", "broker-3"):
            begun_s = time.monotonic()
            run = estate.killed_at("stop-mirror", *LEAVE)
            assert time.monotonic() - begun_s < 150
            written = len(acks_at_west(simulation))
            estate.resumed(run)
            result = json.loads((estate.state / "runs" / run / "result.json").read_text(encoding="utf-8"))
            assert result["outcome"] == "ok"
            assert {row["lost"] for row in rows_of(result).values()} == {0}, result["loss"]
            assert any("does not answer" in symptom for symptom in result["plan"]["facts"]["symptoms"])
            said = {row["id"]: row["message"] for row in result["steps"]}
            assert "not all applications" in said["stop-left"]
        assert_denied(simulation)
        assert list(processes(simulation, "west", "producer-")), "nobody has stopped them"
        assert len(acks_at_west(simulation)) == written, "who was denied writes on"
        assert lost_records(simulation) == {}


def test_without_a_quorum_a_person_has_to_answer_for_what_cannot_be_fenced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of three are gone: refused, nothing changed; done with the second word; what is lost is bounded."""
    with at_work(tmp_path / "state", monkeypatch, DEGRADED) as estate:
        simulation = estate.simulation()
        time.sleep(_WORK_S)
        with frozen(simulation, "east", "connect-"):
            time.sleep(1.0)
            kill(simulation, "broker-1")
            kill(simulation, "broker-2")
        time.sleep(2.0)
        refused = estate.command(*LEAVE, "--accept-loss", "100000")
        assert refused.returncode == 4, refused.stderr
        assert "access rules cannot be written" in refused.stderr
        assert "--accept-unfenced" in refused.stderr
        assert estate.command(*LEAVE, "--accept-unfenced").returncode == 2, "without a reason"

        words = (
            "--accept-unfenced",
            "--reason",
            "the racks of two are dark; producers are off",
            "--accept-loss",
            "100000",
        )
        result = left(estate, *words)
        loss, lost = rows_of(result), lost_records(simulation)
        known = {tp: row["lost"] for tp, row in loss.items() if row["lost"] is not None}
        away = {tp for tp, row in loss.items() if "does not answer" in str(row["reason"])}
        assert 0 < len(away) < len(loss), loss
        assert all(lost.get(tp, 0) == count for tp, count in known.items()), (known, lost)
        # Nobody is there to find the dead replicas out of sync: what came last can be read by nobody.
        hidden = loss.keys() - known.keys() - away
        assert all("its leader holds" in str(loss[tp]["reason"]) for tp in hidden), loss
        for topic, predicted in result["predicted"]["loss"].items():
            measured = sum(count for tp, count in lost.items() if tp.topic == topic)
            assert predicted["at_least"] <= measured <= predicted["at_most"], (topic, predicted, lost)
        story = json.loads(estate.must("show", result["run_id"], "--json"))["story"]
        assert story["loss"] == result["loss"]
        overrides = {row["option"]: row for row in story["overrides"]}
        assert overrides["--accept-unfenced"]["reason"] == "the racks of two are dark; producers are off"

        kill(simulation, "broker-3")
        nothing = estate.command(*LEAVE, "--acknowledge", "test: again")
        assert nothing.returncode in (0, 4), nothing.stderr


def test_a_query_goes_on_with_its_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is stopped where its host answers, its last batch is copied, and it commits at the other side."""
    with at_work(tmp_path / "state", monkeypatch, EXAMPLE) as estate:
        simulation = estate.simulation()
        await_batch(simulation)
        kill(simulation, "broker-3")
        result = left(estate, "--accept-loss", "100000")
        said = {row["id"]: (row["outcome"], row["message"]) for row in result["steps"]}
        assert said["copy-revenue"][1].startswith("whole up to batch"), said
        assert said["queries-progress"][0] == "ok"
        assert {row["lost"] for row in rows_of(result).values()} == {0}, result["loss"]
        assert sum(lost_records(simulation).values()) == 0


def left(estate: Estate, *words: str) -> dict[str, Any]:
    """The site is left; returns what the run says of itself."""
    done = estate.command(*LEAVE, *words)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert result.pop("format_version")
    return result


def rows_of(result: Mapping[str, Any]) -> dict[TopicPartition, Mapping[str, Any]]:
    """The account of the loss by partition."""
    return {
        TopicPartition(topic, int(number)): row
        for topic, numbers in result["loss"].items()
        for number, row in numbers.items()
    }


def processes(simulation: Simulation, dc: str, program: str) -> Iterator[psutil.Process]:
    """A program's processes, those of its guard's children included."""
    for name, pid in simulation.site(dc).supervisor.program_ids().items():
        if name.startswith(program):
            process = psutil.Process(pid)
            yield from (process, *process.children(recursive=True))


def kill(simulation: Simulation, program: str) -> None:
    """SIGKILL for one server of west; its supervisor leaves it dead."""
    victims = list(processes(simulation, "west", program))
    assert victims
    for victim in victims:
        victim.send_signal(signal.SIGKILL)
    assert not psutil.wait_procs(victims, timeout=10)[1]


def await_batch(simulation: Simulation) -> None:
    """The query has committed something, and the watcher has seen it."""
    deadline = time.monotonic() + 120
    target = simulation.cluster("east")
    samples = simulation.topology.replication[0].samples_topic
    while not any(copy.batch is not None for copy in read_samples(target, samples).copies.values()):
        assert time.monotonic() < deadline
        time.sleep(1)


@contextmanager
def frozen(simulation: Simulation, dc: str, program: str) -> Iterator[None]:
    """One server stands still, and goes on behind the block."""
    found = list(processes(simulation, dc, program))
    assert found
    for process in found:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in found:
            process.send_signal(signal.SIGCONT)


def acked(simulation: Simulation) -> int:
    """Acknowledged records of all producers."""
    return sum(workload_progress(simulation.ledgers).acked.values())


def assert_denied(simulation: Simulation) -> None:
    """West takes no record of a producer's principal any more, and says why."""
    properties = simulation.client_properties("west", "User:checkout")
    producer = Producer({**properties, "acks": "all", "message.timeout.ms": 15_000}, logger=logger)
    said: list[str] = []
    producer.produce("orders", b"v", on_delivery=lambda error, _: said.append(error.name() if error else ""))
    producer.flush(20)
    assert said == ["TOPIC_AUTHORIZATION_FAILED"]


def lost_records(simulation: Simulation) -> Counter[TopicPartition]:
    """By source partition, records that west had acknowledged and east does not have. By brute force."""
    there: set[tuple[str, str]] = set()
    east = simulation.cluster("east")
    names = [name for topic in ("orders", "payments") for name in (topic, f"west.{topic}")]
    ends = east.log_ends(tp for topic in east.topics(names).values() for tp in topic.partitions)
    ranges = {tp: (log.start_offset, log.end_offset) for tp, log in ends.items()}
    for chunk in read_records("east", east.properties, ranges, idle_timeout_s=30):
        for record in chunk:
            producer, sequence, *_ = (record.value or b"").split(b",", 5)
            there.add((producer.decode(), sequence.decode()))
    return Counter(
        TopicPartition(line[3], int(line[4]))
        for producer, line in acks_at_west(simulation)
        if (producer, line[1]) not in there
    )


def acks_at_west(simulation: Simulation) -> list[tuple[str, list[str]]]:
    """Each producer's acknowledgements at its source, as its ledger has them."""
    ledgers = {
        producer.name: sends_path(simulation.ledgers, producer.name, LIFE_AT_SOURCE).read_text("utf-8")
        for producer in simulation.topology.producers_of("west")
    }
    return [
        (name, line.split(","))
        for name, text in ledgers.items()
        for line in text.splitlines()
        if line.startswith("ack,") and line.endswith(f",{END_MARK}")
    ]


def hide_host(simulation: Simulation, dc: str) -> None:
    """The inventory leads nowhere for that site: its hosts cannot be told to stop anything."""
    inventory = Path(str(simulation.topology.inventory))
    hosts = yaml.safe_load(inventory.read_text(encoding="utf-8"))
    hosts["all"]["hosts"][dc]["supervisor_conf"] = "/nowhere/supervisord.conf"
    inventory.write_text(yaml.safe_dump(hosts), encoding="utf-8")


def assert_valid(
    estate: Estate, simulation: Simulation, result: Mapping[str, Any], fault_at_s: float
) -> None:
    """The audit on Spark, once everything is read."""
    stop_producers(simulation, "east")
    deadline = time.monotonic() + 120
    while any(lags(simulation, "east").values()):
        assert time.monotonic() < deadline, lags(simulation, "east")
        time.sleep(1)
    stop_consumers(simulation, "east")
    mirror = simulation.topology.replication[0]
    inputs = run_inputs(
        simulation.topology,
        mirror,
        RunResult(**result),
        ledgers=simulation.ledgers,
        fault_at_s=fault_at_s,
    )
    spark = start_spark(simulation, "local[1]")
    try:
        audited = run_audit(spark, inputs)
    finally:
        spark.stop()
    rests_on = result["plan"]["facts"]["loss_rests_on"]
    verdict, reasons = judge(
        audited,
        predicted_loss={
            topic: {**loss, **rests_on[topic]} for topic, loss in result["predicted"]["loss"].items()
        },
        source="west",
        is_fault_verified=True,
        is_drained=True,
    )
    assert verdict == "valid", reasons
