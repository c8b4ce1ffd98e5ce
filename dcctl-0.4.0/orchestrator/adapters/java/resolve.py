"""Makes the committed lists: resolves each set's roots with jgo and writes down what came out.

Run by `make java-lock`, after a version was changed here. Needs the network once; the lists that it
writes are read by `parts`. Set `DCCTL_MAVEN_REPOSITORY` to resolve through another repository.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

import pyspark
from jgo.maven import MavenContext

from orchestrator.adapters.java.download import repository_url
from orchestrator.adapters.java.parts import ZOOKEEPER_SET, Part, PartSet, dump_set, kafka_set, spark_set

_KAFKA = "org.apache.kafka"
_SPARK = "org.apache.spark"


@dataclass(frozen=True, slots=True)
class _Roots:
    name: str
    roots: tuple[str, ...]
    why: str
    excluded: tuple[str, ...] = ()


def _kafka(version: str, *further: str) -> _Roots:
    artifacts = (
        *("kafka_2.13", "connect-runtime", "connect-mirror", "kafka-tools"),
        # Who may use Connect's REST interface, by user and password.
        "connect-basic-auth-extension",
    )
    roots = (*(f"{_KAFKA}:{artifact}:{version}" for artifact in artifacts), *further)
    return _Roots(kafka_set(version), roots, "Kafka's servers, Connect and its mirror connectors")


_SETS = (
    # Kafka 4 logs through SLF4J 1.7 and brings log4j2, but no binding between the two.
    _kafka("4.3.1", "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"),
    _kafka("3.9.1"),
    # After the first: what Kafka 3.9.1 adds, too: provided, or newer than ZooKeeper's own wish.
    _Roots(
        ZOOKEEPER_SET,
        (
            "org.apache.zookeeper:zookeeper:3.8.4",
            "io.dropwizard.metrics:metrics-core:4.1.12.1",
            "org.xerial.snappy:snappy-java:1.1.10.5",
            "org.slf4j:slf4j-reload4j:1.7.36",
            "org.slf4j:slf4j-api:1.7.36",
            "ch.qos.reload4j:reload4j:1.2.25",
            "commons-io:commons-io:2.14.0",
        ),
        "ZooKeeper for coordination",
        excluded=("ch.qos.logback:logback-core", "ch.qos.logback:logback-classic"),
    ),
    _Roots(
        spark_set("4.0.0"),
        (f"{_SPARK}:spark-sql-kafka-0-10_2.13:4.0.0",),
        "Spark's Kafka connector, without the jars that PySpark ships itself",
    ),
)


def main() -> None:
    """Write every list anew, beside this module."""
    context = MavenContext(remote_repos={"central": repository_url()}, timeout=60)
    for wanted in _SETS:
        parts = _resolved(context, wanted)
        if wanted.name.startswith("spark"):
            parts = _without_pyspark(parts)
        made = PartSet(wanted.name, parts)
        comment = f"{wanted.why}. Made by `make java-lock` from:\n" + "\n".join(
            f"  {root}" for root in wanted.roots
        )
        Path(__file__).with_name(f"{made.name}.lock").write_text(dump_set(made, comment), encoding="utf-8")
        sys.stdout.write(f"{made.name}: {len(parts)} jars, {made.size_bytes / 1e6:.1f} MB\n")


def _resolved(context: MavenContext, wanted: _Roots) -> tuple[Part, ...]:
    excluded = [context.project(*project.split(":")) for project in wanted.excluded]
    # "!" keeps jgo from letting each root's own dependencyManagement rule the others, as Maven would not.
    roots = [context.create_dependency(f"{root}!", excluded) for root in wanted.roots]
    inputs, transitive = context.resolver.resolve(roots)
    parts = []
    for dependency in (*inputs, *transitive):
        jar = Path(dependency.artifact.resolve()).read_bytes()
        parts.append(
            Part(
                dependency.groupId,
                dependency.artifactId,
                dependency.version,
                hashlib.sha256(jar).hexdigest(),
                len(jar),
            )
        )
    return tuple(sorted(parts, key=lambda part: part.coordinates))


def _without_pyspark(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Drop what `pyspark/jars` holds in any version: two versions on one class path are a lottery."""
    shipped = {jar.name.rpartition("-")[0] for jar in (Path(pyspark.__file__).parent / "jars").glob("*.jar")}
    return tuple(part for part in parts if part.artifact not in shipped)


if __name__ == "__main__":
    main()
