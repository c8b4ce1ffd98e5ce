"""Which side is primary for each topic: as the moving verbs have recorded it, and whether the world agrees.

Without a record a topic's primary is the cluster that the file gives it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.ports.part import Part
from orchestrator.replication.engine import engine_of
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.gate import absent, gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.runs.primaries import Primary
from orchestrator.topology.model import Replication, Topology
from orchestrator.wording import listed

STEP = "record-primary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reality:
    """What the world shows of it. `growing`: cluster -> topics whose logs were seen to grow there.

    `connectors`: state by name, None where Connect does not tell. `is_in_parts`: applications were moved
    apart, on purpose.
    """

    connectors: Mapping[str, str] | None = None
    growing: Mapping[str, frozenset[str]] = field(default_factory=dict)
    is_in_parts: bool = False


def source_primary(
    part: Part[CoordinationState], topology: Topology, mirror: Replication, at: str, reality: Reality
) -> GateResult:
    """The gate `source-primary`: what is to be moved away from `at` is primary there.

    Where the world does not agree with the record that is said; it is for the other gates to refuse it.
    """
    limit = f"{at} is primary for every topic of the mirror"
    if part.value is None:
        return absent("source-primary", part, limit)
    rows = primary_rows(topology, mirror, part.value.primaries)
    known = [row for row in rows if row["run_id"]]
    elsewhere = [row for row in known if row["primary"] != at]
    runs = listed(dict.fromkeys(str(row["run_id"]) for row in elsewhere))
    places = listed(dict.fromkeys(str(row["primary"]) for row in elsewhere))
    reason = f"{listed(str(row['topic']) for row in elsewhere)}: primary at {places}, by run {runs}"
    if not elsewhere:
        drift = "; ".join(primary_drift(mirror, known, reality))
        by = "" if known else " by the file: no move of them is recorded"
        reason = f"{at} is primary for {listed(mirror.topics)}{by}" + (f"; but {drift}" if drift else "")
    return gate_result(
        "source-primary",
        "refused" if elsewhere else "ok",
        measured=f"recorded for {len(known)} of {len(mirror.topics)} topics",
        limit=limit,
        reason=reason,
        hint="dcctl history FILE lists the runs, dcctl status FILE shows where records are written"
        if elsewhere
        else "",
    )


def primary_rows(
    topology: Topology, mirror: Replication, primaries: Mapping[tuple[str, str], Primary] | None
) -> list[dict[str, Any]]:
    """Each topic of a mirror with its primary, for `status`; where nothing can be read, unknown (None)."""
    rows = []
    for name in mirror.topics:
        known = None if primaries is None else primaries.get((mirror.source, name))
        topic = topology.topic(name, mirror.source)
        by_file = topic.cluster if topic else mirror.source
        rows.append(
            {
                "topic": name,
                "primary": None if primaries is None else known.cluster if known else by_file,
                "since_s": known.since_s if known else None,
                "run_id": known.run_id if known else "",
            }
        )
    return rows


def primary_drift(mirror: Replication, rows: Iterable[Mapping[str, Any]], reality: Reality) -> list[str]:
    """Where record and world disagree, in sentences."""
    return list(_drift(mirror, list(rows), reality))


def grown_since_departure(
    values: Sequence[int], end_at_departure: int | None, *, was_lost: bool
) -> bool | None:
    """Whether a topic's log has grown since applications left it; None where it was not read twice since.

    `values`: its end offsets, all partitions together, the newest reading last; `end_at_departure`: where the
    move that led away has recorded that it ended, None where no move has led away. Of a side that `was_lost`
    the log may have been cut since: what then lies below that end is of the time since as well.
    """
    if end_at_departure is not None and not (was_lost and values and values[-1] < end_at_departure):
        values = [value for value in values if value >= end_at_departure]
    return values[-1] > values[0] if len(values) > 1 else None


def _drift(mirror: Replication, rows: list[Mapping[str, Any]], reality: Reality) -> Iterator[str]:
    moved = [str(row["topic"]) for row in rows if row["primary"] == mirror.target]
    at_home = [str(row["topic"]) for row in rows if row["primary"] == mirror.source]
    state = (reality.connectors or {}).get(engine_of(mirror).copier(mirror), "")
    if moved and at_home and not reality.is_in_parts:
        yield f"{listed(moved)} are primary at {mirror.target}, {listed(at_home)} at {mirror.source}"
    for cluster, wrong in ((mirror.source, moved), (mirror.target, at_home)):
        # With equal names the mirror itself writes them at the target.
        if cluster == mirror.target and mirror.keeps_names:
            continue
        written = [topic for topic in wrong if topic in reality.growing.get(cluster, frozenset())]
        if written:
            yield f"records are written to {listed(written)} at {cluster}, which is not primary for it"
    if at_home and not moved and state == "STOPPED":
        yield f"{mirror.source} is primary, and the mirror into {mirror.target} is stopped"
