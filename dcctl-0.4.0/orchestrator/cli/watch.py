"""`dcctl watch`: the watcher, long-running."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from orchestrator.snapshot.watched import Watched
    from orchestrator.topology.model import Topology


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command("watch")(watch)


def watch(  # noqa: PLR0917 - typer passes them by name
    file: Path = typer.Argument(..., help="A topology file with addresses."),
    target: str = typer.Option("", "--target", metavar="CLUSTER", help="Only what is kept at this cluster."),
    at: str = typer.Option(
        "", "--at", metavar="DC", help="Only what is kept at clusters of this data centre."
    ),
    interval_s: float = typer.Option(0.5, "--interval", min=0.1, max=1.0, help="Seconds between rounds."),
    metrics_port: int = typer.Option(0, "--metrics-port", help="Serve Prometheus metrics on this port."),
    metrics_address: str = typer.Option("127.0.0.1", "--metrics-address", help="Address to serve them on."),
    log_file: Path | None = typer.Option(None, "--log-file", help="Append the log here, not to stderr."),
) -> None:
    """Keep where applications would go what a failover will need; runs until it is stopped."""
    import signal
    import threading

    from orchestrator.cli.files import given_topology
    from orchestrator.moves.support import refuse_unsupported
    from orchestrator.snapshot.live.identity import KnownClusters
    from orchestrator.snapshot.watched import watched_clusters
    from orchestrator.verbs.live.fact_copier import FactCopier
    from orchestrator.watch.log import watch_log
    from orchestrator.watch.watcher import Watcher

    topology = given_topology(file)
    refuse_unsupported(topology, "watch")
    clusters = _kept_at(topology, watched_clusters(topology, target or None), at)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with watch_log(log_file) as log:
        known = KnownClusters()
        watchers = [Watcher(topology, watched, log, interval_s, known) for watched in clusters]
        if metrics_port:
            from orchestrator.watch.metrics import serve_metrics

            serve_metrics(watchers, metrics_port, metrics_address, topology.consumers)
        copiers = [FactCopier(topology, watched, log, known) for watched in clusters if topology.coordination]
        for copier in copiers:
            threading.Thread(target=copier.run, name="facts", daemon=True).start()
        threads = [threading.Thread(target=watcher.run) for watcher in watchers]
        for thread in threads:
            thread.start()
        # A watcher that ended by itself ends the command, with an error status.
        while not stop.wait(1.0) and all(thread.is_alive() for thread in threads):
            pass
        for copier in copiers:
            copier.stop()
        for watcher in watchers:
            watcher.stop()
        for thread in threads:
            thread.join()
    if not stop.is_set():
        raise typer.Exit(1)


def _kept_at(topology: Topology, clusters: Sequence[Watched], dc: str) -> Sequence[Watched]:
    """Those that are kept at clusters of a data centre; without one all of them."""
    from orchestrator.errors import UsageError
    from orchestrator.moves.request import refuse_unknown_site

    if not dc:
        return clusters
    refuse_unknown_site(topology, dc, "--at")
    found = [one for one in clusters if dc in topology.clusters[one.kept_at].datacenters]
    if not found:
        raise UsageError(
            f"--at {dc}",
            "no application would come there, and no mirror leads there",
            "the watcher runs where applications go once their own site is lost",
        )
    return found
