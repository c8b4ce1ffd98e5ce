"""The verdict of a drill, from what was measured and what had been stated before. Pure.

Invalid over unknown over valid. Valid means: everything was measured, and it equals what the plan had
said, and nothing else went wrong. What was not measured (None) never counts as good.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.evidence.audit.result import AuditResult, Finding, Verdict

# A worker flushes its offsets each interval, and the flush itself takes a moment.
_ROUNDING_RECORDS = 1


def judge(
    result: AuditResult,
    *,
    predicted_loss: Mapping[str, Mapping[str, Any]],
    source: str,
    predicted_reread: Mapping[str, int | None] | None = None,
    is_fault_verified: bool | None,
    is_drained: bool | None,
) -> tuple[Verdict, list[str]]:
    """Judge one drill. Returns the verdict and its reasons, the gravest first.

    `predicted_loss` is topic -> {at_least, at_most, rate_records_per_s, sample_age_s, flush_interval_s,
    to_be_copied_records (0 if it is left out)}, for each topic produced at cluster `source`.
    `predicted_reread` is consumer -> records that it would read again at most, None where the plan could not
    say. `is_drained`: whether every consumer had read to the end when the audit began.
    """
    return verdict_of(
        *result.findings,
        *_topics(result.clusters),
        *_untaken(result.clusters, source),
        *losses_as_stated(result.clusters.get(source, {}).get("topics", {}), predicted_loss),
        *_consumers(result.consumers),
        *_rereads(result.consumers, predicted_reread or {}),
        *_queries(result.spark),
        *_clients(result.rto),
        *_measured(result),
        *circumstances(is_fault_verified, is_drained),
    )


def judge_moves(
    result: AuditResult, *, is_fault_verified: bool | None, is_drained: bool | None
) -> tuple[Verdict, list[str]]:
    """The same for moves to and fro, whose audit holds each against what its own plan had stated."""
    empty = [
        Finding("unknown", f"{name} of {cluster}: nothing was acknowledged")
        for cluster, evidence in result.clusters.items()
        for name, topic in evidence["topics"].items()
        if topic["acked"] == 0
    ]
    return verdict_of(
        *result.findings,
        *_topics(result.clusters),
        *empty,
        *circumstances(is_fault_verified, is_drained),
    )


def verdict_of(*findings: Finding) -> tuple[Verdict, list[str]]:
    """Invalid over unknown over valid, and every reason once, the gravest first."""
    invalid = list(dict.fromkeys(found.reason for found in findings if found.verdict == "invalid"))
    unknown = list(dict.fromkeys(found.reason for found in findings if found.verdict == "unknown"))
    verdict: Verdict = "invalid" if invalid else "unknown" if unknown else "valid"
    return verdict, invalid + unknown


def _topics(clusters: Mapping[str, Any]) -> Iterator[Finding]:
    for cluster, evidence in clusters.items():
        for name, topic in evidence["topics"].items():
            subject = f"{name} of {cluster}"
            figures = {
                "acked": topic["acked"],
                "lost.tail": topic["lost"]["tail"],
                "lost.hole": topic["lost"]["hole"],
                "duplicates": topic["duplicates"],
                "reordered": topic["reordered"],
            }
            missing = [figure for figure, value in figures.items() if value is None]
            if missing:
                yield Finding("unknown", f"{subject}: not measured: {', '.join(missing)}")
            for key, what in _ANOMALIES.items():
                count = figures[key] or 0
                if count:
                    places = _places(topic["partitions"], key.rsplit(".", 1)[-1], name)
                    yield Finding("invalid", f"{subject}: {count:,} records {what} ({places})")


_ANOMALIES = {
    "lost.hole": "acknowledged, missing below the replicated position",
    "duplicates": "there more than once",
    "reordered": "out of order within their key",
}


def _places(anomalies: Sequence[Mapping[str, Any]], key: str, topic: str) -> str:
    listed = [
        f"{anomaly['topic'] or topic}-{anomaly['partition']}: {anomaly[key]:,}"
        + (f", {anomaly['detail']}" if anomaly["detail"] else "")
        for anomaly in anomalies
        if anomaly[key]
    ]
    return "; ".join(listed) or "no partition known"


def _untaken(clusters: Mapping[str, Any], source: str) -> Iterator[Finding]:
    """Topics that nobody could write to, before the move or after it.

    Of the other topics nothing follows for them. At the source the fence refuses sends, as it should.
    """
    for cluster, evidence in clusters.items():
        for name, topic in evidence["topics"].items():
            if topic["acked"] == 0:
                when = "before" if cluster == source else "after"
                text = (
                    f"{name} of {cluster}: no record was acknowledged {when} the move: nothing is shown of it"
                )
                yield Finding("unknown", text)
            if cluster != source and topic.get("unserved"):
                yield Finding(
                    "invalid",
                    f"{name} of {cluster}: {topic['unserved']:,} sends were refused or timed out after their"
                    " producer had been acknowledged there (the producers' ledgers name the errors)",
                )


def losses_as_stated(
    topics: Mapping[str, Any], predicted: Mapping[str, Mapping[str, Any]]
) -> Iterator[Finding]:
    """What of each topic is lost, against what was predicted: neither more nor less, nor too wide."""
    for name, topic in topics.items():
        tail = topic["lost"]["tail"]
        if tail is None:
            continue
        bounds = predicted.get(name)
        if bounds is None or bounds.get("at_most") is None:
            yield Finding("unknown", f"{name}: {tail:,} records lost, and no loss was predicted")
            continue
        at_most, at_least = bounds["at_most"], bounds.get("at_least") or 0
        absent = topic["indeterminate"]["absent"]
        if tail > at_most:
            yield Finding(
                "invalid", f"{name}: {tail:,} records lost, more than predicted ({at_most:,} at most)"
            )
        # The sampled log end also counts records that nobody was told about: they may explain a lower loss.
        if tail + (absent or 0) < at_least:
            yield Finding(
                "invalid", f"{name}: {tail:,} records lost, fewer than predicted ({at_least:,} at least)"
            )
        yield from _tightness(name, bounds, at_most - tail)


def _tightness(name: str, bounds: Mapping[str, Any], slack: int) -> Iterator[Finding]:
    rate, age, flush = (bounds.get(key) for key in ("rate_records_per_s", "sample_age_s", "flush_interval_s"))
    if rate is None or age is None or flush is None:
        yield Finding("unknown", f"{name}: the prediction does not say how tight it has to be")
        return
    # Of a side that answers in part the plan counts what the mirror copies in the move.
    still_copied = bounds.get("to_be_copied_records") or 0
    limit = rate * (age + flush) + still_copied + _ROUNDING_RECORDS
    if slack > limit:
        yield Finding(
            "invalid",
            f"{name}: the prediction was too wide: {slack:,} records above the truth, where "
            f"{rate:,.0f}/s × ({age:.1f} s + {flush:.1f} s)"
            f"{f' + {still_copied:,} to be copied' if still_copied else ''} = {limit:,.0f} are allowed",
        )


def _consumers(rows: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    for row in rows:
        subject = f"{row['name']} at {row['target_topic'] or row['topic']}-{row['partition']}"
        unmeasured = [key for key in ("skipped", "processed_but_lost") if row[key] is None]
        unmeasured += [f"reread.{key}" for key, value in row["reread"].items() if value is None]
        if unmeasured:
            yield Finding("unknown", f"{subject}: not measured: {', '.join(unmeasured)}")
        if row["skipped"]:
            yield Finding("invalid", f"{subject}: {row['skipped']:,} records skipped")
        if row["exact"] and row["reread"]["map"]:
            yield Finding(
                "invalid",
                f"{subject}: the position was called exact, and {row['reread']['map']:,} records before it "
                "were read again",
            )


def _rereads(rows: Sequence[Mapping[str, Any]], predicted: Mapping[str, int | None]) -> Iterator[Finding]:
    for name, at_most in predicted.items():
        parts = [part for row in rows if row["name"] == name for part in row["reread"].values()]
        measured = sum(part for part in parts if part is not None)
        if at_most is None:
            yield Finding("unknown", f"{name}: the plan could not say how much it would read again")
        elif measured > at_most:
            yield Finding(
                "invalid",
                f"{name}: {measured:,} records read again, more than predicted ({at_most:,} at most)",
            )


def _queries(queries: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    for query in queries:
        if query["counts_match"] is None:
            yield Finding("unknown", f"{query['query']}: its counts by key were not compared")
        elif not query["counts_match"]:
            yield Finding("invalid", f"{query['query']}: its counts by key differ from the records")


def _clients(rto: Mapping[str, Any]) -> Iterator[Finding]:
    clients = {**rto.get("per_producer", {}), **rto.get("per_consumer", {})}
    for name, seconds in clients.items():
        if seconds is None:
            topics = [
                topic for topic, pause in rto.get("per_topic", {}).get(name, {}).items() if pause is None
            ]
            where = f" in {', '.join(topics)}" if topics else ""
            yield Finding("invalid", f"{name}: not seen again{where} after the fault")
    limit = rto.get("limit_s")
    for name, seconds in clients.items():
        if seconds is not None and limit is not None and seconds > limit:
            yield Finding("invalid", f"{name}: seen again only after {seconds:.1f} s (limit {limit:g} s)")


def _measured(result: AuditResult) -> Iterator[Finding]:
    if not any(evidence["topics"] for evidence in result.clusters.values()):
        yield Finding("unknown", "nothing was acknowledged: an empty drill shows nothing")
    if not result.consumers:
        yield Finding("unknown", "no consumer was measured")


def circumstances(is_fault_verified: bool | None, is_drained: bool | None) -> Iterator[Finding]:
    """Without these nothing is shown."""
    if not is_fault_verified:
        yield Finding("unknown", "it was not verified that the fault took effect")
    if not is_drained:
        yield Finding("unknown", "the consumers had not read to the end when the audit began")
