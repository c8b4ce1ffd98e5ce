"""What the actions of one apply share: its clusters, its lock, and a fresh look at everything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from orchestrator.errors import DcctlError
from orchestrator.moves.ports import EstateRecord
from orchestrator.operations.layout.ports import LayoutCluster
from orchestrator.operations.run_session import RunSession
from orchestrator.planning.layout.applied import Applied
from orchestrator.planning.plan import Plan
from orchestrator.topology.model import Topology


class LayoutSession(RunSession):
    """`plan_again` observes and plans anew; `keep` writes the record of what was applied."""

    def __init__(
        self,
        topology: Topology,
        folder: Path,
        *,
        run_id: str,
        clusters: Mapping[str, LayoutCluster],
        plan_again: Callable[[], tuple[Plan, Applied]],
        keep: Callable[[Applied], None],
        estate_record: EstateRecord,
    ) -> None:
        super().__init__(topology, folder, run_id=run_id, estate_record=estate_record)
        self._layout_clusters = clusters
        self.plan_again = plan_again
        self.keep = keep

    def at(self, cluster: object) -> LayoutCluster:
        """The cluster that a step names. Raises `DcctlError` where the file has none of that name."""
        if cluster not in self._layout_clusters:
            raise DcctlError(f"cluster {cluster}", "is not in the topology file")
        return self._layout_clusters[str(cluster)]
