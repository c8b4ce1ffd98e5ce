"""The guard of a stretched cluster's server: what the ensemble says of it, and what it does, event by event."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from orchestrator.guards.guard_events import Begun, Ended, Exit, Kill, Log, PassOn, Ticked, Told
from orchestrator.guards.site_guard import (
    AskSite,
    SiteEvent,
    SiteGuard,
    SiteHeard,
    SiteInstruction,
    SiteSaying,
    SiteServer,
    SiteWord,
    StartAnyway,
    StartServer,
    decide,
    site_word,
    without_answer,
)
from orchestrator.ports.voters import FileChange
from orchestrator.runs.estate_record import Body, Fact, Withdrawn
from orchestrator.runs.facts_within_clusters import (
    QuorumForced,
    QuorumFormed,
    QuorumRestoring,
    QuorumWhole,
    SitesOff,
    SitesOn,
)
from orchestrator.topology.loading import load_topology, parse_topology

ROOT = Path(__file__).parents[2]
OFF = SitesOff(cluster="main", sites=("dc1",))
FORCED = QuorumForced(
    cluster="main",
    sites=("dc1",),
    generation=1,
    kept={"controller-104": 104, "controller-105": 105, "controller-106": 106},
    files={"controller-104": FileChange(path="c", sha256="s", changes=())},
)
FORMED = QuorumFormed(cluster="main", generation=1, files={})
RESTORING = QuorumRestoring(cluster="main", generation=2, beginning=(101, 104, 105, 106))
WHOLE = QuorumWhole(cluster="main", generation=2)
ON = SitesOn(cluster="main")
SHORT, LONG = frozenset({104, 105, 106}), frozenset({101, 102, 103, 104, 105, 106})


def word(about: SiteServer, *bodies: Body) -> tuple[bool, bool]:
    """Whether it may start, and whether it must stop, with these facts."""
    facts = [Fact(number=n, run_id="r", at_s=0.0, body=body) for n, body in enumerate(bodies, 1)]
    found = site_word(about, facts)
    assert found.reason
    return found.may_start, found.must_stop


def server(site: str, voter: int | None = None, voters: frozenset[int] = frozenset()) -> SiteServer:
    """A broker, or a voter whose file names these."""
    return SiteServer(cluster="main", site=site, voter=voter, voters=voters)


MAY, HELD, STOPS = (True, False), (False, False), (False, True)
STAGES: dict[str, tuple[Body, ...]] = {
    "nothing": (),
    "off": (OFF,),
    "recorded": (OFF, FORCED),
    "formed": (OFF, FORCED, FORMED),
    "restoring": (OFF, FORCED, FORMED, RESTORING),
    "whole": (OFF, FORCED, FORMED, RESTORING, WHOLE),
    "back": (OFF, FORCED, FORMED, RESTORING, WHOLE, ON),
    "lost again": (OFF, FORCED, FORMED, RESTORING, WHOLE, ON, OFF),
    "taken back": (OFF, FORCED, Withdrawn(number=2), Withdrawn(number=1)),
}


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        (server("dc1"), [MAY, STOPS, STOPS, STOPS, STOPS, STOPS, MAY, STOPS, MAY]),
        (server("dc2"), [MAY] * 9),
        (server("dc1", 101, LONG), [MAY, STOPS, STOPS, STOPS, MAY, MAY, MAY, STOPS, MAY]),
        (server("dc1", 102, LONG), [MAY, STOPS, STOPS, STOPS, STOPS, MAY, MAY, STOPS, MAY]),
        (server("dc2", 104, LONG), [MAY, MAY, MAY, HELD, MAY, MAY, MAY, MAY, MAY]),
        (server("dc2", 104, SHORT), [MAY] * 9),
        (server("dc2", 107, LONG), [MAY, MAY, STOPS, STOPS, STOPS, MAY, MAY, MAY, MAY]),
    ],
    ids=[
        "a lost broker",
        "a broker",
        "a lost voter that begins",
        "another",
        "a survivor, old file",
        "a survivor, new file",
        "a survivor that was left out",
    ],
)
def test_what_the_ensemble_says(about: SiteServer, expected: list[tuple[bool, bool]]) -> None:
    """Of brokers by their site; of voters by what is the quorum, and by what their file says of it."""
    found = {stage: word(about, *bodies) for stage, bodies in STAGES.items()}
    assert found == dict(zip(STAGES, expected, strict=True))


def test_another_cluster_is_not_concerned() -> None:
    """A site is off for one cluster."""
    assert word(server("dc1"), SitesOff(cluster="other", sites=("dc1",))) == MAY


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ("stretched-2dc", "wait"),
        ("stretched-2dc-kraft", "wait"),
        ("stretched-2.5dc", "start"),
        ("stretched-3dc", "start"),
    ],
)
def test_without_an_answer_it_waits_where_two_sites_decide(layout: str, expected: str) -> None:
    """Each half could take itself for the one that goes on; a person's word in the file counts."""
    file = ROOT / "topologies" / f"{layout}.yaml"
    topology = load_topology(file)
    assert without_answer(topology, "main") == expected
    text = file.read_text(encoding="utf-8") + "\nboot_guard: {without_answer: start}\n"
    assert without_answer(parse_topology(text, file), "main") == "start"


MAY_START, MUST_STOP = SiteWord(True, False, "on"), SiteWord(False, True, "dc1 is off")
WAITS, STARTS = SiteGuard(without_answer="wait"), SiteGuard(without_answer="start")


def after(*events: SiteEvent, guard: SiteGuard = WAITS) -> tuple[SiteGuard, list[SiteInstruction]]:
    """The guard after all of these, and what the last one asked for, without lines for the log."""
    done: Iterable[SiteInstruction] = ()
    for event in events:
        guard, done = decide(guard, event)
    return guard, [instruction for instruction in done if not isinstance(instruction, Log)]


RUNNING = (Begun(0.0, 5.0), SiteHeard(0.1, MAY_START))


def test_it_asks_first_and_each_second() -> None:
    """An answer is waited for."""
    assert after(Begun(0.0, 5.0))[1] == [AskSite(SiteSaying("held", "the ensemble was not asked yet"))]
    assert after(*RUNNING)[1] == [StartServer()]
    assert after(*RUNNING, Ticked(0.5))[1] == []
    assert after(*RUNNING, Ticked(1.0))[1] == [AskSite(SiteSaying("runs", "on"))]
    assert after(*RUNNING, Ticked(1.0), Ticked(9.0))[1] == []


def test_one_word_stops_it_and_then_it_is_held_until_another() -> None:
    """It does not end: whoever starts services need not know."""
    stopped = (*RUNNING, SiteHeard(2.0, MUST_STOP))
    assert after(*stopped)[1] == [Kill()]
    guard, done = after(*stopped, Ended(2.1, -9))
    assert (guard.phase, guard.says, done) == ("held", SiteSaying("held", "dc1 is off"), [])
    assert after(SiteHeard(3.0, MUST_STOP), guard=guard)[1] == []
    assert after(SiteHeard(3.0, MAY_START), guard=guard)[1] == [StartServer()]


def test_silence_changes_nothing_while_it_runs() -> None:
    """The ensemble may be away for a day."""
    assert after(*RUNNING, SiteHeard(90.0, None, "no answer"))[1] == []


@pytest.mark.parametrize(("guard", "expected"), [(WAITS, []), (STARTS, [StartServer()])])
def test_without_an_answer_it_does_as_the_file_says(
    guard: SiteGuard, expected: list[SiteInstruction]
) -> None:
    """Not before it has waited."""
    silent = SiteHeard(4.9, None, "no answer")
    assert after(Begun(0.0, 5.0), silent, guard=guard)[1] == []
    assert after(Begun(0.0, 5.0), silent, SiteHeard(5.1, None, "no answer"), guard=guard)[1] == expected


@pytest.mark.parametrize("guard", [WAITS, STARTS])
def test_once_it_was_refused_silence_starts_nothing(guard: SiteGuard) -> None:
    """Nor does a person's word: an ensemble that is away for a moment must not bring a lost site back."""
    told = (Begun(0.0, 5.0), SiteHeard(0.1, MUST_STOP))
    silent = SiteHeard(600.0, None, "no answer")
    assert after(*told, silent, guard=guard)[1] == []
    assert after(*told, StartAnyway(599.0, "ann at k1"), silent, guard=guard)[1] == []
    stopped = (*RUNNING, SiteHeard(2.0, MUST_STOP), Ended(2.1, -9))
    assert after(*stopped, silent, guard=guard)[1] == []
    assert after(*told, silent, SiteHeard(601.0, MAY_START), guard=guard)[1] == [StartServer()]


def test_a_person_has_it_started_and_that_is_told() -> None:
    """Only where nobody answers: what the ensemble says counts more, then and later."""
    said = (Begun(0.0, 5.0), StartAnyway(1.0, "ann at k1"))
    guard, done = after(*said, SiteHeard(1.1, None, "no answer"))
    assert done == [StartServer()]
    assert guard.says.by_hand == "ann at k1"
    assert after(*said, SiteHeard(1.1, MUST_STOP))[1] == []
    assert after(SiteHeard(9.0, MUST_STOP), guard=guard)[1] == [Kill()]


def test_it_ends_as_its_server_ends_and_passes_signals_on() -> None:
    """A server that is being stopped is not started again by its guard."""
    assert after(*RUNNING, Ended(9.0, 3))[1] == [Exit(3)]
    told = Told(2.0, signal.SIGTERM, ends=True)
    assert after(*RUNNING, told)[1] == [PassOn(signal.SIGTERM)]
    assert after(*RUNNING, told, SiteHeard(2.1, MUST_STOP), Ended(2.2, -9))[1] == [Exit(-9)]
    assert after(Begun(0.0, 5.0), told)[1] == [Exit(-signal.SIGTERM)]
    assert after(*RUNNING, SiteHeard(2.0, MUST_STOP), told, Ended(2.2, -9))[1] == [Exit(-9)]


def guarded(tmp_path: Path, *options: str, command: tuple[str, ...] = ("echo", "runs")) -> list[str]:
    """The guard's command line, with an ensemble that nobody answers for."""
    text = (ROOT / "topologies" / "stretched-3dc.yaml").read_text(encoding="utf-8")
    file = tmp_path / "file.yaml"
    file.write_text(f"{text}\ncoordination: {{zookeeper: '127.0.0.1:1'}}\n", encoding="utf-8")
    config = tmp_path / "server.properties"
    config.write_text("process.roles=broker\nnode.id=1\n", encoding="utf-8")
    given = {"file": file, "cluster": "main", "site": "dc1", "server": "broker-1", "config": config}
    words = [str(word) for name, value in given.items() for word in (f"--{name}", value)]
    guard = [sys.executable, "-m", "orchestrator.guards.live.site_guard"]
    return [*guard, *words, *options, "--", *command]


def ran(command: list[str], tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """To its end."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_as_a_process_it_starts_without_an_answer_where_a_third_site_decides(tmp_path: Path) -> None:
    """And ends as its command does."""
    found = ran(guarded(tmp_path, "--wait-s", "0", command=("sh", "-c", "echo runs; exit 7")), tmp_path)
    assert (found.returncode, found.stdout) == (7, "runs\n"), found.stderr
    assert "dcctl guard: starts: starts without an answer" in found.stderr


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [("cluster", "west", "has no such cluster"), ("site", "dc9", "has no servers there")],
)
def test_a_slip_starts_nothing(tmp_path: Path, option: str, value: str, said: str) -> None:
    """What is recorded of the site would not be found."""
    found = ran(guarded(tmp_path, f"--{option}", value), tmp_path)
    assert (found.returncode, found.stdout) == (1, "")
    assert said in found.stderr


def test_a_word_at_the_host_has_it_started(tmp_path: Path) -> None:
    """Only one that is said while the guard waits, and it is used up: an old one starts nothing."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    waiting = guarded(tmp_path, "--wait-s", "3600")
    said = [*waiting[:3], "--start-anyway", "--why", "fire", "--config", str(tmp_path / "server.properties")]
    assert ran(said, tmp_path).returncode == 0
    log = tmp_path / "guard.log"
    with (
        log.open("w", encoding="utf-8") as stderr,
        subprocess.Popen(
            waiting, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True
        ) as guard,
    ):
        try:
            deadline = time.monotonic() + 60
            while "not started" not in log.read_text(encoding="utf-8"):
                assert time.monotonic() < deadline
                time.sleep(0.1)
            assert "said before this guard began to wait" in log.read_text(encoding="utf-8")
            assert guard.poll() is None
            assert ran(said, tmp_path).returncode == 0
            out, _ = guard.communicate(timeout=60)
        finally:
            guard.kill()
    assert (guard.returncode, out) == (0, "runs\n"), log.read_text(encoding="utf-8")
    assert "(fire) has said so" in log.read_text(encoding="utf-8")
    assert [file.name for file in tmp_path.glob("*anyway*")] == []
