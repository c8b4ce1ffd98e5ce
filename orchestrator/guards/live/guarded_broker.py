"""The guard as the parent of its broker: it carries out what `guards.guarding` decides.

The ensemble is asked in a thread of its own, and whether the broker listens is looked at in another one:
however long the ensemble or a name server takes, it has to be noticed in time that an answer counts no more.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue

from orchestrator.adapters.child_process import adopt_orphans
from orchestrator.adapters.zookeeper import Coordination, HeldLock
from orchestrator.errors import DcctlError
from orchestrator.guards.guard_events import (
    Ask,
    Begun,
    Event,
    Exit,
    Heard,
    Instruction,
    Kill,
    LeaveTurn,
    Listens,
    Log,
    PassOn,
    Saying,
    Start,
    Stop,
    TakeTurn,
    Ticked,
    Told,
    TurnAnswered,
)
from orchestrator.guards.guarding import Guard, decide
from orchestrator.guards.live.boot_guard import Guarded, refuse_slips
from orchestrator.guards.live.child import ENDING, PASSED_ON, GuardedChild, close, in_words, log, now_s
from orchestrator.guards.live.guard_reading import GuardReading, guards_path
from orchestrator.runs.guards import GuardSaid
from orchestrator.runs.live.coordination import coordination_connection
from orchestrator.topology.loading import load_topology

_TICK_S = 0.2
_ANSWER_TIMEOUT_S = 3.0
_LISTENS_EVERY_S = 0.2
# The ensemble of a new estate comes up beside its first brokers.
_NEW_WAITS_TIMES = 6
_KAFKA_LISTENS_AT = "PLAINTEXT://:9092"


def turn_path(topology: str, cluster: str) -> str:
    """The lock of the server that opens just now."""
    return f"/dcctl/{topology}/guard-turns/{cluster}"


class GuardedBroker:
    """The broker as a child, from its start to its end.

    Raises `DcctlError` where the topology file cannot be read or the command line has a slip, and `OSError`
    where the data folder cannot be written: then nothing starts, and nothing is said.
    """

    def __init__(self, guarded: Guarded) -> None:
        self._guarded = guarded
        topology = load_topology(guarded.file)
        refuse_slips(guarded, topology)
        self._guard = Guard()
        self._inbox: SimpleQueue[tuple[subprocess.Popen[bytes] | None, Event]] = SimpleQueue()
        self._ensemble = _Ensemble(
            guarded,
            topology.name,
            GuardReading(topology, guarded.cluster, guarded.data),
            lambda: coordination_connection(topology),
            lambda event: self._inbox.put((None, event)),
        )
        self._broker = GuardedChild(lambda process, event: self._inbox.put((process, event)))

    def run(self) -> int:
        """Start it, and see to it. Returns the broker's exit status, negative for a signal that ended it."""
        adopt_orphans()
        for number in (*ENDING, *PASSED_ON):
            signal.signal(number, self._told)
        self._ensemble.start()
        wait_s = self._guarded.wait_s * (_NEW_WAITS_TIMES if self._ensemble.is_new else 1)
        self._inbox.put((None, Begun(now_s(), wait_s)))
        while True:
            try:
                process, event = self._inbox.get(timeout=_TICK_S)
            except Empty:
                process, event = None, Ticked(now_s())
            if process is not None and process is not self._broker.process:
                continue  # of a broker that is gone
            self._guard, instructions = decide(self._guard, event)
            for instruction in instructions:
                if isinstance(instruction, Exit):
                    # A command that does not become the broker may end before it.
                    self._broker.kill()
                    self._ensemble.end()
                    return instruction.status
                self._carry_out(instruction)

    def _carry_out(self, instruction: Instruction) -> None:
        match instruction:
            case Ask() | TakeTurn() | LeaveTurn():
                self._ensemble.do(instruction)
            case Start(is_open):
                self._start(self._guarded.opened if is_open else self._guarded.closed)
            case PassOn(number):
                self._broker.send(number)
            case Stop():
                self._broker.send(signal.SIGTERM)
            case Kill():
                self._broker.kill()
            case Log(text):
                log(text)

    def _start(self, properties: Path) -> None:
        process = self._broker.start(self._guarded.command_with(properties))
        threading.Thread(target=self._await_listener, args=(process, properties), daemon=True).start()

    def _await_listener(self, process: subprocess.Popen[bytes], properties: Path) -> None:
        while process.poll() is None:
            if listens(properties):
                self._inbox.put((process, Listens(now_s())))
                return
            time.sleep(_LISTENS_EVERY_S)

    def _told(self, number: int, _frame: object) -> None:
        self._inbox.put((None, Told(now_s(), number, ends=number in ENDING)))


class _Ensemble:
    """The guard's connection to the ensemble: what is to be done there is done one after the other."""

    def __init__(
        self,
        guarded: Guarded,
        topology: str,
        reading: GuardReading,
        connect: Callable[[], Coordination],
        tell: Callable[[Event], None],
    ) -> None:
        self._guarded, self._topology, self._reading = guarded, topology, reading
        self._connect, self._tell = connect, tell
        self._jobs: SimpleQueue[Ask | TakeTurn | LeaveTurn] = SimpleQueue()
        self._connection: Coordination | None = None
        self._turn: tuple[Coordination, HeldLock] | None = None

    @property
    def is_new(self) -> bool:
        """Whether the broker's data folder came new."""
        return self._reading.disk.is_new

    def start(self) -> None:
        """Begin to work."""
        threading.Thread(target=self._work, name="guard-ensemble", daemon=True).start()

    def do(self, job: Ask | TakeTurn | LeaveTurn) -> None:
        """Do this next."""
        self._jobs.put(job)

    def end(self) -> None:
        """Let go of the turn, if it is this server's; the sessions end with the process."""
        self._leave_turn()

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            try:
                answer = self._done(job)
            except Exception as error:  # noqa: BLE001 - without an answer the guard would never ask again
                answer = _unanswered(job, f"the guard itself has failed ({in_words(error)})")
            if answer is not None:
                self._tell(answer)

    def _done(self, job: Ask | TakeTurn | LeaveTurn) -> Heard | TurnAnswered | None:
        match job:
            case Ask(says):
                return self._asked(says)
            case TakeTurn():
                return self._turn_taken()
            case LeaveTurn():
                self._leave_turn()
        return None

    def _asked(self, says: Saying | None) -> Heard:
        """First what is to be said is in the ensemble, then what stands there is read."""
        said, connection = None, self._connection
        try:
            if connection is None:
                connection = self._connect()
                connection.open(timeout_s=_ANSWER_TIMEOUT_S)
                self._connection = connection
            if says is not None:
                self._say(connection, says)
                said = says
            return Heard(now_s(), self._reading.word(connection), said=said)
        except DcctlError as error:
            problem = f"the coordination ensemble does not answer ({error.subject}: {error.problem})"
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody has said that the broker may be open
            problem = f"the journal cannot be understood ({in_words(error)})"
        self._connection = None
        close(connection)
        return Heard(now_s(), None, problem, said)

    def _turn_taken(self) -> TurnAnswered:
        about = {"who": self._guarded.server, "command": "opens to applications"}
        coordination = None
        try:
            coordination = self._connect()
            coordination.open(timeout_s=_ANSWER_TIMEOUT_S)
            lock = coordination.acquire(turn_path(self._topology, self._guarded.cluster), about)
        except DcctlError as error:
            problem = error.problem
        except Exception as error:  # noqa: BLE001 - whatever it is, the turn is not this server's
            problem = f"its turn cannot be taken: {in_words(error)}"
        else:
            self._turn = coordination, lock
            return TurnAnswered(now_s(), is_ours=True)
        close(coordination)
        return TurnAnswered(now_s(), is_ours=False, problem=problem)

    def _leave_turn(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            coordination, lock = turn
            try:
                lock.release()
            except Exception as error:  # noqa: BLE001 - the end of the session lets go of it as well
                log(f"its turn to open could not be released ({in_words(error)}): its session is ended")
            close(coordination)

    def _say(self, coordination: Coordination, says: Saying) -> None:
        said = GuardSaid(
            server=self._guarded.server,
            state=says.state,
            reason=says.reason,
            host=socket.gethostname(),
            at_s=time.time(),
            broker_id=broker_id(self._guarded.opened),
            has_listened=says.state == "open",
            beside=says.beside,
        )
        path = f"{guards_path(self._topology, self._guarded.cluster)}/{said.server}"
        coordination.write(path, json.dumps(said.as_json()).encode())


def _unanswered(job: Ask | TakeTurn | LeaveTurn, problem: str) -> Heard | TurnAnswered | None:
    match job:
        case Ask():
            return Heard(now_s(), None, problem)
        case TakeTurn():
            return TurnAnswered(now_s(), is_ours=False, problem=problem)
        case LeaveTurn():
            log(problem)
    return None


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
    """Whether something takes connections at every address of `listeners`."""
    listeners = (_value(properties, "listeners") or _KAFKA_LISTENS_AT).split(",")
    return all(_is_open(listener.strip().partition("://")[2]) for listener in listeners)


def _is_open(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]") or "127.0.0.1", int(port)), timeout=1.0):
            return True
    except (OSError, ValueError):
        return False
