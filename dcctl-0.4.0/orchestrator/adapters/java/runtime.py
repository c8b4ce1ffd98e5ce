"""A Kafka that can be run: its jars from the cache, or from an installation that KAFKA_HOME names."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from importlib.metadata import version as installed_version
from pathlib import Path

from orchestrator.adapters.java.cache import cache_folder
from orchestrator.adapters.java.detection import Java
from orchestrator.adapters.java.download import fetch
from orchestrator.adapters.java.parts import (
    ZOOKEEPER_SET,
    PartSet,
    kafka_set,
    kafka_versions,
    load_set,
    spark_set,
)
from orchestrator.adapters.java.progress import OnProgress, silent
from orchestrator.errors import JavaError

_CLIENTS_JAR = re.compile(r"kafka-clients-(\d+\.\d+\.\d+.*)\.jar")


@dataclass(frozen=True, slots=True)
class KafkaRuntime:
    """Jars of one version, and a Java for them: Kafka, Connect and MirrorMaker (with ZooKeeper up to 3.9).

    `folder` holds what was prepared for exactly these jars and this Java: archives of loaded classes and
    the storage template. It may not exist yet.
    """

    name: str
    version: str
    java: Java
    jars: tuple[Path, ...]
    folder: Path

    @property
    def class_path(self) -> str:
        """All jars, in a fixed order: an archive of loaded classes is only good for that order."""
        return os.pathsep.join(str(jar) for jar in self.jars)

    def has_jar(self, artifact: str) -> bool:
        """Whether a jar `<artifact>-<version>.jar` is among them."""
        return any(re.match(re.escape(artifact) + r"-\d", jar.name) for jar in self.jars)


def kafka_runtime(version: str, java: Java, on_progress: OnProgress = silent) -> KafkaRuntime:
    """Kafka of this version; fetched at first use, offline afterwards.

    KAFKA_HOME, when set, names an installation whose `libs` are taken instead; its version must be the
    wanted one. Raises `JavaError` for a version that is not known here or an unfitting installation, and
    `DownloadError`.
    """
    home = os.environ.get("KAFKA_HOME")
    jars = _own_jars(Path(home), version) if home else fetch(_known(version), cache_folder(), on_progress)
    return _runtime("Kafka", version, java, jars)


def client_runtime(java: Java, on_progress: OnProgress = silent) -> KafkaRuntime:
    """Kafka's Java client, whichever version the clusters run: clients are good for older and newer ones.

    The installation that KAFKA_HOME names, of any version, or else the newest that is known here.
    Raises `JavaError` and `DownloadError`.
    """
    home = os.environ.get("KAFKA_HOME")
    version = _own_version(Path(home)) if home else kafka_versions()[-1]
    return kafka_runtime(version, java, on_progress)


def zookeeper_runtime(java: Java, on_progress: OnProgress = silent) -> KafkaRuntime:
    """ZooKeeper alone, for the operator's own coordination; KAFKA_HOME does not matter to it.

    Raises `DownloadError`.
    """
    version = ZOOKEEPER_SET.rpartition("-")[2]
    return _runtime("ZooKeeper", version, java, fetch(load_set(ZOOKEEPER_SET), cache_folder(), on_progress))


def spark_connector_jars(on_progress: OnProgress = silent) -> tuple[Path, ...]:
    """The jars that the installed PySpark lacks to read Kafka; fetched at first use.

    Raises `JavaError` when no list fits the installed PySpark, and `DownloadError`.
    """
    return fetch(load_set(spark_set(installed_version("pyspark"))), cache_folder(), on_progress)


def _runtime(name: str, version: str, java: Java, jars: tuple[Path, ...]) -> KafkaRuntime:
    identity = "\n".join((java.version, str(java.home), *(_stamp(jar) for jar in jars)))
    digest = hashlib.sha256(identity.encode()).hexdigest()[:12]
    folder = cache_folder() / "sets" / f"{name.lower()}-{version}-{digest}"
    return KafkaRuntime(name, version, java, jars, folder)


def _known(version: str) -> PartSet:
    known = kafka_versions()
    if version not in known:
        raise JavaError(
            f"Kafka {version}",
            f"is not one of the versions that dcctl can fetch: {', '.join(known)}",
            f"write one of them in the topology, or let KAFKA_HOME name an installation of {version}",
        )
    return load_set(kafka_set(version))


def _own_jars(home: Path, wanted: str) -> tuple[Path, ...]:
    found = _own_version(home)
    if found != wanted:
        raise JavaError(
            f"KAFKA_HOME ({home})",
            f"is Kafka {found}, but the topology wants {wanted}",
            "name an installation of that version, change the topology, or unset KAFKA_HOME so that dcctl "
            "fetches the right one",
        )
    return tuple(sorted((home / "libs").glob("*.jar")))


def _own_version(home: Path) -> str:
    jars = sorted((home / "libs").glob("*.jar"))
    found = [match[1] for jar in jars if (match := _CLIENTS_JAR.fullmatch(jar.name))]
    if not found:
        raise JavaError(
            f"KAFKA_HOME ({home})",
            "has no libs/kafka-clients-*.jar, so it is no Kafka installation",
            "correct it, or unset it so that dcctl fetches Kafka itself",
        )
    return ", ".join(found)


def _stamp(jar: Path) -> str:
    stat = jar.stat()
    return f"{jar} {stat.st_size} {stat.st_mtime_ns}"
