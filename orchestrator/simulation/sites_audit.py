"""The audit of a drill of one cluster over several sites."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.evidence.origins import Logs, read_ledgers, read_logs
from orchestrator.evidence.sites.judged import SitesJudged, SitesRehearsed, judge_sites
from orchestrator.evidence.sites.kept import keep_sites
from orchestrator.simulation.drill_audit import Measure, Measured
from orchestrator.simulation.drill_report import DrillFacts, Mark
from orchestrator.simulation.origins_audit import STANDS_STILL_S, ends_of
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.sites_report import sites_report


@dataclass(frozen=True, slots=True)
class SitesAudit:
    """See `drill_audit.DrillAudit`. `rehearsed`: what was done, once all of it is."""

    rehearsed: Callable[[DrillFacts, bool], SitesRehearsed]

    @contextmanager
    def ready(self, simulation: Simulation) -> Iterator[Measure]:
        """Nothing has to begin early."""

        def measure(facts: DrillFacts, _folder: Path) -> Measured:
            before = ends_of(simulation)
            time.sleep(STANDS_STILL_S)
            rehearsed = self.rehearsed(facts, before == ends_of(simulation))
            logs = read_logs(simulation.topology, {rehearsed.cluster: simulation.cluster(rehearsed.cluster)})
            told = read_ledgers(simulation.topology, simulation.ledgers)
            return MeasuredSites(judge_sites(rehearsed, told, logs), logs)

        yield measure


@dataclass(frozen=True, slots=True)
class MeasuredSites:
    """See `drill_audit.Measured`."""

    judged: SitesJudged
    logs: Logs

    def keep(self, folder: Path, ledgers: Path) -> None:  # noqa: ARG002 - they lie beside it
        """See `drill_audit.Measured`: for `dcctl audit`."""
        keep_sites(folder, self.judged.measured.rehearsed, self.logs)

    def report(self, facts: DrillFacts, marks: Sequence[Mark]) -> dict[str, Any]:
        """See `drill_audit.Measured`."""
        return sites_report(facts, self.judged, marks)
