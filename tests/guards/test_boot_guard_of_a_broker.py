"""The guard in front of a broker's start, with another command in the broker's place; no server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from orchestrator.guards.live.guard_reading import guards_path, guards_said, is_new
from orchestrator.guards.live.guarded_broker import broker_id, listens
from orchestrator.moves.opening import AwaitOpen
from orchestrator.ports.servers import TopicDescription
from orchestrator.runs.engine import StepOutcome
from orchestrator.runs.guards import OPENS_WITHIN_S, GuardSaid, concerning, kept_closed
from orchestrator.runs.runbook import Runbook
from orchestrator.topology.loading import load_topology
from tests.drill.rehearsal import ROOT
from tests.faults.estate import SMALL
from tests.runs.memory_ensemble import MemoryEnsemble
from tests.verbs.pictures import observation
from tests.verbs.some_moves import a_session, performed
from tests.verbs.some_servers import PassingClock, SomeServers

NOW_S = 1_800_000_000.0


def ensemble(nodes: dict[str, object]) -> MemoryEnsemble:
    """The ensemble with these nodes."""
    found = MemoryEnsemble()
    found.nodes.update({path: json.dumps(value).encode() for path, value in nodes.items()})
    return found


def guarded(tmp_path: Path, data: Path, *command: str, **changed: str) -> subprocess.CompletedProcess[str]:
    """Start `echo` behind the guard, with an ensemble that nobody answers for, and `changed` options."""
    file = tmp_path / "small.yaml"
    text = SMALL.read_text(encoding="utf-8")
    file.write_text(f"{text}coordination: {{zookeeper: '127.0.0.1:1'}}\n", encoding="utf-8")
    for name in ("OPEN", "CLOSED"):
        (tmp_path / name).touch()
    given = {"file": str(file), "cluster": "west", "server": "kafka1", "data": str(data)}
    given |= {"open": "OPEN", "closed": "CLOSED", "wait-s": "0", **changed}
    options = [word for name, value in given.items() for word in (f"--{name}", value)]
    options += ["--", *(command or ("echo", "with {properties}"))]
    return subprocess.run(
        [sys.executable, "-m", "orchestrator.guards.live.boot_guard", *options],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_disk_that_was_replaced_does_not_open_a_broker(tmp_path: Path) -> None:
    """Formatted, and never run: it may belong to a site that was lost, so it asks like any other."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "meta.properties").touch()
    assert is_new(data)
    done = guarded(tmp_path, data)
    assert (done.returncode, done.stdout) == (0, "with CLOSED\n"), done.stderr


def test_without_an_answer_a_broker_that_has_run_before_starts_closed(tmp_path: Path) -> None:
    """And its log says why."""
    (tmp_path / "data" / "orders-0").mkdir(parents=True)
    assert not is_new(tmp_path / "data")
    done = guarded(tmp_path, tmp_path / "data")
    assert (done.returncode, done.stdout) == (0, "with CLOSED\n"), done.stderr
    assert "the coordination ensemble does not answer (coordination at 127.0.0.1:1: no answer" in done.stderr


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"cluster": "wets"},
            "--cluster wets: {tmp}/small.yaml has no such cluster\n  its clusters: west, east",
        ),
        ({"open": "MISSING"}, "--open MISSING: there is no such file"),
        ({"closed": "MISSING"}, "--closed MISSING: there is no such file"),
        ({"closed": "OPEN"}, "--closed OPEN: is the same file as --open OPEN"),
        ({"closed": "./LINK"}, "--closed LINK: is the same file as --open OPEN"),
    ],
)
def test_a_slip_that_could_open_a_lost_site_starts_nothing(
    tmp_path: Path, changed: dict[str, str], told: str
) -> None:
    """Not even the data folder is marked, so that the next start finds it as it was."""
    (tmp_path / "LINK").symlink_to("OPEN")
    (tmp_path / "data").mkdir()
    done = guarded(tmp_path, tmp_path / "data", **changed)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"nothing was started: {told.format(tmp=tmp_path)}" in done.stderr
    assert list((tmp_path / "data").iterdir()) == []


def test_a_command_without_a_place_for_the_properties_is_not_started(tmp_path: Path) -> None:
    """It would be called closed, and be whatever it is."""
    done = guarded(tmp_path, tmp_path / "data", "echo", "OPEN")
    assert (done.returncode, done.stdout) == (1, "")
    assert "nothing was started: echo OPEN: the command does not contain {properties}" in done.stderr


@pytest.mark.parametrize(
    "module", ["orchestrator.guards.live.boot_guard", "orchestrator.operations.boot_guard"]
)
def test_help_explains_each_option(module: str) -> None:
    """With units and defaults; also under the name that units of version 0.2.0 start it by."""
    command = [sys.executable, "-m", module, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    shown = " ".join(done.stdout.split())
    assert "--wait-s SECONDS how long the ensemble may take to answer" in shown
    assert "(default: 10 s)" in shown
    for option in ("--file FILE the", "--cluster NAME the", "--server NAME the", "--data DIR the"):
        assert option in shown
    assert "--open FILE the" in shown
    assert "--closed FILE its" in shown
    assert "COMMAND after `--`: what starts the broker, with {properties}" in shown


def said(*states: str, age_s: float = 1.0) -> list[GuardSaid]:
    """One word for each of broker 1, 2, …"""
    return [
        GuardSaid(
            server=f"kafka{number}",
            state=state,  # type: ignore[arg-type]
            reason="why",
            at_s=NOW_S - age_s,
            broker_id=number,
        )
        for number, state in enumerate(states, start=1)
    ]


@pytest.mark.parametrize(
    ("words", "living", "is_kept"),
    [
        ([], {1, 2, 3}, False),
        (said("closed", "closed", "closed"), None, True),
        (said("closed", "closed"), {1, 2, 3}, False),  # the third has no guard
        (said("closed", "closed"), {1, 2}, True),  # the third has not come back
        (said("closed", "closed", "open"), {1, 2, 3}, False),
        (said("closed", "closed", "open"), {1, 2}, True),  # its word is from before the loss
        (said("closed", "closed", "open"), None, False),
        (said("closed", "closed", ""), {1, 2, 3}, False),  # its word is just being written
        (said("closed", "closed", "closed", age_s=60), {1, 2, 3}, False),  # nobody is at work any more
    ],
)
def test_a_source_is_kept_closed_only_if_each_broker_that_answers_is(
    words: list[GuardSaid], living: set[int] | None, is_kept: bool
) -> None:
    """One open broker lets applications in; one that is gone does not, whatever it had said last."""
    assert kept_closed(words, 3, NOW_S, lambda: living) == ("why" if is_kept else "")


def test_words_are_read_whatever_stands_there() -> None:
    """A node is empty for a moment when it is made; one of a newer version says nothing either."""
    path = guards_path("payments", "west")
    store = ensemble({f"{path}/b": {"state": "melted"}, f"{path}/c": ["odd"]})
    store.nodes[f"{path}/a"] = b""
    (whole,) = said("closed")
    store.nodes[f"{path}/d"] = json.dumps({**whole.as_json(), "server": "d"}).encode()
    found = guards_said(store, "payments", "west")
    assert [(word.server, word.state) for word in found] == [("a", ""), ("b", ""), ("c", ""), ("d", "closed")]


def test_a_machine_that_is_gone_is_not_waited_for() -> None:
    """But one that is stopped at this moment, in order to open, is."""
    old = said("closed", "closed", age_s=3600)
    assert [word.server for word in concerning(old, {1}, NOW_S)] == ["kafka1"]
    assert len(concerning(said("closed", "closed", age_s=30), {1}, NOW_S)) == 2


class Rejoining(MemoryEnsemble):
    """Where a failback finds the words of the guards of west, while it waits; waiting takes no time."""

    def __init__(self, folder: Path, *words: GuardSaid) -> None:
        super().__init__()
        self.clock, self.speaking = PassingClock(NOW_S), set[str]()
        self._words, self._folder = words, folder

    def read_children(self, path: str) -> dict[str, bytes]:
        """Who speaks has just said it again."""
        assert path == guards_path("small", "west")
        said = {}
        for word in self._words:
            later_s = self.clock.now_s() - NOW_S if word.server in self.speaking else 0.0
            said[word.server] = json.dumps(replace(word, at_s=word.at_s + later_s).as_json()).encode()
        return said

    def waited(self) -> StepOutcome:
        topology = load_topology(SMALL)
        servers = SomeServers(
            clusters={"west": Open("west"), "east": Open("east")}, workers={"east": None}, clock=self.clock
        )
        session = a_session(self._folder, servers, topology, observation(), ensemble=self)
        book = Runbook()
        with book.section("hold the primary", on_failure="undo"):
            book.add(AwaitOpen(cluster="west", topics=topology.replication[0].topics))
        return performed(session, book.steps[0])


class Open(NamedTuple):
    """A cluster of one broker, which answers and has no topic yet."""

    name: str

    def brokers(self) -> dict[int, str]:
        return {1: f"{self.name}:1"}

    def reconnect(self) -> None: ...

    def topics(self, _names: object) -> dict[str, TopicDescription]:
        return {}

    def topic_config(self, _names: object) -> dict[str, dict[str, str]]:
        return {}


NAMELESS = GuardSaid(server="kafka9", state="closed", reason="why", at_s=NOW_S - 9e6, host="old")


def test_a_guard_without_a_broker_id_that_fell_silent_is_not_waited_for_without_end(tmp_path: Path) -> None:
    """All the brokers that the cluster has are open; but one that speaks, by whatever clock, is waited for."""
    rejoining = Rejoining(tmp_path, NAMELESS, *said("open"))
    assert rejoining.waited().outcome == "ok"
    assert OPENS_WITHIN_S <= rejoining.clock.now_s() - NOW_S < 300
    speaking = Rejoining(tmp_path, NAMELESS, *said("open"))
    speaking.speaking.add("kafka9")
    assert speaking.waited() == StepOutcome("failed", "brokers of west that have not opened: kafka9: why")


@pytest.mark.parametrize("words", [[], [replace(NAMELESS, server="kafka8", state="")]])
def test_what_is_waited_for_names_what_to_remove(tmp_path: Path, words: list[GuardSaid]) -> None:
    """Where no other one is open, it may be the cluster's own; what cannot be read may be of a living one."""
    opened = said("open") if words else []
    done = Rejoining(tmp_path, *(words or [NAMELESS]), *opened).waited()
    assert done.outcome == "failed"
    server = words[0].server if words else "kafka9"
    assert f"if that server is gone for good, remove /dcctl/small/guards/west/{server} in the" in done.message


@pytest.mark.parametrize(
    ("text", "found"),
    [("node.id=7\n", 7), ("# broker.id=1\nbroker.id = 3\n", 3), ("broker.id=-1\n", None), ("", None)],
)
def test_the_id_of_a_broker_is_in_its_properties(tmp_path: Path, text: str, found: int | None) -> None:
    """Where ZooKeeper gives it, the guard does not know it."""
    file = tmp_path / "server.properties"
    file.write_text(text, encoding="utf-8")
    assert broker_id(file) == found
    assert broker_id(tmp_path / "missing") is None


def test_an_address_that_nobody_listens_on(tmp_path: Path) -> None:
    """The turn of a broker ends only when it does."""
    properties = tmp_path / "server.properties"
    properties.write_text(
        "process.roles=broker\nlisteners=CLIENT://127.0.0.1:1,OTHER://:2\n", encoding="utf-8"
    )
    assert not listens(properties)
