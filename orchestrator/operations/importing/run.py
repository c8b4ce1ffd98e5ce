"""From addresses to a topology file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.adapters.clock import SystemClock
from orchestrator.operations.importing.look import look_at_estate
from orchestrator.operations.importing.request import LookAt
from orchestrator.operations.importing.text import topology_text
from orchestrator.planning.importing.seen import Imported, SeenEstate
from orchestrator.planning.importing.topology import imported_topology
from orchestrator.ports.clock import utc_text
from orchestrator.topology.loading import Checked, check_text


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The file's text, what was guessed, and what the file's own rules say of it.

    `variables` are the environment variables that must hold the secrets from now on.
    """

    imported: Imported
    text: str
    checked: Checked
    variables: tuple[str, ...]


def import_estate(
    name: str,
    places: Sequence[LookAt],
    *,
    inventory: Path | None = None,
    coordination: str | None = None,
) -> ImportResult:
    """Look at the clusters and describe them. Raises as `look_at_estate` and `imported_topology` do."""
    seen = look_at_estate(name, places, inventory=inventory, coordination=coordination)
    imported = imported_topology(seen)
    text = topology_text(imported, _origin(seen))
    variables = tuple(variable for place in places for variable in place.variables)
    return ImportResult(imported, text, check_text(text, name), variables)


def _origin(seen: SeenEstate) -> str:
    listed = ", ".join(
        f"{name} ({len(cluster.observed.brokers)} brokers, cluster id {cluster.observed.cluster_id})"
        for name, cluster in seen.clusters.items()
    )
    at = utc_text(SystemClock().now_s())
    return f"Written by `dcctl import` at {at} from what could be seen of {listed}."
