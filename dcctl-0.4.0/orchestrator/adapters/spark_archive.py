"""A class data sharing archive for Spark's driver: a session starts in about two thirds of the time.

It is made once, by a driver that does what ours do (CSV and Parquet, aggregation, windows, a stateful
stream, Kafka's connector) and writes down at its end which classes it had loaded. The archive fits one
Java, one PySpark and one class path; where these change another one is made.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib.metadata import version as installed_version
from pathlib import Path

from orchestrator.adapters.java.cache import cache_folder
from orchestrator.adapters.java.class_archive import archive_name, whole_archive
from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import spark_connector_jars
from orchestrator.adapters.spark import spark_session

_TRAINING_TIMEOUT_S = 300.0
_STEM = "driver"
_UNREACHABLE = "127.0.0.1:1"


def spark_class_archive() -> Path | None:
    """The archive that fits the installed Java and Spark, or None where none was made yet."""
    return whole_archive(_folder(), _STEM)


def ensure_spark_class_archive() -> Path | None:
    """The archive, made now where it is missing (half a minute). None where it could not be made.

    It only saves time, so a failure is no error: sessions start without it.
    """
    made_before = spark_class_archive()
    if made_before is not None:
        return made_before
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        made = Path(scratch) / "classes.jsa"
        command = [sys.executable, "-m", "orchestrator.adapters.spark_archive", str(made)]
        environment = {**os.environ, "JAVA_HOME": str(find_java().home), "TMPDIR": scratch}
        try:
            subprocess.run(
                command, env=environment, capture_output=True, timeout=_TRAINING_TIMEOUT_S, check=True
            )
            for broken in folder.glob("*.jsa"):
                broken.unlink(missing_ok=True)
            return made.replace(folder / archive_name(_STEM, made.stat().st_size))
        except (OSError, subprocess.SubprocessError):
            return None


def _folder() -> Path:
    java = find_java()
    parts = (
        java.version,
        str(java.home),
        installed_version("pyspark"),
        sys.prefix,
        *map(str, spark_connector_jars()),
    )
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
    return cache_folder() / "sets" / f"spark-{installed_version('pyspark')}-{digest}"


def _train(archive: Path) -> None:
    """Be a driver like ours, and leave the archive at the end."""
    with tempfile.TemporaryDirectory() as folder:
        session = spark_session(
            "class archive",
            master="local[2]",
            jars=spark_connector_jars(),
            shuffle_partitions=2,
            scratch=Path(folder) / "scratch",
            recorded_archive=archive,
        )
        gateway = session.sparkContext._gateway  # noqa: SLF001 - the JVM has to be waited for
        _exercise(session, Path(folder))
        session.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()


def _exercise(session: object, folder: Path) -> None:
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415
    from pyspark.sql import SparkSession, Window  # noqa: PLC0415
    from pyspark.sql import functions as f  # noqa: PLC0415

    assert isinstance(session, SparkSession)  # noqa: S101 - for the type checker
    numbers = session.range(1000).select(
        f.col("id"), (f.col("id") % 7).cast("string").alias("key"), f.lit("a,1,2").alias("value")
    )
    numbers.write.option("header", True).csv(str(folder / "csv"))
    numbers.write.parquet(str(folder / "parquet"))
    rows = session.read.option("header", True).schema("id LONG, key STRING, value STRING")
    read = rows.csv(str(folder / "csv")).unionByName(session.read.parquet(str(folder / "parquet")))
    grouped = read.groupBy("key", "id").agg(f.count("*").alias("n"), f.max("id").alias("top")).cache()
    order = Window.partitionBy("key").orderBy("id").rowsBetween(Window.unboundedPreceding, -1)
    ranked = grouped.select("*", f.max("id").over(order).alias("before"))
    ranked.join(f.broadcast(grouped.groupBy("key").count()), "key", "left").groupBy("key").agg(
        f.sum(f.when(f.col("before") > f.col("id"), 1).otherwise(0)), f.collect_list("id")
    ).collect()
    grouped.select(f.explode(f.sequence("n", f.lit(3))).alias("n")).distinct().collect()
    read.toArrow()
    stream = session.readStream.schema(read.schema).option("maxFilesPerTrigger", 1)
    query = (
        stream.parquet(str(folder / "parquet"))
        .groupBy("key")
        .count()
        .writeStream.outputMode("update")
        .foreachBatch(lambda counts, _batch: counts.collect() and None)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    kafka = session.read.format("kafka").option("subscribe", "none")
    kafka = kafka.option("kafka.bootstrap.servers", _UNREACHABLE)
    kafka = kafka.option("kafka.default.api.timeout.ms", 700).option("kafka.request.timeout.ms", 500)
    # Nothing listens there; the classes are loaded all the same.
    with suppress(PySparkException, Py4JError):
        kafka.load().selectExpr("split(CAST(value AS STRING), ',', 4) AS fields").collect()


if __name__ == "__main__":
    _train(Path(sys.argv[1]))
