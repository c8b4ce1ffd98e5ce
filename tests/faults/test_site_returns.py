"""A lost site of a stretched cluster comes back by itself, at the worst moments of a failover and a failback."""

from __future__ import annotations

import re
import signal
import sys
import time
from pathlib import Path

import pytest

from orchestrator.errors import ClusterError
from orchestrator.simulation.as_before import as_it_stands
from orchestrator.simulation.installation import Installer
from orchestrator.simulation.running import Simulation
from orchestrator.values import TopicPartition
from tests.faults.estate import Estate
from tests.faults.stretched import LOST, Serving, servers_at, stretched
from tests.layouts.observed import assert_nothing_is_missing, records_read, topic_partitions
from tests.layouts.test_evacuated import all_in_sync, awaited, placed
from tests.layouts.writes import Writer

_WITHIN_S = 120.0
# Guards, and whatever they start, are there by then.
_STARTED_S = 12.0
_INTO_THE_PLAY_S = 3.0
_OTHERS = 1_000_000_000
_REFUSED = 4
Stranded = tuple[TopicPartition, float]
"""Where a record was acknowledged that is gone, and when."""
MOMENTS = {
    "before voters are stopped": ("stop-voters", 0.0),
    "voters are stopped, no file is changed yet": ("form-quorum", 0.0),
    "in the middle of forming the quorum": ("form-quorum", _INTO_THE_PLAY_S),
    "before settings are lowered": ("lower-min-insync", 0.0),
}

pytestmark = [pytest.mark.drills, pytest.mark.timeout(1500)]


@pytest.mark.parametrize("layout", ["stretched-2dc", "stretched-2dc-kraft"])
def test_guarded_none_of_its_servers_takes_part(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its old files, while nobody goes on with what was begun; and once more in the middle of a failback."""
    with stretched(tmp_path / "state", monkeypatch, layout) as estate:
        simulation = estate.simulation()
        site = simulation.site("dc1")
        operator = simulation.client_properties("main", "operator")
        with Writer(operator, topic_partitions(simulation, "main")) as writer:
            assert not writer.await_acks(time.time(), _WITHIN_S)
            before = as_it_stands(simulation, "main")
            for moment, (step, after_s) in MOMENTS.items():
                site.kill()
                run = _killed(estate, step, after_s, "failover", *LOST)
                with Serving(simulation, "dc1") as serving:
                    site.restart()
                    time.sleep(_STARTED_S)
                    estate.resumed(run)
                    assert not writer.await_acks(time.time(), _WITHIN_S), moment
                assert serving.last_s == {}, moment
                estate.ended("failback", "--yes")
                assert not writer.await_acks(time.time(), _WITHIN_S), moment
                assert list(before.differences(as_it_stands(simulation, "main"))) == [], moment

            site.kill()
            estate.ended("failover", *LOST)
            site.restart()
            simulation.await_site("dc1", lambda _stage, _detail: None)
            run = _killed(estate, "restore-quorum", _INTO_THE_PLAY_S, "failback", "--yes")
            site.restart()
            time.sleep(_STARTED_S)
            estate.resumed(run)
            assert not writer.await_acks(time.time(), _WITHIN_S)
            assert list(before.differences(as_it_stands(simulation, "main"))) == []
        assert_nothing_is_missing(simulation, "main", writer)


@pytest.mark.parametrize("layout", ["stretched-2dc", "stretched-2dc-kraft"])
def test_without_guards_nobody_goes_on_beside_its_servers(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They start with their old files, at the same moments. What was begun waits until they are stopped."""
    monkeypatch.setattr(Installer, "_site_guard", lambda *_: ())
    with stretched(tmp_path / "state", monkeypatch, layout) as estate:
        simulation = estate.simulation()
        site = simulation.site("dc1")
        operator = simulation.client_properties("main", "operator")
        with Writer(operator, topic_partitions(simulation, "main")) as writer:
            assert not writer.await_acks(time.time(), _WITHIN_S)
            before = as_it_stands(simulation, "main")
            for moment, (step, after_s) in MOMENTS.items():
                site.kill()
                run = _killed(estate, step, after_s, "failover", *LOST)
                with Serving(simulation, "dc1") as serving:
                    site.restart()
                    awaited(lambda serving=serving: bool(serving.last_s), _WITHIN_S)  # type: ignore[misc]
                    time.sleep(_STARTED_S)
                estate.await_lock_free()
                done = estate.command("resume", run)
                assert done.returncode == _REFUSED, (moment, done.stderr)
                assert "take connections" in done.stderr, (moment, done.stderr)
                site.kill()
                estate.resumed(run)
                assert not writer.await_acks(time.time(), _WITHIN_S), moment
                site.restart()
                awaited(lambda: estate.command("failback", "--yes").returncode == 0, _WITHIN_S)
                assert not writer.await_acks(time.time(), _WITHIN_S), moment
                assert list(before.differences(as_it_stands(simulation, "main"))) == [], moment
        assert_nothing_is_missing(simulation, "main", writer)


@pytest.mark.parametrize("is_guarded", [True, False], ids=["guarded", "without guards"])
@pytest.mark.parametrize("layout", ["stretched-2dc", "stretched-2dc-kraft"])
def test_failback_begins_wherever_the_change_of_the_quorum_stands(
    layout: str, is_guarded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody goes on with what was begun, or turns the site off again: the way back is one command."""
    if not is_guarded:
        monkeypatch.setattr(Installer, "_site_guard", lambda *_: ())
    moments = list(MOMENTS.values())[1:3]
    with stretched(tmp_path / "state", monkeypatch, layout) as estate:
        simulation = estate.simulation()
        site = simulation.site("dc1")
        operator = simulation.client_properties("main", "operator")
        with Writer(operator, topic_partitions(simulation, "main")) as writer:
            assert not writer.await_acks(time.time(), _WITHIN_S)
            before = as_it_stands(simulation, "main")
            for step, after_s in (*moments, ("restore-quorum", 0.0), ("restore-quorum", _INTO_THE_PLAY_S)):
                site.kill()
                if step == "restore-quorum":
                    estate.ended("failover", *LOST)
                    site.restart()
                    simulation.await_site("dc1", lambda _stage, _detail: None)
                    _killed(estate, step, after_s, "failback", "--yes")
                else:
                    _killed(estate, step, after_s, "failover", *LOST)
                    site.restart()
                time.sleep(_STARTED_S)
                estate.await_lock_free()
                for _ in range(2):  # where no broker answers it makes the quorum whole first, and no more
                    estate.ended("failback", "--yes")
                assert not writer.await_acks(time.time(), _WITHIN_S), (step, after_s)
                assert list(before.differences(as_it_stands(simulation, "main"))) == [], (step, after_s)
        assert_nothing_is_missing(simulation, "main", writer)
        if is_guarded:
            steps = [row for result in estate.results() for row in result["steps"]]
            counted = [row["message"] for row in steps if row["id"] == "count-tails"]
            assert counted
            assert not [said for said in counted if "not counted" in said]


def _killed(estate: Estate, step: str, after_s: float, *words: str) -> str:
    with estate.under_way(step, *words) as (process, run):
        time.sleep(after_s)
        process.send_signal(signal.SIGKILL)
    return run


@pytest.mark.parametrize("layout", ["stretched-2.5dc", "stretched-2.5dc-kraft"])
def test_it_stood_still_and_wakes_up_as_a_leader(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its leaders take writes with acks=1 that will be cut off: for two seconds at most, then they are stopped."""
    with stretched(tmp_path / "state", monkeypatch, layout) as estate:
        simulation = estate.simulation()
        woken_s, serving, stranded = _woken_in_the_middle(estate)
        late = {server: at_s - woken_s for server, at_s in serving.last_s.items()}
        assert len(servers_at(simulation, "dc1")) == len(late)
        assert max(late.values()) < _STARTED_S / 2, "they were not stopped while somebody looked"
        assert all(at_s <= max(serving.last_s.values()) for _, at_s in stranded)
        cut = cut_by_themselves(simulation)
        estate.ended("failback", "--yes")
        counted = tails_counted(estate)
        _tell(layout, "guarded", late, woken_s, stranded)
        told = f"failback counted {counted:,} beyond their leaders"
        print(told, file=sys.__stderr__)
        # A broker that hears of a new leader before it is stopped cuts off its log itself.
        assert counted >= sum(tp not in cut for tp, _ in stranded)


@pytest.mark.parametrize("layout", ["stretched-2.5dc", "stretched-2.5dc-kraft"])
def test_without_guards_its_servers_run_on(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What keeps their records few is that they are told of the new leaders.

    Nobody stops them, but for the failover itself, where their host wakes up while it is still asked to.
    """
    monkeypatch.setattr(Installer, "_site_guard", lambda *_: ())
    with stretched(tmp_path / "state", monkeypatch, layout) as estate:
        woken_s, serving, stranded = _woken_in_the_middle(estate)
        late = {server: at_s - woken_s for server, at_s in serving.last_s.items()}
        are_stopped = stopped_there(estate)
        assert are_stopped or min(late.values()) > _STARTED_S / 2
        how = "without guards, stopped by the failover" if are_stopped else "without guards"
        _tell(layout, how, late, woken_s, stranded)
        estate.ended("failback", "--yes")


def _woken_in_the_middle(estate: Estate) -> tuple[float, Serving, list[Stranded]]:
    """When dc1 was woken up; who served there since; records that were acknowledged there and are gone."""
    simulation = estate.simulation()
    site = simulation.site("dc1")
    brokers = [server for server in servers_at(simulation, "dc1") if server.purposes[0] == "client"]
    here = {server.program: str(simulation.address(server, "client")) for server in brokers}
    operator = simulation.client_properties("main", "operator")
    # Who does not look who leads goes on with whom he knows.
    near = {
        "acks": "1",
        "bootstrap.servers": ",".join(at for name, at in here.items() if name.startswith("broker")),
        "topic.metadata.refresh.interval.ms": -1,
        "message.timeout.ms": 120_000,
        "socket.timeout.ms": 120_000,
        "request.timeout.ms": 120_000,
    }
    partitions = topic_partitions(simulation, "main")
    with Writer(operator, partitions) as safe, Writer({**operator, **near}, partitions, _OTHERS) as careless:
        assert not safe.await_acks(time.time(), _WITHIN_S)
        assert not careless.await_acks(time.time(), _WITHIN_S)
        # A replica that was behind at that moment is none of those that may lead.
        awaited(lambda: all_in_sync(placed(simulation)), _WITHIN_S)
        site.pause()

        def is_taken_for_dead() -> bool:
            try:
                placement = placed(simulation)
            except ClusterError:  # whoever was asked stands still
                return False
            return all(placement.racks.get(broker) != "dc1" for broker in placement.living)

        awaited(is_taken_for_dead, _WITHIN_S)
        with (
            Serving(simulation, "dc1") as serving,
            estate.under_way("lower-min-insync", "failover", *LOST) as (process, _),
        ):
            woken_s = time.time()
            site.resume()
            _, said = process.communicate(timeout=_WITHIN_S)
            assert process.returncode == 0, said
            time.sleep(_STARTED_S)
        assert not safe.await_acks(time.time(), _WITHIN_S)
    assert_nothing_is_missing(simulation, "main", safe)
    acked = careless.ledger.numbers()
    found = records_read(simulation, "main", acked)
    lost = [(tp, number) for tp, numbers in acked.items() for number in numbers - found[tp]]
    gone = [(tp, careless.ledger.answered_at_s[tp][number]) for tp, number in lost]
    return woken_s, serving, sorted(gone, key=lambda one: one[1])


def cut_by_themselves(simulation: Simulation) -> set[TopicPartition]:
    """Of which partitions brokers at dc1 have cut off records, as their logs tell."""
    cut = re.compile(r"Truncating partition (\S+)-(\d+) with TruncationState\(offset=[1-9]")
    site = simulation.site("dc1")
    told = [
        site.files.place(f"{broker.program}/logs/kafka.log").read_text(encoding="utf-8")
        for broker in simulation.estate.brokers_of("main")
        if broker.dc == "dc1"
    ]
    return {TopicPartition(topic, int(number)) for text in told for topic, number in cut.findall(text)}


def stopped_there(estate: Estate) -> bool:
    """Whether the newest run has itself stopped services at the lost site."""
    (step,) = [row for row in estate.results()[-1]["steps"] if row["id"] == "stop-services"]
    return step["outcome"] == "ok" and "stopped and disabled" in step["message"]


def tails_counted(estate: Estate) -> int:
    """Records beyond their leaders that the newest run has counted, of all logs together."""
    result = estate.results()[-1]
    (said,) = [row["message"] for row in result["steps"] if row["id"] == "count-tails"]
    assert "not counted" not in said, said
    counted = re.match(r"([\d,]+) records? beyond", said)
    return int(counted[1].replace(",", "")) if counted else 0


def _tell(layout: str, how: str, late: dict[str, float], woken_s: float, stranded: list[Stranded]) -> None:
    last = f", the last {stranded[-1][1] - woken_s:+.2f} s after" if stranded else ""
    said = ", ".join(f"{server} {seconds:.2f} s" for server, seconds in sorted(late.items()))
    print(
        f"{layout}, {how}: took connections until after the site woke up: {said}; "
        f"{len(stranded):,} records of acks=1 acknowledged there are gone{last}",
        file=sys.__stderr__,
    )
