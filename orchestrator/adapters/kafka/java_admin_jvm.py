"""The one Java process behind every `JavaAdmin`: started at first use, gone with this process.

py4j's gateway listens on loopback alone, on a port of its own choice, and serves nobody without the token
that it has told its starter through a pipe. The process ends when its stdin does, so it cannot outlive us,
however we end. It is started with the archive of loaded classes that a broker left, where there is one: it
answers after half a second instead of two.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, find_jar_path, launch_gateway
from py4j.protocol import Py4JError, Py4JJavaError

from orchestrator.adapters.java.calls import keep_py4j_quiet
from orchestrator.adapters.java.class_archive import archive_options, error_file_option
from orchestrator.adapters.java.commands import class_archive
from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import KafkaRuntime, client_runtime
from orchestrator.adapters.kafka.client import NO_BROKER, WRONG_USER
from orchestrator.adapters.kafka.java_admin_bulk import Bulk
from orchestrator.errors import ClusterError, JavaError

# Twice what any call asks for: beyond it the process itself hangs, not a cluster.
ANSWER_WITHIN_S = 600
# 100,000 partitions take about 300 MB on their way through.
_HEAP_MB = 1024
_END_WITHIN_S = 5.0


class Jvm:
    """A Java process that can be called into. Threads may share it; each call has its own connection."""

    def __init__(self) -> None:
        keep_py4j_quiet()
        runtime = client_runtime(find_java())
        with tempfile.TemporaryFile() as said:
            try:
                port, token, self._process = launch_gateway(
                    javaopts=_options(runtime),
                    java_path=str(runtime.java.executable),
                    die_on_exit=True,
                    enable_auth=True,
                    redirect_stderr=said,
                    return_proc=True,
                    # Ctrl-C at the terminal is for us; what it interrupts, we end ourselves.
                    create_new_process_group=True,
                )
            except (OSError, ValueError, Py4JError) as error:
                said.seek(0)
                words = said.read().decode("utf-8", "replace").strip().splitlines()
                problem = f"Kafka's client did not start: {words[-1] if words else error}"
                raise JavaError(str(runtime.java.executable), problem, "is there memory left?") from None
        self.gateway = JavaGateway(
            gateway_parameters=GatewayParameters(
                port=port, auth_token=token, auto_convert=True, read_timeout=ANSWER_WITHIN_S
            )
        )
        with java_errors("Kafka's client", "preparing it"):
            self.bulk = Bulk(self.gateway)

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def end(self) -> None:
        """End the process, and wait for its end."""
        # py4j would go on to connect, and to log that it cannot, for each object that Python lets go of.
        self.gateway._gateway_client.is_connected = False  # noqa: SLF001 - it has no other way to be told
        with suppress(Py4JError, OSError):
            self.gateway.close()
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class _Shared:
    """What is running now, if anything is."""

    guard = threading.Lock()
    jvm: Jvm | None = None


def shared_jvm() -> Jvm:
    """The process; started if there is none, or none any more. Raises `JavaError`, `DownloadError`."""
    with _Shared.guard:
        if _Shared.jvm is None or not _Shared.jvm.is_alive:
            if _Shared.jvm is None:
                atexit.register(end_shared_jvm)
            else:
                _Shared.jvm.end()
            _Shared.jvm = Jvm()
        return _Shared.jvm


def end_shared_jvm() -> None:
    """End the process if it runs; the next call starts another one."""
    with _Shared.guard:
        if _Shared.jvm is not None:
            _Shared.jvm.end()
            _Shared.jvm = None
            atexit.unregister(end_shared_jvm)


@contextmanager
def java_errors(subject: str, doing: str) -> Iterator[None]:
    """Turn what py4j throws into `ClusterError` about `subject` while `doing`."""
    try:
        yield
    except Py4JJavaError as error:
        raise java_cluster_error(subject, doing, _reason(error)) from None
    except (Py4JError, OSError) as error:
        words = str(error).strip() or type(error).__name__
        raise ClusterError(
            subject,
            f"{doing}: the Java process of Kafka's client broke off ({words.splitlines()[0]})",
            "run the command again; a new process is started",
        ) from None


def java_cluster_error(subject: str, doing: str, reason: str) -> ClusterError:
    """One `ClusterError` for what Kafka's client said: `package.NameException: words`.

    Its code is the exception's name without that ending, `UnknownTopicOrPartition`.
    """
    name, words = error_name(reason), reason.partition(": ")[2].strip()
    said = f"{words.rstrip('.')} ({name})" if words else name
    return ClusterError(subject, f"{doing}: {said}", _HINTS.get(name, ""), code=name)


def error_name(reason: str) -> str:
    """Kafka's short name of an error, `UnknownTopicOrPartition`, from its text."""
    name = reason.partition(":")[0].rpartition(".")[2]
    return name.removesuffix("Exception") or name


def without_wrapping(reason: str) -> str:
    """The error itself, where futures have wrapped it into errors of their own."""
    while reason.startswith(_WRAPPINGS):
        reason = reason.partition(": ")[2]
    return reason


def _reason(error: Py4JJavaError) -> str:
    thrown: Any = error.java_exception
    cause = thrown.getCause()
    # A refused setting says which one in itself, what Admin makes of it only in its cause.
    if cause is not None and str(thrown.getClass().getName()) in (*_WRAPPERS, _KAFKA_EXCEPTION):
        thrown = cause
    return without_wrapping(str(thrown.toString()))


def _options(runtime: KafkaRuntime) -> list[str]:
    options = [
        f"-Xmx{_HEAP_MB}m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:-UsePerfData",
        "-XX:+ExitOnOutOfMemoryError",
        "-Djava.awt.headless=true",
        # The first thing on its stdout must be the port: no warnings of the JVM before it.
        "-Xlog:disable",
        "-Xlog:all=off",
        error_file_option(Path(tempfile.gettempdir())),
        *archive_options(class_archive(runtime, "kafka") or class_archive(runtime, "connect")),
    ]
    # An archive is good for its own class path, longer at the end at most; the last -cp counts.
    return [*options, "-cp", os.pathsep.join((runtime.class_path, find_jar_path()))]


_WRAPPERS = ("java.util.concurrent.ExecutionException", "java.util.concurrent.CompletionException")
_WRAPPINGS = tuple(f"{name}: " for name in _WRAPPERS)
_KAFKA_EXCEPTION = "org.apache.kafka.common.KafkaException"

_LACKS = "the principal under clusters.<name>.client lacks an ACL"
_HINTS = {
    "Timeout": NO_BROKER,
    "Disconnect": NO_BROKER,
    "Config": "check clusters.<name>.client and the bootstrap addresses",
    "SaslAuthentication": WRONG_USER,
    "SslAuthentication": "check the certificates under clusters.<name>.client",
    "ClusterAuthorization": f"{_LACKS} on the cluster",
    "TopicAuthorization": f"{_LACKS} on the topic",
    "GroupAuthorization": f"{_LACKS} on the group",
    "TransactionalIdAuthorization": f"{_LACKS} on the transactional id",
    "SecurityDisabled": "the brokers have no authorizer (authorizer.class.name)",
}
