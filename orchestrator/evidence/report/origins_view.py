"""A report of several active clusters in words and sums: records by where they were produced. Pure.

Everything else (`summary`, `story`, `tiles`) speaks of one mirror's source and its target.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.evidence.report.figures import counted, duration, joined, number
from orchestrator.evidence.report.model import Report
from orchestrator.evidence.report.model_origins import ApplicationEvidence


@dataclass(frozen=True, slots=True)
class Sums:
    """All origins together; records, except `consumers`, `places` and `pause_s`.

    `late`: had not been copied when a site was lost, and arrived after its return; `missing`: are not at
    every place that copies them. `late_at_most`: what the plans had said of both together. `again` is without
    the late ones.
    """

    acked: int
    places: int
    late: int
    late_at_most: int | None
    missing: int
    twice: int
    copied_again: int
    consumers: int
    expected: int
    read: int
    lost: int
    skipped: int
    again: int
    again_at_most: int
    again_late: int
    uncommitted: int
    pause_s: float | None


def sums_of(report: Report) -> Sums:
    """Of a report that has `readings`."""
    topics = [topic for cluster in report.clusters.values() for topic in cluster.topics.values()]
    losing = [move for move in report.moves if move.verb == "failover"]
    stated = [move.late_at_most for move in losing if move.late_at_most is not None]
    late = sum(one.late for one in report.readings)
    return Sums(
        acked=sum(topic.acked or 0 for topic in topics),
        places=len({copy.cluster for copy in report.copies}),
        late=sum(move.late or 0 for move in losing),
        late_at_most=sum(stated) if stated else None,
        missing=sum((topic.lost.tail or 0) + (topic.lost.hole or 0) for topic in topics),
        twice=sum(copy.twice for copy in report.copies),
        copied_again=sum(copy.copied_again for copy in report.copies),
        consumers=len({one.consumer for one in report.readings}),
        expected=sum(one.expected for one in report.readings),
        read=sum(one.read for one in report.readings),
        lost=sum(one.lost for one in report.readings),
        skipped=sum(one.skipped for one in report.readings),
        again=sum(one.again for one in report.readings) - late,
        again_at_most=sum(move.read_again_at_most or 0 for move in report.moves),
        again_late=late,
        uncommitted=sum(one.uncommitted for one in report.readings),
        pause_s=report.rto.seconds,
    )


def told(report: Report, began: str) -> Iterator[str]:
    """What happened; `began`: what was lost or left, and when, in a sentence."""
    sums = sums_of(report)
    yield began
    taken = joined(
        tuple(
            f"{number(sum(topic.acked or 0 for topic in evidence.topics.values()))} at {cluster}"
            for cluster, evidence in report.clusters.items()
        )
    )
    yield f"Over the whole run producers had {counted(sums.acked, 'record')} acknowledged: {taken}."
    yield from _of_applications(report)
    yield from _of_statements(report)
    yield from _of_losses(report, sums)
    lost = f", {number(sums.lost)} are lost with the site" if sums.lost else ""
    yield (
        f"{counted(sums.consumers, 'consumer')} had to process each record of their origins once,"
        f" {counted(sums.expected, 'record')} together: {number(sums.read)} were processed{lost},"
        f" {number(sums.skipped) if sums.skipped else 'none'} skipped."
    )
    yield from _of_rereads(sums)
    if sums.pause_s is not None:
        yield f"The longest that any application got nothing done was {duration(sums.pause_s)}."


def _of_applications(report: Report) -> Iterator[str]:
    """Who stopped, who went where, who worked on; in the last loss, if there were several."""
    last = [one for one in report.applications if one.loss == len(report.faults)]
    if not last:
        return
    counts = Counter(one.happened or "is not known" for one in last)
    words = {"waits": "waited until the site was back", "works on": "worked on"}
    said = joined(
        tuple(
            f"{number(count)} {words.get(what, what.replace('goes to', 'went to'))}"
            for what, count in counts.items()
        )
    )
    is_as_stated = all(one.is_as_stated for one in report.applications)
    ending = "as had been stated of each" if is_as_stated else "and not all as had been stated"
    which = " each time" if len(report.faults) > 1 and _is_alike(report) else ""
    yield f"Of {counted(len(last), 'application')} {said}{which}, {ending}."


def _of_statements(report: Report) -> Iterator[str]:
    """Of a cluster over several sites, what was otherwise than dcctl explain had said."""
    seen = [one for one in report.statements if one.is_as_stated is not None]
    wrong = [f"{one.subject} ({one.site})" for one in seen if not one.is_as_stated]
    if wrong:
        yield f"Otherwise than stated beforehand: {joined(tuple(wrong))}."
    elif seen:
        yield f"{counted(len(seen), 'statement')} of the loss could be held against what happened, and hold."


def _is_alike(report: Report) -> bool:
    by_loss: dict[int, list[tuple[str, str | None]]] = {}
    for one in report.applications:
        by_loss.setdefault(one.loss, []).append((one.name, one.happened))
    return all(found == by_loss[1] for found in by_loss.values())


def _of_losses(report: Report, sums: Sums) -> Iterator[str]:
    stated = "" if sums.late_at_most is None else f" (the plans had said at most {number(sums.late_at_most)})"
    if sums.late:
        late = counted(sums.late, "acknowledged record")
        yield f"{late} had not been copied when the site was lost{stated}, and arrived after its return."
    if sums.missing:
        missing = counted(sums.missing, "acknowledged record")
        where = "are missing" if report.statements else "are not at every place that copies them"
        yield f"{missing} {where}{stated}."
    elif report.statements:
        yield "In the end every acknowledged record is there."
    elif report.copies:
        yield "In the end every acknowledged record stands wherever something copies it."
    if sums.copied_again:
        again = counted(sums.copied_again, "record")
        yield f"{again} stand twice in copies: workers that were killed have copied them again."
    if sums.twice:
        yield f"{counted(sums.twice, 'record')} stand twice for no reason that is known."


def _of_rereads(sums: Sums) -> Iterator[str]:
    if sums.again or sums.again_at_most:
        yield (
            f"Because of moves {counted(sums.again, 'record')} were read again; the plans had said at most "
            f"{number(sums.again_at_most)}."
        )
    if sums.again_late:
        yield f"{counted(sums.again_late, 'record')} had been processed before the loss, and came again late."
    if sums.uncommitted:
        again = counted(sums.uncommitted, "record")
        yield f"{again} were processed again by consumers that had not committed them when they were killed."


def of_loss(report: Report, loss: int) -> tuple[ApplicationEvidence, ...]:
    """The applications in one loss, from 1 on."""
    return tuple(one for one in report.applications if one.loss == loss)
