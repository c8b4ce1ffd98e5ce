"""What happened, in sentences that someone who was not there understands. Pure."""

from __future__ import annotations

from orchestrator.evidence.audit.engines import ENGINE
from orchestrator.evidence.report.figures import clock, counted, duration, joined, moment, number, share
from orchestrator.evidence.report.model import Fault, Report, Verdict
from orchestrator.evidence.report.origins_view import told
from orchestrator.evidence.report.summary import (
    Journey,
    Totals,
    consumer_rows,
    is_refused,
    journey,
    phase_spans,
    topic_rows,
    total,
    totals,
)

MEANING: dict[Verdict, str] = {
    "valid": "What was measured is what had been stated beforehand, and nothing else went wrong.",
    "invalid": "Something went another way than had been stated. Do not rely on this failover until the "
    "reasons below are understood.",
    "unknown": "Not everything could be measured, so nothing is claimed. Treat it as not passed.",
}


PLANNED_MOVE = "planned move"
# Reports of dcctl 0.3.0 and earlier call it sick.
_DEGRADED = ("degraded", "sick")
"""Kinds of fault (`Fault.kind`, or how it begins) of which nothing need be gone."""


def story(report: Report) -> str:
    """One paragraph with the figures that matter."""
    figures, trip = totals(report), journey(report)
    if report.readings:
        return " ".join(told(report, _losses(report)))
    if trip is not None:
        return " ".join(_journey(report, trip, figures))
    sentences = [_fault(report), _canaries(report), _before(report, figures)]
    sentences += [_recovery(report), _loss(report, figures)]
    sentences += [_holes(figures), _reread(report, figures), _skipped(figures)]
    return " ".join(sentence for sentence in sentences if sentence)


def _journey(report: Report, trip: Journey, figures: Totals) -> list[str]:
    """There and back: every loss, what of it arrived late, and what is there in the end."""
    said = [_losses(report), _before(report, figures)]
    late = [number(move.late) for move in trip.losses]
    if trip.late is None:
        said.append("How many records had not been copied at a loss could not be counted.")
    elif trip.losses:
        stated = (
            f"; the plans had said at most {number(trip.late_at_most)} in all"
            if trip.late_at_most is not None
            else ""
        )
        said.append(
            f"When the site was lost, {joined(late)} acknowledged records had not been copied{stated}. They"
            " arrived after its return."
        )
    if figures.hole is None:
        said.append("Whether every record is there in the end could not be told.")
    elif figures.hole == 0:
        said.append(f"In the end every acknowledged record is at {joined(tuple(report.clusters))}.")
    else:
        said.append(f"In the end {counted(figures.hole, 'acknowledged record')} are missing: holes.")
    pause = "is not known" if trip.pause_s is None else f"was {duration(trip.pause_s)}"
    moves = counted(len(trip.moves), "move")
    said.append(f"The longest time that any client was out of service, in any of {moves}, {pause}.")
    said.append(_read_on_the_way(trip))
    if trip.skipped is not None:
        exact = f"{number(trip.exact)} of {counted(trip.positions, 'position')} were exact"
        skipped = "no" if trip.skipped == 0 else number(trip.skipped)
        said.append(f"{exact}, and {skipped} records were skipped.")
    return said


def _read_on_the_way(trip: Journey) -> str:
    if trip.read_again is None:
        return "How much consumers read again could not be counted."
    said = f"Consumers read {counted(trip.read_again, 'record')} again"
    if trip.read_again_at_most is not None:
        said += f" ({number(trip.read_again_at_most)} at most were stated)"
    if trip.read_again_late:
        said += f", and {number(trip.read_again_late)} that had been processed before a loss and arrived late"
    return f"{said}."


def _losses(report: Report) -> str:
    """Every loss of the run. A report of an earlier version knows only the last one."""
    faults = report.faults
    if not faults:
        return _fault(report)
    if len(faults) == 1:
        return _fault_in_words(faults[0])
    what = joined(faults[0].targets)
    times = joined(tuple(f"at {clock(fault.started_at)}" for fault in faults))
    seen = "each time it was verified that nothing of it answered any more"
    if not all(fault.verified for fault in faults):
        seen = "and not each time was it verified that nothing of it answered any more"
    count = number(len(faults))
    return f"On {faults[0].started_at:%Y-%m-%d}, {what} was lost {count} times ({times} UTC); {seen}."


def _fault(report: Report) -> str:
    fault = report.fault
    if fault is None:
        return f"No fault was injected; the run began at {moment(report.started_at)}."
    return _fault_in_words(fault)


def _fault_in_words(fault: Fault) -> str:
    what = joined(fault.targets) or "nothing"
    if fault.kind == PLANNED_MOVE:
        return f"On {moment(fault.started_at)}, applications were moved off {what}, as planned."
    if fault.kind.startswith(_DEGRADED):
        seen = "and that was seen" if fault.verified else "but that was not seen"
        return f"On {moment(fault.started_at)}, {what} was left because it was {fault.kind}, {seen}."
    seen = {
        True: "and it was verified that nothing of it answered any more",
        False: "but it did not take effect as it should have",
        None: "and nobody verified that it took effect",
    }[fault.verified]
    return f"On {moment(fault.started_at)}, {what} was lost ({fault.kind}), {seen}."


def _canaries(report: Report) -> str:
    canaries = report.canaries
    if canaries is None:
        return ""
    if not canaries.clients:
        return "The topology has no canary, so nothing of what follows was measured."
    others = len(canaries.unmeasured_topics), len(canaries.unmeasured_consumers)
    who = counted(len(canaries.clients), "canary client")
    if canaries.since is None:
        return f"It was to be measured by {who}, which could not be read."
    said = f"All figures are those of {who} since {moment(canaries.since)}"
    if not any(others):
        return f"{said}."
    rest = joined((counted(others[0], "topic"), counted(others[1], "consumer")))
    return f"{said}; {rest} moved with them, unmeasured."


def _before(report: Report, figures: Totals) -> str:
    topics = list(dict.fromkeys(row.name for row in topic_rows(report)))
    if report.canaries is not None and not topics:
        return ""
    if not topics:
        return "No topic was audited."
    if figures.acked is None:
        return f"How many records had been acknowledged in {counted(len(topics), 'topic')} is not known."
    taken = {
        cluster: total(topic.acked for topic in evidence.topics.values())
        for cluster, evidence in report.clusters.items()
    }
    where = joined(tuple(f"{number(count)} at {cluster}" for cluster, count in taken.items()))
    said = (
        f"Over the whole run producers had {counted(figures.acked, 'record')} acknowledged "
        f"in {counted(len(topics), 'topic')}"
    )
    # There and back both places hold the same records: they are counted once.
    return f"{said}, each counted once." if report.moves else f"{said}: {where}."


def _recovery(report: Report) -> str:
    if is_refused(report):
        refused = [gate.id for gate in report.gates if gate.outcome != "ok"]
        return f"The failover was refused ({joined(refused)}), and nothing was changed."
    decided = next((span for span in phase_spans(report) if span.name == "decide"), None)
    begun = f"The decision to fail over stood {duration(decided.end_s)} after the fault. " if decided else ""
    if report.rto.missing:
        limit = f" within {duration(report.rto.limit_s)}" if report.rto.limit_s is not None else ""
        return f"{begun}{joined(report.rto.missing)} did not come back{limit}."
    if report.rto.seconds is None:
        return f"{begun}How long applications were out of service is not known."
    parts = [
        f"{kind} after at most {duration(max(known))}"
        for kind, clients in (
            ("producers wrote again", report.rto.per_producer),
            ("consumers went on", report.rto.per_consumer),
        )
        if (known := [seconds for seconds in clients.values() if seconds is not None])
    ]
    clients = f": {joined(parts)}" if parts else ""
    return f"{begun}Applications were out of service for {duration(report.rto.seconds)}{clients}."


def _loss(report: Report, figures: Totals) -> str:
    if not topic_rows(report):
        return ""
    if figures.tail is None:
        return "How many acknowledged records are lost could not be counted."
    if figures.at_most is None:
        stated = "no prediction stands beside it for every topic"
    else:
        least = f"at least {number(figures.at_least)}, " if figures.at_least is not None else ""
        stated = (
            f"the plan had said {least}{number(figures.expected)} expected, {number(figures.at_most)} at most"
        )
    if figures.tail == 0:
        return f"No acknowledged record is lost beyond what had been copied; {stated}."
    part = share(figures.tail, figures.acked_at_source)
    if part:
        part = f"{part} of what {report.predicted.source} had acknowledged"
    verb = "was" if figures.tail == 1 else "were"
    return (
        f"{counted(figures.tail, 'acknowledged record')}{f' ({part})' if part else ''} had not been copied "
        f"and {verb} lost with the site; {stated}."
    )


def _holes(figures: Totals) -> str:
    if figures.hole is None:
        return ""
    if figures.hole == 0:
        return "Of what had been copied, nothing is missing."
    return f"Of what should have been copied, {counted(figures.hole, 'record')} are missing: holes."


def _reread(report: Report, figures: Totals) -> str:
    consumers = consumer_rows(report)
    if not consumers:
        return ""
    who = counted(len(consumers), "consumer")
    if figures.reread is None:
        return f"How much {who} read again could not be counted."
    ours = f"{who} read {counted(figures.reread, 'record')} again"
    if figures.reread_map is not None:
        ours += f", {number(figures.reread_map)} of them because of the translation"
    compared = figures.comparison
    if compared is None:
        return f"{ours}."
    if compared.consumers == len(consumers):
        return f"{ours}; from {ENGINE.engine}'s own offsets it would have been {number(compared.engine)}."
    return (
        f"{ours}. For the {number(compared.consumers)} of them that {ENGINE.engine} translates, its own "
        f"offsets would have meant {number(compared.engine)} instead of {number(compared.ours)}."
    )


def _skipped(figures: Totals) -> str:
    if figures.skipped is None:
        return ""
    if figures.skipped == 0:
        return "No consumer skipped a record."
    return f"{counted(figures.skipped, 'record')} were skipped: no consumer will see them without help."
