"""What a comparison of a stretched cluster was made of, kept in a drill's folder: see `origins.kept`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from orchestrator.evidence.origins.compared import Logs
from orchestrator.evidence.origins.kept import FORMAT_VERSION, keep_as, read_kept, understood
from orchestrator.evidence.origins.told import read_ledgers
from orchestrator.evidence.sites.judged import SiteGone, SitesJudged, SitesRehearsed, judge_sites
from orchestrator.topology.durability.values import ClusterFate
from orchestrator.topology.model import Topology

INDEX = "sites.json"
# Of a run's result what is compared; the rest lies in its own folder.
_RESULT = ("run_id", "outcome", "reason")
_FATES: TypeAdapter[dict[str, ClusterFate]] = TypeAdapter(dict[str, ClusterFate])
_GONE: TypeAdapter[tuple[SiteGone, ...]] = TypeAdapter(tuple[SiteGone, ...])


def keep_sites(folder: Path, rehearsed: SitesRehearsed, logs: Logs) -> None:
    """Write everything but the ledgers. Raises `AuditError` where the folder cannot be written."""
    keep_as(folder, INDEX, _as_json(rehearsed), logs)


def sites_judged_again(folder: Path, topology: Topology) -> SitesJudged:
    """The same comparison, of what a folder keeps. Raises `AuditError` for what cannot be understood."""
    data, logs = read_kept(folder, INDEX)
    with understood(folder):
        rehearsed = _from_json(topology, data)
    return judge_sites(rehearsed, read_ledgers(topology, folder / "ledgers"), logs)


def _as_json(rehearsed: SitesRehearsed) -> dict[str, Any]:
    return {
        "format_version": FORMAT_VERSION,
        "cluster": rehearsed.cluster,
        "fates": _FATES.dump_python(dict(rehearsed.fates), mode="json"),
        "gone": [asdict(one) for one in rehearsed.gone],
        "results": [
            {**{name: one[name] for name in _RESULT}, "predicted": {"loss": one["predicted"]["loss"]}}
            for one in rehearsed.results
        ],
        "work_ended_s": rehearsed.work_ended_s,
        "differences": list(rehearsed.differences),
        "is_drained": rehearsed.is_drained,
        "stands_still": rehearsed.stands_still,
    }


def _from_json(topology: Topology, data: Mapping[str, Any]) -> SitesRehearsed:
    return SitesRehearsed(
        topology=topology,
        cluster=data["cluster"],
        fates=_FATES.validate_python(data["fates"]),
        gone=_GONE.validate_python(data["gone"]),
        results=tuple(data["results"]),
        work_ended_s=data["work_ended_s"],
        differences=tuple(data["differences"]),
        is_drained=data["is_drained"],
        stands_still=data["stands_still"],
    )
