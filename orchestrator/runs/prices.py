"""What a move costs, in a line, and whether that has grown since a person approved it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from orchestrator.runs.plan import Plan
from orchestrator.topology.verbs import MOVING_VERBS

_KEY, _LATER = "at_most", "if_source_returns"
MISS_NEW_RECORDS = "miss_new_records"
"""In a plan's facts: consumers that will not see what is written after the move, as a person accepts."""
LEFT_BEHIND = "left_behind"
"""Likewise: by topic that a failover leaves at the lost site, what becomes of it, in a sentence."""
READERS_ALONE = "readers_alone"
"""Likewise: nobody who moves writes, and no source is lost beside, so that the move itself loses nothing."""
_SECONDS = "loss_seconds_at_most"
Price = Mapping[str, Mapping[str, int | None]]


def grown_since(approved: Plan, fresh: Plan) -> tuple[str, ...]:
    """What the fresh plan costs more than the approved one, in words: only bounds count, and no bound is more
    than any.
    """
    return (
        *_grown("lost of", approved.predicted.loss, fresh.predicted.loss),
        *_grown("read again by", approved.predicted.reread, fresh.predicted.reread),
        *_more_seconds(approved, fresh),
    )


def loss_allowed(plan: Plan) -> int | None:
    """Records that may be lost in all, by a person's word or else by the file; None for any number."""
    accepted, budget = plan.request.get("accept_loss"), plan.facts.get("budget", {})
    records = accepted if accepted is not None else budget.get("records")
    return None if records is None else int(records)


def lost_at_most(plans: Iterable[Plan]) -> int | None:
    """Records that these moves may lose together; None where nobody knows."""
    return _sum_at_most(row for plan in plans for row in plan.predicted.loss.values())


def price_in_words(plan: Plan) -> str:
    """What a plan predicts of its price, all places together; see `price_text`.

    Of a verb that moves nobody that is the time, which is not known of a plan that was not made.
    """
    found, facts = plan.predicted, plan.facts
    if plan.verb not in MOVING_VERBS and not plan.steps and not plan.is_allowed:
        return "not known while a gate is closed"
    told = price_text(
        plan.verb,
        found.loss,
        found.reread,
        seconds=found.seconds,
        loss_seconds=facts.get(_SECONDS),
        readers_alone=bool(facts.get(READERS_ALONE)),
    )
    blind = facts.get(MISS_NEW_RECORDS)
    return f"{told}; {', '.join(blind)} will not see new records" if blind else told


def price_text(
    verb: str,
    loss: Price,
    reread: Price,
    *,
    seconds: float,
    loss_seconds: float | None = None,
    readers_alone: bool = False,
) -> str:
    """`at most 3,341 records lost (1.7 s) and 18,787 read again, about 26 s`.

    `loss`, `reread`: as `Predicted` has them; `loss_seconds`: how far back the lost records reach, at most.
    `readers_alone`: see `READERS_ALONE`. Of a verb that moves nobody only the time. What is not known is
    unknown.
    """
    took = f"about {max(1.0, seconds):,.0f} s"
    if verb not in MOVING_VERBS:
        return took
    lost = 0 if readers_alone else _sum_at_most(loss.values()) if loss else None
    of = f" ({loss_seconds:,.1f} s)" if loss_seconds and lost else ""
    # Both rest on the samples: where nothing is foretold of either, nothing is known of consumers.
    again = _sum_at_most(reread.values()) if reread or loss else None
    records = sum(row.get(_LATER) or 0 for row in reread.values())
    later = f", {records:,} more if a lost source returns" if records else ""
    if lost and again:
        return f"{_told(lost, 'lost')}{of} and {again:,} read again{later}, {took}"
    return f"{_told(lost, 'lost')}{of}, {_told(again, 'read again')}{later}, {took}"


def _sum_at_most(rows: Iterable[Mapping[str, int | None]]) -> int | None:
    numbers = [row.get(_KEY) for row in rows]
    return None if None in numbers else sum(number or 0 for number in numbers)


def _told(records: int | None, what: str) -> str:
    if not records:
        return f"no record {what}" if records == 0 else f"an unknown number of records {what}"
    return f"at most {records:,} record{'s' if records != 1 else ''} {what}"


def _grown(what: str, before: Price, now: Price) -> Iterator[str]:
    for name, price in now.items():
        known, found = before.get(name, {}).get(_KEY), price.get(_KEY)
        if known is None and name in before:
            continue  # whoever approved that has approved any number
        if found is None or known is None or found > known:
            yield f"records {what} {name}: at most {_number(found)}, approved were {_number(known)}"


def _more_seconds(before: Plan, now: Plan) -> Iterator[str]:
    known, found = before.facts.get(_SECONDS), now.facts.get(_SECONDS)
    if known is not None and (found is None or found > known):
        told = "an unknown time" if found is None else f"{found:.1f} s"
        yield f"seconds lost: at most {told}, approved were {known:.1f} s"


def _number(records: int | None) -> str:
    return "an unknown number" if records is None else f"{records:,}"
