"""Waiting for servers that were started: until they serve, or until it is clear that they will not."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from orchestrator.adapters.connect import ConnectCluster
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.ports import is_listening
from orchestrator.adapters.supervisor import Supervisor
from orchestrator.errors import ClusterError, ConnectError, SimulationError
from orchestrator.simulation.crew import Crew

_HOST = "127.0.0.1"
_POLL_S = 0.2
_ASK_TIMEOUT_S = 1.0
_DEAD = ("EXITED", "FATAL", "BACKOFF", "UNKNOWN")
_WORDS_CHARACTERS = 400
_FRAME = re.compile(r"\s+at |\s+\.\.\. \d+ more")
_EXCEPTION = re.compile(
    r"(?P<cause>Caused by: )?(?:Exception in thread \S+ )?"
    r"[\w.$]*?(?P<name>\w+(?:Exception|Error)): (?P<text>.+)"
)
_TROUBLE = re.compile(r"ERROR|FATAL|Error")


class DeathWatch:
    """Tells when one of some supervised servers has died.

    A server's own log lies in `<program>/logs` in its supervisor's folder; what it printed, in the
    supervisor's logs.
    """

    def __init__(
        self, supervisor: Supervisor, programs: Sequence[str], may_start_again: Collection[str] = ()
    ) -> None:
        self._supervisor = supervisor
        self._programs = [program for program in programs if program not in may_start_again]
        self._pids: dict[str, int] = {}

    def check(self) -> None:
        """Raise `SimulationError` with the last meaningful log line of a program that has died.

        One that its supervisor has started again has died too; those in `may_start_again` are let alone.
        """
        running = self._supervisor.program_states()
        for program in self._programs:
            state, pid = running.get(program, ("UNKNOWN", 0))
            first = self._pids.setdefault(program, pid) if pid else pid
            if state in _DEAD or first != pid:
                own = sorted((self._supervisor.folder / program / "logs").glob("*.log"))
                logs = [*own, self._supervisor.log(program)]
                raise SimulationError(
                    f"{self._supervisor.name}, {program}",
                    f"died at its start: {last_words(logs)}",
                    f"log: {logs[0]}",
                )


def last_words(logs: Sequence[Path]) -> str:
    """What a dead server's logs say of its end: its last exception and its cause, or its very last line."""
    lines = [line.strip() for log in logs for line in _tail(log) if not _FRAME.match(line)]
    exceptions = [found for line in lines if (found := _EXCEPTION.match(line))]
    if exceptions:
        cause = exceptions[-1]
        outer = next((found for found in reversed(exceptions) if not found["cause"]), cause)
        words = [outer["text"], cause["text"]] if outer["text"] not in cause["text"] else [cause["text"]]
        return f"{': '.join(words)} ({cause['name']})"[:_WORDS_CHARACTERS]
    trouble = [line for line in lines if _TROUBLE.search(line)] or lines
    return trouble[-1][:_WORDS_CHARACTERS] if trouble else "it said nothing"


def _tail(log: Path, size_bytes: int = 64 * 1024) -> list[str]:
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - size_bytes))
            return [line for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
    except OSError:
        return []


def await_brokers(crew: Crew, cluster: KafkaCluster, expected: int, watch: Sequence[DeathWatch]) -> None:
    """Wait until all brokers of a cluster are registered and serve."""
    seen = -1
    while True:
        for one in watch:
            one.check()
        try:
            brokers = len(cluster.brokers(timeout_s=_ASK_TIMEOUT_S))
        except ClusterError:
            brokers = 0
        if brokers != seen:
            seen = brokers
            crew.say(cluster.name, f"{seen} of {expected} brokers")
        if brokers >= expected:
            return
        crew.check(cluster.subject, f"{seen} of {expected} brokers are up")
        crew.pause(_POLL_S)


def await_in_sync(crew: Crew, cluster: KafkaCluster, watch: Sequence[DeathWatch]) -> None:
    """Wait until every partition has a leader, and every replica on a living broker is in sync.

    Before that a restarted cluster answers, but its high watermarks may stand still.
    """
    while True:
        for one in watch:
            one.check()
        try:
            living = set(cluster.brokers(timeout_s=_ASK_TIMEOUT_S))
            topics = cluster.topics(cluster.topic_names(timeout_s=_ASK_TIMEOUT_S)).values()
        except ClusterError as error:
            crew.check(cluster.subject, error.problem)
            crew.pause(_POLL_S)
            continue
        behind = [
            partition
            for topic in topics
            for partition, leader, replicas, isr in zip(
                topic.partitions, topic.leaders, topic.replicas, topic.isr, strict=True
            )
            if leader < 0 or not living.intersection(replicas) <= set(isr)
        ]
        crew.say(cluster.name, f"{len(behind)} partitions not in sync" if behind else "in sync")
        if not behind:
            return
        crew.check(cluster.subject, f"{len(behind)} partitions are not in sync, {behind[0]} for one")
        crew.pause(_POLL_S)


def await_worker(crew: Crew, connect: ConnectCluster, watch: DeathWatch) -> None:
    """Wait until a Connect worker answers as a member of its group."""
    while True:
        watch.check()
        try:
            connect.connectors()
        except ConnectError as error:
            crew.check(f"Connect at {connect.name}", error.problem)
            crew.pause(_POLL_S)
        else:
            crew.say(f"Connect at {connect.name}", "answers")
            return


def create_connector(crew: Crew, connect: ConnectCluster, name: str, config: Mapping[str, str]) -> None:
    """Create one connector; a worker that is busy finding its group is asked again."""
    while True:
        try:
            connect.configure(name, config)
        except ConnectError as error:
            if re.search(r"answered 4(?!09|08)", error.problem):
                raise
            crew.check(f"connector {name}", error.problem)
            crew.pause(_POLL_S)
        else:
            return


def await_connectors(
    crew: Crew, connect: ConnectCluster, names: Sequence[str], *, may_lack_tasks: Sequence[str]
) -> None:
    """Wait until connectors and all their tasks are RUNNING.

    MirrorMaker's checkpoint connector has no task before the source has a consumer group
    (`MirrorCheckpointConnector.taskConfigs`): such ones are named in `may_lack_tasks`.
    """
    told: dict[str, str] = {}
    while True:
        statuses = connect.connectors()
        waiting = {}
        for name in names:
            status = statuses.get(name)
            states = status.states if status else ()
            if status and status.failure is not None:
                raise SimulationError(f"connector {name}", f"failed: {status.failure or 'no reason given'}")
            enough = len(states) > 1 or (states and name in may_lack_tasks)
            if not enough or any(state != "RUNNING" for state in states):
                waiting[name] = f"{len(states)} of its parts known" if states else "not started"
        if waiting != told:
            told = waiting
            crew.say(
                f"Connect at {connect.name}", f"{len(names) - len(waiting)} of {len(names)} connectors run"
            )
        if not waiting:
            return
        crew.check(f"Connect at {connect.name}", f"waiting for {', '.join(sorted(waiting))}")
        crew.pause(_POLL_S)


def await_zookeeper(
    crew: Crew, subject: str, port: int, watch: Sequence[DeathWatch], *, authority: str | None = None
) -> None:
    """Wait until a ZooKeeper serves: it stands alone, or is a member of a quorum (`srvr` names its mode).

    With the certificate of an `authority` it is asked by TLS.
    """
    while not zookeeper_mode(port, authority):
        for one in watch:
            one.check()
        crew.check(subject, "this ZooKeeper does not serve")
        crew.pause(_POLL_S)


def await_listening(crew: Crew, subject: str, port: int, watch: Sequence[DeathWatch]) -> None:
    """Wait until a server accepts connections."""
    while not is_listening(port):
        for one in watch:
            one.check()
        crew.check(subject, f"nothing listens on port {port}")
        crew.pause(_POLL_S)


def zookeeper_mode(port: int, authority: str | None = None) -> str:
    """`leader`, `follower` or `standalone`; empty where a server does not answer or has no quorum."""
    try:
        with ExitStack() as opened:
            connection = opened.enter_context(socket.create_connection((_HOST, port), timeout=_ASK_TIMEOUT_S))
            if authority is not None:
                context = ssl.create_default_context(cafile=authority)
                connection = opened.enter_context(context.wrap_socket(connection, server_hostname=_HOST))
            connection.sendall(b"srvr")
            answer = b"".join(iter(lambda: connection.recv(4096), b""))
    except OSError:
        return ""
    found = re.search(rb"^Mode: (\w+)", answer, re.MULTILINE)
    return found[1].decode("ascii") if found else ""
