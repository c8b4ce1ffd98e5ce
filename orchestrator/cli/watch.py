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
        "",
        "--at",
        metavar="DC",
        help="Where it runs: the site, or of mirrors only what is kept at clusters of this data centre.",
    ),
    interval_s: float = typer.Option(0.5, "--interval", min=0.1, max=1.0, help="Seconds between rounds."),
    metrics_port: int = typer.Option(0, "--metrics-port", help="Serve Prometheus metrics on this port."),
    metrics_address: str = typer.Option("127.0.0.1", "--metrics-address", help="Address to serve them on."),
    log_file: Path | None = typer.Option(None, "--log-file", help="Append the log here, not to stderr."),
    folder: Path | None = typer.Option(
        None,
        "--folder",
        metavar="DIR",
        help="Of a file with one cluster: where an hour of readings is kept; default: the state folder.",
    ),
) -> None:
    """Keep where applications would go what a failover will need; runs until it is stopped.

    Of a file with one cluster: read in each round who is up, leads and is in sync, and time what happens.
    """
    from orchestrator.cli.files import given_topology
    from orchestrator.errors import UsageError

    topology = given_topology(file)
    metrics = metrics_port, metrics_address
    if topology.is_one_cluster:
        if target:
            raise UsageError(
                f"--target {target}", "the file has no mirror", "--at DC: the site where it runs"
            )
        _watch_within(topology, at, interval_s, metrics, log_file, folder)
        return
    if folder is not None:
        raise UsageError(f"--folder {folder}", "is for a file with one cluster; this one has mirrors")
    _watch_mirrors(topology, (target, at), interval_s, metrics, log_file)


def _watch_mirrors(
    topology: Topology,
    which: tuple[str, str],
    interval_s: float,
    metrics: tuple[int, str],
    log_file: Path | None,
) -> None:
    """What is kept at other clusters; `which`: the cluster, and the data centre, or empty for all."""
    import signal
    import threading

    from orchestrator.moves.support import refuse_unsupported
    from orchestrator.snapshot.live.identity import KnownClusters
    from orchestrator.snapshot.watched import watched_clusters
    from orchestrator.verbs.live.fact_copier import FactCopier
    from orchestrator.watch.log import watch_log
    from orchestrator.watch.watcher import Watcher

    refuse_unsupported(topology, "watch")
    target, at = which
    clusters = _kept_at(topology, watched_clusters(topology, target or None), at)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with watch_log(log_file) as log:
        known = KnownClusters()
        watchers = [Watcher(topology, watched, log, interval_s, known) for watched in clusters]
        port, address = metrics
        if port:
            from orchestrator.watch.metrics import serve_metrics

            serve_metrics(watchers, port, address, topology.consumers)
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


def _watch_within(  # noqa: PLR0917 - the options of `watch`
    topology: Topology,
    at: str,
    interval_s: float,
    metrics: tuple[int, str],
    log_file: Path | None,
    folder: Path | None,
) -> None:
    """The one cluster of a file, as seen from one of its sites."""
    import signal

    from orchestrator.runs.live.state_folder import state_folder
    from orchestrator.watch.log import watch_log
    from orchestrator.watch.within_cluster.gauges import serve_gauges
    from orchestrator.watch.within_cluster.watcher import ClusterWatcher

    (cluster,) = topology.clusters
    site = _main_site(topology, cluster, at)
    place = folder or state_folder() / "watched" / topology.name / site
    with watch_log(log_file) as log:
        watcher = ClusterWatcher(topology, cluster, site, log, interval_s=interval_s, folder=place)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: watcher.stop())
        port, address = metrics
        if port:
            serve_gauges(watcher, port, address)
        watcher.run()


def _main_site(topology: Topology, cluster: str, at: str) -> str:
    """Where the watcher runs. Each site that has brokers needs one of its own."""
    from orchestrator.errors import UsageError
    from orchestrator.moves.request import refuse_unknown_site
    from orchestrator.watch.within_cluster.said import main_sites
    from orchestrator.wording import listed

    sites = main_sites(topology, cluster)
    if at:
        refuse_unknown_site(topology, at, "--at")
        if at in sites:
            return at
        raise UsageError(f"--at {at}", f"no broker of {cluster} is there", f"run it at {listed(sites)}")
    if len(sites) == 1:
        return sites[0]
    ways = " and one ".join(f"--at {site}" for site in sites)
    raise UsageError("watch", f"{cluster} is at several sites", f"say at which one it runs: one {ways}")


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
