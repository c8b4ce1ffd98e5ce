"""Whether what a move would cost has grown since a person approved it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.runs.plan import Plan

_KEY = "at_most"
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
