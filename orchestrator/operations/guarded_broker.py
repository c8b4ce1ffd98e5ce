"""A broker that starts closed to applications, and opens when the journal's word about its cluster changes.

See `boot_guard`. Each guard says in the ensemble whether its broker is open: a failback waits for that.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import DcctlError
from orchestrator.operations.boot_guard import Guarded, is_new
from orchestrator.operations.coordination import coordination_connection
from orchestrator.operations.estate_facts import begun_runs
from orchestrator.operations.guard_words import GuardSaid, guards_path
from orchestrator.operations.journal import is_intent, runs_path
from orchestrator.operations.parts import unpacked
from orchestrator.planning.boot_guard import HOLD_STEP, GuardWord, PastRun, guard_word
from orchestrator.topology.loading import load_topology

_POLL_S = 1.0
_STOP_TIMEOUT_S = 60.0
_TURN_TIMEOUT_S = 120.0
_ANSWER_TIMEOUT_S = 3.0
# The ensemble of a new estate comes up beside its first brokers.
_NEW_WAITS_TIMES = 6


def turn_path(topology: str, cluster: str) -> str:
    """The lock of the server that opens just now."""
    return f"/dcctl/{topology}/guard-turns/{cluster}"


def past_runs(coordination: Coordination, topology: str) -> Iterator[PastRun]:
    """Runs of the journal that have begun, the one that began last first, read as they are asked for."""

    def record(path: str) -> dict[str, object]:
        return unpacked(coordination.read(path) or b"{}", path)

    for run_id in reversed(begun_runs(coordination, topology)):
        path = f"{runs_path(topology)}/{run_id}"
        names = coordination.names(path)
        if not names:
            continue
        first, last = record(f"{path}/{names[0]}"), record(f"{path}/{names[-1]}")
        about, end = first.get("data"), last.get("data")
        about, end = about if isinstance(about, dict) else {}, end if isinstance(end, dict) else {}
        holds = [name for name in names if name.endswith(f"-step-outcome-{HOLD_STEP}")]
        begun = any(is_intent(name) for name in names)
        outcome = str(end.get("outcome", "")) if last.get("kind") == "run-ended" else ""
        yield PastRun(
            run_id=run_id,
            verb=str(about.get("verb", "")),
            source=str(about.get("source", "")),
            target=str(about.get("target", "")),
            has_begun=begun,
            # A resumption that was refused changes nothing of what the run did before.
            outcome="incomplete" if begun and outcome == "refused" else outcome,
            is_held=bool(holds) and record(f"{path}/{holds[-1]}").get("outcome") == "ok",
        )


class GuardedBroker:
    """The broker as a child: closed until it may open, then open until it ends.

    Raises `DcctlError` where the topology file cannot be read: then nothing starts.
    """

    def __init__(self, guarded: Guarded) -> None:
        self._guarded = guarded
        self._topology = load_topology(guarded.file)
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ending = False
        self._problem = self._logged = ""

    def may_open(self) -> bool:
        """What the journal says at the start; False too where the ensemble does not answer in time."""
        wait_s = self._guarded.wait_s * (_NEW_WAITS_TIMES if is_new(self._guarded.data) else 1)
        deadline = time.monotonic() + wait_s
        word = self.asked_word(says_open=True)
        while word is None and time.monotonic() < deadline:
            time.sleep(_POLL_S / 2)
            word = self.asked_word(says_open=True)
        if word is None or not word.is_open:
            self._log_closed(word)
        return word is not None and word.is_open

    def asked_word(self, *, says_open: bool = False) -> GuardWord | None:
        """What the journal says now; None where it cannot be asked, or what it says cannot be understood.

        That the broker is closed is told to the ensemble, that it is open only with `says_open`.
        """
        coordination = None
        try:
            coordination = coordination_connection(self._topology)
            coordination.open(timeout_s=_ANSWER_TIMEOUT_S)
            word = guard_word(self._guarded.cluster, past_runs(coordination, self._topology.name))
            if says_open or not word.is_open:
                self._say(coordination, word)
        except DcctlError as error:
            self._problem = f"the coordination ensemble does not answer ({error.subject}: {error.problem})"
            return None
        except ValueError as error:
            self._problem = f"the journal cannot be understood ({error})"
            return None
        finally:
            if coordination is not None:
                coordination.close()
        return word

    def _log_closed(self, word: GuardWord | None) -> None:
        """Why it is closed, once for each reason: it is asked again each second, for days perhaps."""
        reason = self._problem if word is None else word.reason
        if reason != self._logged:
            self._logged = reason
            _log(f"closed to applications: {reason}")

    def run(self) -> int:
        """Start it closed. Returns the broker's exit status."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._pass_on)
        self._start(self._guarded.closed)
        while self._is_running() and not self._is_ending:
            time.sleep(_POLL_S)
            word = self.asked_word()
            if word is None or not word.is_open:
                self._log_closed(word)
            elif self._is_ending or self._opens_in_turn(word):
                break
            else:
                self._log_closed(None)
        return self._process.wait() if self._process is not None else 0

    def _start(self, properties: Path) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(self._guarded.command_with(properties))
        return self._process

    def _is_running(self) -> bool:
        """Whether the broker is, closed or open; in its turn it is started anew."""
        return self._process is not None and self._process.poll() is None

    def _pass_on(self, number: int, _frame: object) -> None:
        self._is_ending = True
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

    def _opens_in_turn(self, word: GuardWord) -> bool:
        """Stop the closed broker and start it open, while no other server of the cluster does.

        The turn ends when the open one listens: until then a quorum must not lose another member. False
        where it is another's turn, or nobody answers: it is asked again. The word that led here is as old as
        the stop has taken; if it is another one by then, the broker is closed again.
        """
        coordination = None
        about = {"who": self._guarded.server, "command": "opens to applications"}
        try:
            coordination = coordination_connection(self._topology)
            coordination.open(timeout_s=_ANSWER_TIMEOUT_S)
            self._say(coordination, GuardWord(False, f"opens in its turn: {word.reason}"))
            turn = coordination.acquire(turn_path(self._topology.name, self._guarded.cluster), about)
        except DcctlError as error:
            self._problem = f"may open, and waits for its turn ({error.problem})"
            if coordination is not None:
                coordination.close()
            return False
        self._stop()
        now = None if self._is_ending else self.asked_word()
        opens = now is not None and now.is_open
        if now is not None:
            self._problem = now.reason
        if opens:
            _log(f"opens to applications: {self._problem}")
        if not self._is_ending:
            properties = self._guarded.opened if opens else self._guarded.closed
            process, deadline = self._start(properties), time.monotonic() + _TURN_TIMEOUT_S
            while process.poll() is None and time.monotonic() < deadline:
                if listens(properties):
                    if now is not None and opens:
                        with suppress(DcctlError):
                            self._say(coordination, now)
                    break
                time.sleep(_POLL_S / 10)
        turn.release()
        coordination.close()
        return opens or self._is_ending

    def _stop(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _say(self, coordination: Coordination, word: GuardWord) -> None:
        said = GuardSaid(
            server=self._guarded.server,
            state="open" if word.is_open else "closed",
            reason=word.reason,
            host=socket.gethostname(),
            at_s=time.time(),
            broker_id=broker_id(self._guarded.opened),
        )
        path = f"{guards_path(self._topology.name, self._guarded.cluster)}/{said.server}"
        coordination.write(path, json.dumps(said.as_json()).encode())


def broker_id(properties: Path) -> int | None:
    """The id that a broker with these properties has; None where they leave it to ZooKeeper or a file."""
    for key in ("node.id", "broker.id"):
        value = _value(properties, key)
        if value.isdigit():
            return int(value)
    return None


def _value(properties: Path, key: str) -> str:
    try:
        lines = properties.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    pairs = (line.partition("=") for line in lines)
    return next((value.strip() for name, _, value in pairs if name.strip() == key), "")


def listens(properties: Path) -> bool:
    """Whether something takes connections at the first address of `listeners`."""
    listeners = _value(properties, "listeners")
    host, _, port = listeners.partition("://")[2].partition(",")[0].rpartition(":")
    try:
        with socket.create_connection((host or "127.0.0.1", int(port)), timeout=1.0):
            return True
    except (OSError, ValueError):
        return False


def _log(text: str) -> None:
    print(f"dcctl guard: {text}", file=sys.stderr, flush=True)  # noqa: T201 - the service's own log
