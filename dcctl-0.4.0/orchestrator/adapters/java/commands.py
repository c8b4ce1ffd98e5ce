"""Command lines of the servers, for whoever starts them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from orchestrator.adapters.java.class_archive import archive_options, error_file_option, whole_archive
from orchestrator.adapters.java.runtime import KafkaRuntime
from orchestrator.errors import JavaError

Role = Literal["kafka", "zookeeper", "connect"]

_MAIN_CLASS_AND_JAR: dict[Role, tuple[str, str]] = {
    "kafka": ("kafka.Kafka", "kafka_2.13"),
    "zookeeper": ("org.apache.zookeeper.server.quorum.QuorumPeerMain", "zookeeper"),
    "connect": ("org.apache.kafka.connect.cli.ConnectDistributed", "connect-runtime"),
}


def server_command(
    runtime: KafkaRuntime,
    role: Role,
    *,
    properties: Path,
    logs: Path,
    heap_mb: int,
    options: Sequence[str] = (),
) -> tuple[list[str], dict[str, str]]:
    """Command line and further environment of one server.

    `properties` is the server's own configuration file, `options` are further ones of its JVM. `logs` is
    made if need be; the server writes `<role>.log` there, rolled at 10 MB with two older ones kept, a crash
    is told there, and its native libraries are unpacked to `logs/tmp`, so that a killed one leaves nothing
    outside. An archive of loaded classes is used if there is one. The class path stands in the environment:
    the command line stays readable.
    """
    main, artifact = _MAIN_CLASS_AND_JAR[role]
    if not runtime.has_jar(artifact):
        raise JavaError(
            f"{runtime.name} {runtime.version}",
            f"cannot run as {role}: it has no {artifact}-*.jar",
            "Kafka up to 3.9 brings a ZooKeeper, later ones need `metadata: kraft`"
            if role == "zookeeper"
            else "",
        )
    (logs / "tmp").mkdir(parents=True, exist_ok=True)
    command = [
        str(runtime.java.executable),
        f"-Xmx{heap_mb}m",
        *_jvm_options(class_archive(runtime, role), logs),
        f"-Djava.io.tmpdir={logs / 'tmp'}",
        f"-Ddcctl.log={logs / role}.log",
        *_logging_options(runtime),
        *options,
        main,
        str(properties),
    ]
    return command, {"CLASSPATH": runtime.class_path}


def class_archive(runtime: KafkaRuntime, role: Role) -> Path | None:
    """The archive of the classes that this server loads, once it was made; None otherwise."""
    return whole_archive(runtime.folder, role)


def _jvm_options(archive: Path | None, logs: Path) -> list[str]:
    return [
        "-XX:+UseSerialGC",  # least memory and threads: many servers share one machine
        "-XX:TieredStopAtLevel=1",  # start-up time counts, and the optimising compiler costs it
        "-XX:-UsePerfData",  # no files in the system's temporary folder
        "-XX:+ExitOnOutOfMemoryError",
        "-Djava.awt.headless=true",
        error_file_option(logs),
        *archive_options(archive),
    ]


def _logging_options(runtime: KafkaRuntime) -> list[str]:
    folder = Path(__file__).parent
    if runtime.has_jar("reload4j"):
        return [f"-Dlog4j.configuration={(folder / 'reload4j.properties').as_uri()}"]
    return [
        f"-Dlog4j2.configurationFile={(folder / 'log4j2.properties').as_uri()}",
        "-Dlog4j2.disableJmx=true",
    ]
