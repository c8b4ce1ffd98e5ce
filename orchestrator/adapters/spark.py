"""Spark sessions, and Kafka as Spark reads it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.adapters.java.calls import keep_py4j_quiet
from orchestrator.adapters.java.class_archive import archive_options, error_file_option
from orchestrator.adapters.java.client_properties import java_client_properties
from orchestrator.errors import AuditError
from orchestrator.values import TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Sessions of minutes, not days: the C1 compiler alone and the serial collector start soonest.
# Without performance data none of them writes to the system's temporary folder.
_JVM_OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    # With one tier a JVM reserves 48 MB for code. A session's generated code fills them after some hundred
    # queries, and the next query fails; what is reserved and not used costs nothing.
    "-XX:ReservedCodeCacheSize=240m",
    "-XX:-UsePerfData",
)


def spark_session(
    app_name: str,
    *,
    master: str = "local[*]",
    jars: Sequence[Path] = (),
    shuffle_partitions: int = 4,
    driver_memory_mb: int = 1024,
    scratch: Path | None = None,
    class_archive: Path | None = None,
    recorded_archive: Path | None = None,
    conf: Mapping[str, str] | None = None,
    log: Path | None = None,
) -> SparkSession:
    """A session on `master`, with Kafka's connector from `jars`.

    `scratch` is where it may spill, and where its JVM works: a crash is told there, relative paths begin
    there, and temporary files lie there: a JVM that is killed leaves them. `class_archive` is a class data
    sharing archive, used where it fits the JVM and the class path, ignored where it does not or is broken;
    `recorded_archive` is where one is written at the JVM's end; `log` where the JVM's own words go, which
    otherwise reach the terminal.
    Raises `AuditError` where Spark does not start.
    """
    # The launcher is a JVM of its own that only prints a command line: let it start as fast.
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", " ".join(_JVM_OPTIONS))
    # Spark would resolve the host's name, which need not be one that this machine can bind.
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - a second that most commands do not need
    from pyspark.sql import SparkSession  # noqa: PLC0415

    options = [*_JVM_OPTIONS, "-Xlog:disable", "-Xlog:all=off", *archive_options(class_archive)]
    folder = _work_folder(scratch, log)
    options += [error_file_option(folder), f"-Djava.io.tmpdir={folder}"]
    if recorded_archive is not None:
        options.append(f"-XX:ArchiveClassesAtExit={recorded_archive}")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": f"{driver_memory_mb}m",
        "spark.driver.extraJavaOptions": " ".join(f'"{option}"' for option in options),
        "spark.sql.shuffle.partitions": str(shuffle_partitions),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "false",
        # Everything here is small and on one machine: planning anew and compressing cost more than they save.
        "spark.sql.adaptive.enabled": "false",
        "spark.shuffle.compress": "false",
        "spark.sql.inMemoryColumnarStorage.compressed": "false",
        # An audit compiles more than the 100 classes that are remembered by default: the next would anew.
        "spark.sql.codegen.cache.maxEntries": "1000",
        # Else each call on a column asks the JVM thrice more, to note which line of ours made it.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false",
        **_jar_settings(master, jars),
        **({"spark.local.dir": str(folder)} if scratch is not None else {}),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **(conf or {}),
    }
    configuration = SparkConf().setAppName(app_name).setMaster(master).setAll(list(settings.items()))
    with translated_spark_errors(f"Spark at {master}", "starting a session"):
        gateway = _gateway(configuration, folder, log)
        if gateway is None:
            return SparkSession.builder.config(conf=configuration).getOrCreate()
        return SparkSession(SparkContext(conf=configuration, gateway=gateway))


def small_table(spark: SparkSession, rows: Iterable[Sequence[Any]], schema: str) -> DataFrame:
    """Rows of this process as a DataFrame, with the columns of `schema` (DDL) in the rows' order.

    Spark takes them from Arrow as a relation of its own. `createDataFrame` makes them an RDD of Python's, for
    which each executor would start Python workers, each time that the table is read.
    """
    import pyarrow as pa  # noqa: PLC0415 - see spark_session
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415
    from pyspark.sql.types import StructType  # noqa: PLC0415

    columns = StructType.fromDDL(schema)
    arrow = to_arrow_schema(columns)
    values = list(zip(*rows, strict=True)) or [()] * len(arrow)
    arrays = [pa.array(column, field.type) for column, field in zip(values, arrow, strict=True)]
    return spark.createDataFrame(pa.Table.from_arrays(arrays, schema=arrow), columns)


def _work_folder(scratch: Path | None, log: Path | None) -> Path:
    """Where the JVM works: it leaves folders of its own there, and its crashes. Made if need be."""
    folder = scratch or (log.parent if log else Path(tempfile.gettempdir()))
    folder.mkdir(parents=True, exist_ok=True)
    return folder.absolute()


def _gateway(configuration: Any, folder: Path, log: Path | None) -> Any:
    """Spark's JVM, started as PySpark does it, but in `folder`, and with what it says going to `log`.

    None, that is PySpark's own way, where a JVM already runs in this process.
    """
    from pyspark import SparkContext  # noqa: PLC0415 - see spark_session
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415

    keep_py4j_quiet()
    if SparkContext._gateway is not None:  # noqa: SLF001 - PySpark has no other way to ask
        return None
    if log is None:
        return launch_gateway(configuration, popen_kwargs={"cwd": folder})
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as said:
        return launch_gateway(configuration, popen_kwargs={"cwd": folder, "stdout": said, "stderr": said})


def kafka_options(properties: Mapping[str, Any]) -> dict[str, str]:
    """librdkafka's client properties as options of Spark's Kafka source (the Java client's names)."""
    return {f"kafka.{key}": value for key, value in java_client_properties(properties).items()}


def offsets_json(offsets: Mapping[TopicPartition, int]) -> str:
    """Offsets per partition as Spark's `startingOffsets` and `endingOffsets` want them."""
    by_topic: dict[str, dict[str, int]] = {}
    for tp, offset in sorted(offsets.items()):
        by_topic.setdefault(tp.topic, {})[str(tp.partition)] = offset
    return json.dumps(by_topic)


@contextmanager
def translated_spark_errors(subject: str, doing: str) -> Iterator[None]:
    """Turn what PySpark and py4j throw into `AuditError` about `subject` while `doing`."""
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        yield
    except (PySparkException, Py4JError, OSError) as error:
        raise AuditError(subject, f"{doing}: {_words(error)}", _hint(str(error))) from None


def _jar_settings(master: str, jars: Sequence[Path]) -> dict[str, str]:
    if not jars:
        return {}
    # In one process the class path suffices; executors elsewhere must be sent the jars.
    if master.startswith("local"):
        return {"spark.driver.extraClassPath": ":".join(str(jar) for jar in jars)}
    return {"spark.jars": ",".join(str(jar) for jar in jars)}


def _words(error: Exception) -> str:
    """What Java said first, without its stack: py4j's own first line only names the call."""
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415

    text = str(error.java_exception.toString()) if isinstance(error, Py4JJavaError) else str(error)
    return (text.strip() or type(error).__name__).splitlines()[0]


def _hint(text: str) -> str:
    if "JAVA_GATEWAY_EXITED" in text:
        return "Spark needs Java 17 or 21: is it installed, and is there memory left?"
    if "Failed to find data source: kafka" in text:
        return "Spark's Kafka connector is not on the class path"
    if "TimeoutException" in text or "No resolvable bootstrap" in text:
        return "does the cluster answer, and are its bootstrap addresses right?"
    return ""
