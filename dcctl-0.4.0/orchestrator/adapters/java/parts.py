"""The committed lists of Java parts: which jars, of which size, with which checksum.

A list is a text file beside this module, `<set>.lock`, made by `make java-lock`. Each line names one
jar: `group:artifact:version  sha256  size_bytes`; lines that start with `#` are for readers. The
lists name no server: the parts are found by their coordinates in any Maven repository.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from orchestrator.errors import JavaError

ZOOKEEPER_SET = "zookeeper-3.8.4"
"""Name of the set that runs ZooKeeper alone, of the version that Kafka 3.9 ships."""

_SUFFIX = ".lock"


@dataclass(frozen=True, slots=True)
class Part:
    """One jar by its Maven coordinates, with what it must weigh and hash to."""

    group: str
    artifact: str
    version: str
    sha256: str
    size_bytes: int

    @property
    def coordinates(self) -> str:
        """`group:artifact:version`."""
        return f"{self.group}:{self.artifact}:{self.version}"

    @property
    def file_name(self) -> str:
        """Name of the jar, as every Maven repository has it."""
        return f"{self.artifact}-{self.version}.jar"

    @property
    def path(self) -> str:
        """Path of the jar below a Maven repository, and below the cache."""
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}/{self.file_name}"


@dataclass(frozen=True, slots=True)
class PartSet:
    """The jars that belong together, in class path order."""

    name: str
    parts: tuple[Part, ...]

    @property
    def size_bytes(self) -> int:
        """Size of all jars together."""
        return sum(part.size_bytes for part in self.parts)


def kafka_set(version: str) -> str:
    """Name of the set that runs Kafka, Connect and MirrorMaker (and ZooKeeper, where it still exists)."""
    return f"kafka-{version}"


def spark_set(version: str) -> str:
    """Name of the set with what PySpark of this version lacks to read Kafka."""
    return f"spark-connector-{version}"


def known_sets() -> tuple[str, ...]:
    """Names of all committed sets, sorted."""
    entries = files(__package__).iterdir()
    return tuple(
        sorted(entry.name.removesuffix(_SUFFIX) for entry in entries if entry.name.endswith(_SUFFIX))
    )


def kafka_versions() -> tuple[str, ...]:
    """Versions of Kafka that can be fetched, the oldest first."""
    versions = [name.removeprefix(kafka_set("")) for name in known_sets() if name.startswith(kafka_set(""))]
    return tuple(sorted(versions, key=lambda version: [int(number) for number in version.split(".")]))


def load_set(name: str) -> PartSet:
    """Read a committed list. Raises `JavaError` when there is none of this name."""
    if name not in known_sets():
        raise JavaError(
            name, "no list of its Java parts is known", f"lists exist for: {', '.join(known_sets())}"
        )
    text = files(__package__).joinpath(name + _SUFFIX).read_text(encoding="utf-8")
    return PartSet(name, tuple(_part(line) for line in text.splitlines() if line and line[0] != "#"))


def dump_set(part_set: PartSet, comment: str) -> str:
    """The text of a list; `load_set` reads it back."""
    head = "".join(f"# {line}\n" for line in comment.splitlines())
    return head + "".join(
        f"{part.coordinates}  {part.sha256}  {part.size_bytes}\n" for part in part_set.parts
    )


def _part(line: str) -> Part:
    coordinates, sha256, size = line.split()
    group, artifact, version = coordinates.split(":")
    return Part(group, artifact, version, sha256, int(size))
