"""The figures at the head of a report: what was lost, for how long, what was read again and skipped. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from orchestrator.evidence.audit.engines import ENGINE
from orchestrator.evidence.report.figures import counted, duration, joined, number
from orchestrator.evidence.report.model import Report
from orchestrator.evidence.report.model_context import ObjectiveName
from orchestrator.evidence.report.origins_view import Sums, sums_of
from orchestrator.evidence.report.summary import (
    Journey,
    Totals,
    consumer_rows,
    is_refused,
    journey,
    totals,
)

Tone = Literal["good", "bad", "unsure", "quiet"]
NOTHING = "–"
"""Where a figure does not exist for a kind of run, in contrast to one that could not be measured."""


@dataclass(frozen=True, slots=True)
class Tile:
    """One figure with its name; `text` stands in place of a figure. `notes` and `warnings` are sentences."""

    label: str
    tone: Tone
    records: int | None = None
    seconds: float | None = None
    text: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The figure as people read it."""
        if self.text:
            return self.text
        return duration(self.seconds) if self.seconds is not None else number(self.records)


@dataclass(frozen=True, slots=True)
class ObjectiveRow:
    """One recovery objective beside what was measured; `objective` is `NOTHING` where the file states
    none.
    """

    name: str
    meaning: str
    objective: str
    measured: str
    outcome: str


_OBJECTIVES: tuple[tuple[ObjectiveName, str, str], ...] = (
    ("rto_s", "RTO, recovery time", "the longest that any client was out of service"),
    ("rpo_records", "RPO, in records", "acknowledged records that the side that took over did not have"),
    ("rpo_s", "RPO, in seconds", "how long before the fault the oldest of them had been acknowledged"),
)


def objective_rows(report: Report) -> tuple[ObjectiveRow, ...]:
    """RTO and RPO, each with its objective, if the topology file states one."""
    rows = []
    for name, title, meaning in _OBJECTIVES:
        stated, measured = report.objectives.get(name), getattr(report.recovery, name)
        in_words = number if name == "rpo_records" else duration
        rows.append(
            ObjectiveRow(
                name=title,
                meaning=meaning,
                objective=NOTHING if stated is None else in_words(_whole(stated.objective)),
                measured=in_words(measured, unknown="not measured"),
                outcome="none stated" if stated is None else stated.outcome,
            )
        )
    return tuple(rows)


def _whole(value: float) -> float:
    return int(value) if value == int(value) else value


def missed(report: Report) -> tuple[str, ...]:
    """Objectives that were missed, in words."""
    return tuple(
        f"{row.name}: {row.measured}, and {row.objective} was the objective"
        for row in objective_rows(report)
        if row.outcome == "missed"
    )


def tiles(report: Report) -> tuple[Tile, ...]:
    """Loss, time out of service, records read again, records skipped; one whose objective was missed says
    so.
    """
    figures, trip = totals(report), journey(report)
    if report.readings:
        found = _of_origins(report, sums_of(report))
    elif trip is not None:
        found = (_loss_of(trip, figures), _outage_of(trip), _reread_of(trip), _skipped_of(trip))
    elif is_refused(report):
        return _loss(report, figures), *_refused()
    else:
        found = (_loss(report, figures), _outage(report), _reread(report, figures), _skipped(figures))
    loss, outage, *others = found
    return _held_against(report, loss, "rpo_records"), _held_against(report, outage, "rto_s"), *others


def _held_against(report: Report, tile: Tile, name: ObjectiveName) -> Tile:
    stated = report.objectives.get(name)
    if stated is None or stated.outcome != "missed":
        return tile
    title, in_words = ("RPO", number) if name == "rpo_records" else ("RTO", duration)
    measured, wanted = in_words(stated.measured, unknown="not over"), in_words(_whole(stated.objective))
    return replace(
        tile, tone="bad", warnings=(*tile.warnings, f"{title} {measured}: the objective, {wanted}, is missed")
    )


def _loss(report: Report, figures: Totals) -> Tile:
    tail, hole = figures.tail, figures.hole
    lost = None if tail is None or hole is None else tail + hole
    within = None
    if tail is not None and figures.at_most is not None:
        within = (figures.at_least or 0) <= tail <= figures.at_most
    notes = []
    if figures.at_most is not None:
        notes.append(f"stated: {number(figures.expected)} expected, {number(figures.at_most)} at most")
    elif report.clusters:
        notes.append("no complete prediction")
    if report.recovery.rpo_s:
        notes.append(f"the oldest acknowledged {duration(report.recovery.rpo_s)} before the fault")
    tone: Tone = "good" if within else "quiet"
    if lost is None:
        tone = "unsure"
    elif hole or within is False:
        tone = "bad"
    return Tile(
        "Acknowledged records lost (RPO)",
        tone,
        records=lost,
        notes=tuple(notes),
        warnings=(f"{counted(hole, 'record')} of them missing below what was copied: holes",) if hole else (),
    )


def _outage(report: Report) -> Tile:
    label, rto = "Out of service (RTO)", report.rto
    if rto.missing:
        return Tile(label, "bad", text="not over", notes=(f"not back: {joined(rto.missing)}",))
    if rto.seconds is None:
        return Tile(label, "unsure", notes=("how long is not known",))
    first = rto.decision_to_first_ack_s
    note = "longest of all clients"
    if first is not None:
        note = f"{duration(first)} from the decision to the first write"
    return Tile(label, "quiet", seconds=rto.seconds, notes=(note,))


def _reread(report: Report, figures: Totals) -> Tile:
    label, compared, consumers = "Records read again", figures.comparison, consumer_rows(report)
    note = f"no figure for {ENGINE.engine}'s own offsets"
    if compared is not None:
        note = f"{ENGINE.engine}'s own offsets: {number(compared.engine)}"
        if compared.consumers != len(consumers):
            note += (
                f", for {number(compared.consumers)} of {counted(len(consumers), 'consumer')}"
                f" (here {number(compared.ours)})"
            )
    tone: Tone = "unsure" if figures.reread is None else "bad" if figures.reread_map else "good"
    return Tile(label, tone, records=figures.reread, notes=(note,))


def _skipped(figures: Totals) -> Tile:
    tone: Tone = "unsure" if figures.skipped is None else "bad" if figures.skipped else "good"
    note = "records that a consumer would never see"
    return Tile("Records skipped", tone, records=figures.skipped, notes=(note,))


def _refused() -> tuple[Tile, ...]:
    return (
        Tile(
            "Out of service (RTO)",
            "quiet",
            text="not switched",
            notes=("a gate refused, and nothing was changed",),
        ),
        Tile("Records read again", "quiet", text=NOTHING, notes=("no consumer was moved",)),
        Tile("Records skipped", "quiet", text=NOTHING, notes=("no consumer was moved",)),
    )


def _of_origins(report: Report, sums: Sums) -> tuple[Tile, ...]:
    """Where several clusters are at work: records by where they were produced."""
    notes = [f"{number(sums.late)} not copied at the loss, arrived after the return"] if sums.late else []
    notes += [] if sums.late_at_most is None else [f"stated: {number(sums.late_at_most)} at most"]
    within = sums.late_at_most is not None and sums.missing + sums.late <= sums.late_at_most
    is_well = not sums.missing or within
    moved = [one.name for one in report.applications if one.happened not in {None, "works on"}]
    limit = "longest of all clients" if sums.pause_s is not None else "a client was not seen again"
    again = [f"stated: {number(sums.again_at_most)} at most"] if report.moves else []
    again += [f"and {number(sums.again_late)} that had arrived late"] if sums.again_late else []
    again += [f"and {number(sums.uncommitted)} not committed at a kill"] if sums.uncommitted else []
    return (
        Tile(
            "Acknowledged records lost",
            "good" if is_well else "bad",
            records=sums.missing,
            notes=tuple(notes),
        ),
        Tile(
            "Out of service (RTO)",
            "quiet" if sums.pause_s is not None else "unsure",
            seconds=sums.pause_s,
            notes=(limit, *((f"{number(len(set(moved)))} of them stopped",) if moved else ())),
        ),
        Tile(
            "Records read again",
            "good" if sums.again <= sums.again_at_most else "bad",
            records=sums.again,
            notes=tuple(again),
        ),
        Tile(
            "Records skipped",
            "bad" if sums.skipped else "good",
            records=sums.skipped,
            notes=(f"of {number(sums.expected)} that consumers had to process",),
        ),
    )


def _loss_of(trip: Journey, figures: Totals) -> Tile:
    """There and back nothing may be lost in the end; what was not copied at a loss arrives late."""
    notes = []
    if trip.late is not None:
        each = joined([number(move.late) for move in trip.losses])
        times = "the loss" if len(trip.losses) == 1 else f"the {len(trip.losses)} losses"
        notes.append(f"not copied at {times}: {each}; arrived after the return")
    tone: Tone = "unsure" if figures.hole is None or trip.late is None else "bad" if figures.hole else "good"
    return Tile("Acknowledged records lost in the end", tone, records=figures.hole, notes=tuple(notes))


def _outage_of(trip: Journey) -> Tile:
    note = f"longest of all clients in {counted(len(trip.moves), 'move')}"
    if trip.pause_s is None:
        return Tile("Out of service (RTO)", "unsure", notes=("how long is not known",))
    return Tile("Out of service (RTO)", "quiet", seconds=trip.pause_s, notes=(note,))


def _reread_of(trip: Journey) -> Tile:
    notes = []
    if trip.read_again_at_most is not None:
        notes.append(f"stated: {number(trip.read_again_at_most)} at most")
    if trip.read_again_late:
        notes.append(f"and {number(trip.read_again_late)} that had arrived late")
    within = None
    if trip.read_again is not None and trip.read_again_at_most is not None:
        within = trip.read_again <= trip.read_again_at_most
    tone: Tone = "unsure" if trip.read_again is None else "good" if within else "bad"
    return Tile("Records read again", tone, records=trip.read_again, notes=tuple(notes))


def _skipped_of(trip: Journey) -> Tile:
    tone: Tone = "unsure" if trip.skipped is None else "bad" if trip.skipped else "good"
    note = f"{number(trip.exact)} of {counted(trip.positions, 'position')} exact"
    return Tile("Records skipped", tone, records=trip.skipped, notes=(note,))
