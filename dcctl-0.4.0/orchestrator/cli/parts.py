"""`dcctl parts`: the Java parts, fetched once and kept in the user's cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from orchestrator.cli.options import JSON

if TYPE_CHECKING:
    from threading import Event

    from orchestrator.adapters.java.progress import OnProgress
    from orchestrator.adapters.java.runtime import KafkaRuntime


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    parts = typer.Typer(
        no_args_is_help=True, help="Kafka's, ZooKeeper's and Spark's Java parts in the cache."
    )
    parts.command("fetch")(fetch)
    parts.command("list")(list_parts)
    app.add_typer(parts, name="parts")


def fetch(
    kafka: list[str] = typer.Option(["4.3.1"], "--kafka", help="A version of Kafka; can be repeated."),
    archives: bool = typer.Option(
        True, help="Run each server once for an archive of the classes that it loads: faster starts."
    ),
    verify: bool = typer.Option(
        False, "--verify", help="Read all jars again; broken ones are fetched again."
    ),
    as_json: bool = JSON,
) -> None:
    """Fetch whatever a simulation needs, so that it starts quickly and without a network."""
    from orchestrator.adapters.java.detection import find_java
    from orchestrator.adapters.java.runtime import kafka_runtime, spark_connector_jars, zookeeper_runtime
    from orchestrator.cli.output import emit

    java = find_java()
    if verify:
        _remove_damaged()
    with _progress() as on_progress:
        runtimes = [kafka_runtime(version, java, on_progress) for version in kafka]
        runtimes.append(zookeeper_runtime(java, on_progress))
        connector = spark_connector_jars(on_progress)
        prepared = _prepare(runtimes, on_progress) if archives else []
    data = {
        "java": {"executable": str(java.executable), "version": java.version},
        "runtimes": [
            {"name": r.name, "version": r.version, "jars": len(r.jars), "folder": str(r.folder)}
            for r in runtimes
        ],
        "spark_connector": [str(jar) for jar in connector],
        "archives": prepared,
    }
    names = ", ".join(f"{r.name} {r.version}" for r in runtimes)
    emit(data, as_json=as_json, summary=f"{names} and Spark's connector are there, for Java {java.major}")


def list_parts(as_json: bool = JSON) -> None:
    """Say which sets of parts are known, and what of them the cache holds."""
    from rich.console import Console
    from rich.table import Table

    from orchestrator.adapters.java.cache import cache_folder, missing_parts
    from orchestrator.adapters.java.parts import known_sets, load_set
    from orchestrator.cli.output import emit

    cache = cache_folder()
    rows: list[dict[str, Any]] = []
    for name in known_sets():
        wanted = load_set(name)
        missing = missing_parts(cache, wanted.parts)
        rows.append(
            {
                "set": name,
                "parts": len(wanted.parts),
                "size_bytes": wanted.size_bytes,
                "missing_parts": len(missing),
                "missing_bytes": sum(part.size_bytes for part in missing),
            }
        )

    def render(console: Console) -> None:
        table = Table("set", "jars", "size", "in the cache")
        for row in rows:
            there = "complete" if not row["missing_parts"] else f"{row['missing_parts']} jars missing"
            table.add_row(row["set"], str(row["parts"]), f"{row['size_bytes'] / 1e6:.1f} MB", there)
        console.print(table)

    emit({"cache": str(cache), "sets": rows}, as_json=as_json, summary=f"cache: {cache}", render=render)


def _remove_damaged() -> None:
    from orchestrator.adapters.java.cache import cache_folder
    from orchestrator.adapters.java.download import damaged_parts
    from orchestrator.adapters.java.parts import known_sets, load_set
    from orchestrator.cli.output import err_console

    for name in known_sets():
        for part in damaged_parts(load_set(name), cache_folder()):
            err_console.print(f"{part.file_name} was broken and is fetched again")


def _prepare(runtimes: Sequence[KafkaRuntime], on_progress: OnProgress) -> list[str]:
    """Templates and archives, side by side. A failure is told and costs nothing but time."""
    from concurrent.futures import ThreadPoolExecutor
    from threading import Event

    from orchestrator.adapters.spark_archive import ensure_spark_class_archive, spark_class_archive

    given_up = Event()
    with ThreadPoolExecutor() as threads:
        jobs = [threads.submit(_prepare_servers, runtime, on_progress, given_up) for runtime in runtimes]
        try:
            if spark_class_archive() is None:
                on_progress("Spark: running it once to archive the classes that it loads", 0, 0)
            spark = ensure_spark_class_archive()
            made = [path for job in jobs for path in job.result()]
        except BaseException:
            given_up.set()
            raise
    if spark is None:
        on_progress("Spark: no archive could be made; sessions will start more slowly", 0, 0)
        return made
    return [*made, str(spark)]


def _prepare_servers(runtime: KafkaRuntime, on_progress: OnProgress, given_up: Event) -> list[str]:
    from orchestrator.adapters.java.archives import ensure_cds_archives
    from orchestrator.adapters.java.formatting import metadata_template
    from orchestrator.errors import DcctlError
    from orchestrator.replication.engine import all_rehearsed

    try:
        if runtime.name == "Kafka":
            metadata_template(runtime)
        return [str(path) for path in ensure_cds_archives(runtime, on_progress, given_up, all_rehearsed)]
    except DcctlError as error:
        on_progress(f"{runtime.name} {runtime.version}: servers will start more slowly: {error}", 0, 0)
        return []


@contextmanager
def _progress() -> Iterator[OnProgress]:
    """A bar for what has a size (a line, without a terminal), and a line for what has none; all on stderr."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

    from orchestrator.cli.output import err_console

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=err_console, transient=True) as bar:

        def on_progress(what: str, done_bytes: int, total_bytes: int) -> None:
            if not total_bytes:
                bar.console.print(what)
                return
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total_bytes)
                if not bar.console.is_terminal:
                    bar.console.print(f"{what}: fetching {total_bytes / 1e6:.1f} MB")
            bar.update(tasks[what], completed=done_bytes)

        yield on_progress
