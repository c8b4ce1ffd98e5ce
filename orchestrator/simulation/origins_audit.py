"""The audit of a drill with several active clusters: by where each record was produced."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.evidence.origins import Logs, read_ledgers, read_logs
from orchestrator.evidence.origins.judged import Judged, Rehearsed, judge_origins
from orchestrator.evidence.origins.kept import keep
from orchestrator.simulation.drill_audit import Measure, Measured
from orchestrator.simulation.drill_report import DrillFacts, Mark
from orchestrator.simulation.origins_report import origins_report
from orchestrator.simulation.running import Simulation
from orchestrator.values import TopicPartition

STANDS_STILL_S = 2.0

Ends = Mapping[str, Mapping[TopicPartition, int]]
"""By cluster, where the logs of the file's topics and of their copies end."""


@dataclass(frozen=True, slots=True)
class OriginsAudit:
    """See `drill_audit.DrillAudit`. `rehearsed`: what was done, once all of it is."""

    rehearsed: Callable[[DrillFacts, bool | None], Rehearsed]

    @contextmanager
    def ready(self, simulation: Simulation) -> Iterator[Measure]:
        """Nothing has to begin early."""

        def measure(facts: DrillFacts, _folder: Path) -> Measured:
            clusters = {name: simulation.cluster(name) for name in clusters_up(simulation)}
            before = ends_of(simulation)
            time.sleep(STANDS_STILL_S)
            stands_still = before == ends_of(simulation)
            logs = read_logs(simulation.topology, clusters)
            told = read_ledgers(simulation.topology, simulation.ledgers)
            rehearsed = self.rehearsed(facts, stands_still)
            return MeasuredByOrigin(judge_origins(rehearsed, told, logs), logs)

        yield measure


@dataclass(frozen=True, slots=True)
class MeasuredByOrigin:
    """See `drill_audit.Measured`."""

    judged: Judged
    logs: Logs

    def keep(self, folder: Path, ledgers: Path) -> None:  # noqa: ARG002 - they lie beside it
        """See `drill_audit.Measured`: for `dcctl audit`."""
        keep(folder, self.judged.measured.rehearsed, self.logs)

    def report(self, facts: DrillFacts, marks: Sequence[Mark]) -> dict[str, Any]:
        """See `drill_audit.Measured`."""
        return origins_report(facts, self.judged, marks)


def clusters_up(simulation: Simulation) -> list[str]:
    """The clusters of which every site is up."""
    return [
        name
        for name, cluster in simulation.topology.clusters.items()
        if all(simulation.sites[dc].state == "up" for dc in cluster.datacenters)
    ]


def ends_of(simulation: Simulation) -> Ends:
    """Of each cluster that is up, where its topics and its copies end."""
    topology = simulation.topology
    found = {}
    for name in clusters_up(simulation):
        cluster = simulation.cluster(name)
        described = cluster.topics(sorted(set(topology.names_at(name)) & set(cluster.topic_names())))
        found[name] = dict(cluster.end_offsets(tp for topic in described.values() for tp in topic.partitions))
    return found
