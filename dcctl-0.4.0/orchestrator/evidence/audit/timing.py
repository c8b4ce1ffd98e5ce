"""Times out of service: last success before the fault to the first one after it. Pure.

A client's two lives are on machines of two sites. Their times are compared as the third place's clock would
have told them, wherever both ledgers say how far their clock was from it (`clocks`); elsewhere as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from orchestrator.evidence.audit.clocks import Clocks, reading_at
from orchestrator.evidence.audit.figures import Row, Unmeasured, rows_of
from orchestrator.evidence.audit.inputs import AuditInputs
from orchestrator.evidence.audit.positions import Positions
from orchestrator.evidence.audit.result import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """One client out of service. `seconds`: None where it was not seen again; below 0 no pause is known.

    `offsets_s`: what was added to its clock before and after the move, `plus_minus_s` how far their
    difference may be wrong; None where a ledger does not tell.
    """

    seconds: float | None
    offsets_s: tuple[float | None, float | None] = (None, None)
    plus_minus_s: float | None = None

    @property
    def is_disagreeing(self) -> bool:
        """Whether it ended before it began: clocks disagree, or a client worked at both sides at once."""
        return self.seconds is not None and self.seconds < 0


class Change(NamedTuple):
    """Two lives that follow each other. A client that had ended by itself, or was not seen in the first, is
    out of service since `began_ms` (Unix epoch milliseconds; None: since no known moment).
    """

    before: int
    after: int
    began_ms: float | None


def rto_part(
    inputs: AuditInputs,
    acks: Sequence[Row],
    processed: Sequence[Row],
    notes: Mapping[tuple[int, int], Positions],
    unmeasured: Unmeasured,
    *,
    clocks: Clocks,
) -> tuple[dict[str, Any], list[Finding]]:
    """`rto` of the report, and what the clocks do not allow to be said.

    `acks` and `processed` have one row a second (see `series_part`). A producer is out of service until it
    is acknowledged in each of its topics again. A client that had ended by itself before the fault counts
    from the fault on. None: not seen again. Clients without a sound ledger, or whose clocks disagree, are
    left out, and then the longest time of all is not known.
    """
    by_topic = {
        producer.name: _topic_pauses(inputs, index, acks, clocks)
        for index, producer in enumerate(inputs.producers)
        if index not in unmeasured.producers
    }
    producers = {name: _longest(pauses.values()) for name, pauses in by_topic.items()}
    consumers = {}
    for index, consumer in enumerate(inputs.consumers):
        if index in unmeasured.consumers:
            continue
        before = notes.get((index, inputs.life_before))
        ended_ms = before.last_ms("stop") if before is not None else None
        rows = rows_of(processed, "consumer", index)
        consumers[consumer.name] = out_of_service(
            rows, ("consumer", index), clocks, _change(inputs), ended_ms=ended_ms
        )
    findings = [
        *_disagreeing(inputs, by_topic),
        *_disagreeing(inputs, {n: {"": p} for n, p in consumers.items()}),
    ]
    known = {name: pause for name, pause in {**producers, **consumers}.items() if not pause.is_disagreeing}
    is_whole = len(known) == len(inputs.producers) + len(inputs.consumers)
    seen = [pause.seconds for pause in known.values() if pause.seconds is not None]
    first_ack, first_record = _after_decision_s(inputs, acks), _after_decision_s(inputs, processed)
    findings += _before_decision(inputs, first_ack, "acknowledgement")
    findings += _before_decision(inputs, first_record, "processed record")
    part = {
        "seconds": max(seen, default=None) if is_whole else None,
        "per_producer": {name: pause.seconds for name, pause in producers.items() if name in known},
        "per_consumer": {name: pause.seconds for name, pause in consumers.items() if name in known},
        "per_topic": {
            name: {
                topic: pause.seconds for topic, pause in pauses.items() if topic and not pause.is_disagreeing
            }
            for name, pauses in by_topic.items()
        },
        "clocks": {name: _clock(pause) for name, pause in {**producers, **consumers}.items()},
        "limit_s": inputs.seen_within_s,
        "decision_to_first_ack_s": None if first_ack is None or first_ack < 0 else first_ack,
        "decision_to_first_record_s": None if first_record is None or first_record < 0 else first_record,
    }
    return part, findings


def _topic_pauses(
    inputs: AuditInputs, producer: int, acks: Sequence[Row], clocks: Clocks
) -> dict[str, Pause]:
    """Of each topic in which the producer was acknowledged in either life; of none at all under ""."""
    client, rows = ("producer", producer), rows_of(acks, "producer", producer)
    pauses = {
        topic.name: out_of_service(own, client, clocks, _change(inputs))
        for index, topic in enumerate(inputs.topics)
        if (own := rows_of(rows, "topic", index))
    }
    return pauses or {"": out_of_service(rows, client, clocks, _change(inputs))}


def _change(inputs: AuditInputs) -> Change:
    fault_ms = None if inputs.fault_at_s is None else inputs.fault_at_s * 1000
    return Change(inputs.life_before, inputs.life_after, fault_ms)


def out_of_service(
    rows: Sequence[Row],
    client: tuple[str, int],
    clocks: Clocks,
    change: Change,
    *,
    ended_ms: int | None = None,
) -> Pause:
    """How long a client was out of service; `rows` have life, first_ms and last_ms, `ended_ms` is when it had
    ended by itself in the older life.
    """
    last: float | None = max((row["last_ms"] for row in rows if row["life"] == change.before), default=None)
    first: float | None = min((row["first_ms"] for row in rows if row["life"] == change.after), default=None)
    began_ms = change.began_ms
    had_ended = began_ms is not None and (last is None or (ended_ms is not None and ended_ms < began_ms))
    if had_ended:
        last = began_ms
    if first is None or last is None:
        return Pause(seconds=None)
    before = None if had_ended else reading_at(clocks.get((*client, change.before), ()), last)
    after = reading_at(clocks.get((*client, change.after), ()), first)
    if before is None or after is None:
        return Pause(seconds=round((first - last) / 1000, 3))
    milliseconds = first + after.offset_ms - last - before.offset_ms
    return Pause(
        seconds=round(milliseconds / 1000, 3),
        offsets_s=(before.offset_ms / 1000, after.offset_ms / 1000),
        plus_minus_s=(before.within_ms + after.within_ms) / 1000,
    )


def _longest(pauses: Iterable[Pause]) -> Pause:
    """The one that counts for a producer: a topic without it, then clocks that disagree, then the longest."""
    found = list(pauses)
    for pause in found:
        if pause.seconds is None:
            return pause
    return min(found, key=lambda pause: (not pause.is_disagreeing, -(pause.seconds or 0.0)))


def _disagreeing(inputs: AuditInputs, clients: Mapping[str, Mapping[str, Pause]]) -> Iterator[Finding]:
    for name, pauses in clients.items():
        for topic, pause in pauses.items():
            if pause.is_disagreeing:
                where = f" in {topic}" if topic else ""
                yield Finding(
                    "unknown",
                    f"{name}: its first success{where} at {inputs.target} bears a time"
                    f" {-(pause.seconds or 0):.3f} s before its last one at {inputs.source}: the clocks"
                    " disagree, or it worked at both sides at once; how long it was out of service is not"
                    " known",
                )


def _before_decision(inputs: AuditInputs, seconds: float | None, what: str) -> Iterator[Finding]:
    if seconds is not None and seconds < 0:
        yield Finding(
            "unknown",
            f"the first {what} at {inputs.target} bears a time {-seconds:.3f} s before the decision to move:"
            " the clocks of its machine and of the one that ran the move disagree",
        )


def _clock(pause: Pause) -> dict[str, float | None]:
    before_s, after_s = pause.offsets_s
    return {"before_s": before_s, "after_s": after_s, "plus_minus_s": pause.plus_minus_s}


def _after_decision_s(inputs: AuditInputs, rows: Iterable[Row]) -> float | None:
    first: float | None = min(
        (row["first_ms"] for row in rows if row["life"] == inputs.life_after), default=None
    )
    if first is None or inputs.decided_at_s is None:
        return None
    return round(first / 1000 - inputs.decided_at_s, 3)
