"""The guard as the parent of a stretched cluster's server: carries out what `guards.site_guard` decides."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import threading
import time
from dataclasses import asdict
from pathlib import Path
from queue import Empty, SimpleQueue

from orchestrator.adapters.child_process import adopt_orphans
from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import CoordinationError, DcctlError
from orchestrator.guards.guard_events import Begun, Exit, Kill, Log, PassOn, Ticked, Told
from orchestrator.guards.live.boot_guard import described_cluster
from orchestrator.guards.live.child import ENDING, PASSED_ON, GuardedChild, close, in_words, log, now_s
from orchestrator.guards.live.site_guard import Guarded, word_file
from orchestrator.guards.live.site_words import site_guard_path
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
from orchestrator.ports.voter_lines import values_of, voters_in
from orchestrator.runs.estate_record import Fact
from orchestrator.runs.guards import SiteGuardSaid
from orchestrator.runs.live.coordination import coordination_connection
from orchestrator.runs.live.estate_record import FactName, estate_path, fact_names, written_facts
from orchestrator.runs.within_clusters import QUORUM_FACTS, SITE_FACTS
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology

_TICK_S = 0.2
_ANSWER_TIMEOUT_S = 3.0


class GuardedServer:
    """The server as a child, from its start to its end.

    Raises `DcctlError` where the topology file cannot be read, or has no such cluster or site, and `OSError`
    where the configuration cannot be read: then nothing starts, and nothing is said.
    """

    def __init__(self, guarded: Guarded) -> None:
        self._guarded = guarded
        topology = load_topology(guarded.file)
        _refuse_slips(guarded, topology)
        self._guard = SiteGuard(without_answer=without_answer(topology, guarded.cluster))
        self._inbox: SimpleQueue[tuple[subprocess.Popen[bytes] | None, SiteEvent]] = SimpleQueue()
        self._server = GuardedChild(lambda process, event: self._inbox.put((process, event)))
        self._questions: SimpleQueue[SiteSaying] = SimpleQueue()
        self._ensemble = _Ensemble(guarded, topology)

    def run(self) -> int:
        """Start it, and see to it. Returns its exit status, negative for a signal that ended it."""
        adopt_orphans()
        for number in (*ENDING, *PASSED_ON):
            signal.signal(number, self._told)
        if who := _word_of_a_person(self._guarded.config):
            log(f"the word of {who} counts for nothing: it was said before this guard began to wait")
        threading.Thread(target=self._ask, name="guard-ensemble", daemon=True).start()
        self._inbox.put((None, Begun(now_s(), self._guarded.wait_s)))
        while True:
            process, event = self._next()
            if process is not None and process is not self._server.process:
                continue  # of a server that is gone
            self._guard, instructions = decide(self._guard, event)
            for instruction in instructions:
                if isinstance(instruction, Exit):
                    self._server.kill()
                    return instruction.status
                self._carry_out(instruction)

    def _next(self) -> tuple[subprocess.Popen[bytes] | None, SiteEvent]:
        try:
            return self._inbox.get(timeout=_TICK_S)
        except Empty:
            pass
        who = _word_of_a_person(self._guarded.config)
        if who and self._guard.waits_for_an_answer:
            return None, StartAnyway(now_s(), who)
        if who:
            log(f"the word of {who} counts for nothing: it is for a server that waits while nobody answers")
        return None, Ticked(now_s())

    def _carry_out(self, instruction: SiteInstruction) -> None:
        match instruction:
            case AskSite(says):
                self._questions.put(says)
            case StartServer():
                self._server.start(self._guarded.command)
            case PassOn(number):
                self._server.send(number)
            case Kill():
                self._server.kill()
            case Log(text):
                log(text)

    def _told(self, number: int, _frame: object) -> None:
        self._inbox.put((None, Told(now_s(), number, ends=number in ENDING)))

    def _ask(self) -> None:
        while True:
            self._inbox.put((None, self._ensemble.asked(self._questions.get())))


class _Ensemble:
    """The guard's connection to the ensemble, and what it has read there."""

    def __init__(self, guarded: Guarded, topology: Topology) -> None:
        self._guarded, self._topology = guarded, topology
        self._known: dict[FactName, Fact] = {}
        self._connection: Coordination | None = None
        self._said: tuple[int | None, SiteSaying] | None = None

    def asked(self, says: SiteSaying) -> SiteHeard:
        """What the ensemble says now; that it is silent, or not understood, is no word."""
        connection = self._connection
        try:
            if connection is None:
                connection = coordination_connection(self._topology)
                connection.open(timeout_s=_ANSWER_TIMEOUT_S)
                self._connection = connection
            # What is to be done counts more than that somebody hears of it.
            word = self._word(connection)
            self._say_once(connection, says)
            return SiteHeard(now_s(), word)
        except DcctlError as error:
            problem = f"the coordination ensemble does not answer ({error.subject}: {error.problem})"
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody has said that the server may run
            problem = f"what the ensemble says cannot be understood ({in_words(error)})"
        self._connection = None
        close(connection)
        return SiteHeard(now_s(), None, problem)

    def _word(self, connection: Coordination) -> SiteWord:
        """Raises `CoordinationError` too where facts are gone that were there: they are never removed."""
        kinds = (*SITE_FACTS, *QUORUM_FACTS)
        name = self._topology.name
        listed = fact_names(connection, name)
        if gone := self._known.keys() - set(listed):
            raise CoordinationError(estate_path(name), f"{len(gone)} facts of it are gone")
        facts = written_facts(connection, name, kinds, known=self._known, listed=listed)
        return site_word(_described(self._guarded), facts)

    def _say_once(self, connection: Coordination, says: SiteSaying) -> None:
        """Once in each session: the node goes with it."""
        now = connection.session_id, says
        if now == self._said:
            return
        try:
            self._say(connection, says)
        except DcctlError as error:
            log(f"this guard cannot say in the ensemble what it does: {error.subject}: {error.problem}")
        else:
            self._said = now

    def _say(self, connection: Coordination, says: SiteSaying) -> None:
        guarded = self._guarded
        said = SiteGuardSaid(
            site=guarded.site,
            state=says.state,
            reason=says.reason,
            by_hand=says.by_hand,
            host=socket.gethostname(),
            at_s=time.time(),
        )
        path = f"{site_guard_path(self._topology.name, guarded.cluster)}/{guarded.server}"
        connection.write_for_session(path, json.dumps(asdict(said)).encode())


def _described(guarded: Guarded) -> SiteServer:
    """The server as its configuration has it now.

    Raises `OSError` where that cannot be read, `ValueError` and `KeyError` where it has no id.
    """
    values = values_of(guarded.config.read_text(encoding="utf-8"))
    roles = [role.strip() for role in values.get("process.roles", "").split(",")]
    lists = Path(values.get("dynamicConfigFile") or guarded.config)
    voter = None
    if "dataDir" in values:
        voter = int((Path(values["dataDir"]) / "myid").read_text(encoding="utf-8"))
    elif "controller" in roles:
        voter = int(values["node.id"])
    return SiteServer(
        cluster=guarded.cluster,
        site=guarded.site,
        voter=voter,
        voters=frozenset(voters_in(lists.read_text(encoding="utf-8").splitlines())),
    )


def _word_of_a_person(config: Path) -> str:
    """Who has said that the server is to start without an answer; the word is used up by that."""
    file = word_file(config)
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
        file.unlink()
        return f"{said['who']} ({said['why']})" if said.get("why") else str(said["who"])
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, TypeError, KeyError) as error:
        log(f"{file} is not understood ({in_words(error)}): it counts for nothing")
        return ""


def _refuse_slips(guarded: Guarded, topology: Topology) -> None:
    """Raise `DcctlError` where what is recorded of a lost site would not be found for this server."""
    described = described_cluster(topology, guarded.cluster, guarded.file)
    if guarded.site not in described.datacenters:
        raise DcctlError(
            f"--site {guarded.site}",
            f"{guarded.cluster} has no servers there by {guarded.file}",
            f"its data centres: {', '.join(described.datacenters)}",
        )
    _described(guarded)
