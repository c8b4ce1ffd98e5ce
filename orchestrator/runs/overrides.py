"""What a person sets aside by name: each override one by one, with who and why, for journal and reader."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.ports.clock import CLOCKS_APART_S, LONG_AGO_S
from orchestrator.runs.plan import Plan, RunEvent

_ATTEST_DOWN, _LEAVE = "--attest-down", "--leave"
SOURCE_LAST_SEEN, SOURCE_LAST_PLACE = "source_last_seen_at_s", "source_last_seen_place"
SOURCE_LAST_ROUND = "source_last_seen_round_s"
"""In the facts of a failover's plan, and beside a word given later: when a watcher saw the source last, by
the clock of the one that wrote last; the offset in the samples topic of the round that says so; and its begin
on the time of the watcher that wrote it, which no later clock changes. Null where nobody knows."""
# Field of a request -> option; a value that overrides nothing is left out.
_OPTIONS: Mapping[str, str] = {
    "attested": _ATTEST_DOWN,
    "sick": "--attest-sick",
    "accept_unfenced": "--accept-unfenced",
    "accept_loss": "--accept-loss",
    "accept_unrecorded": "--accept-unrecorded",
    "accept_reread": "--accept-reread",
    "accept_unread": "--accept-unread",
    "acknowledge": "--acknowledge",
    "without_coordination": "--without-coordination",
    "accept_cluster": "--accept-cluster",
    "lower_min_insync": "--lower-min-insync",
    "accept_unclean": "--accept-unclean",
    "accept_margin": "--accept-margin",
    "accept_unproven": "--accept-unproven",
}
OPTIONS = frozenset({*_OPTIONS.values(), _LEAVE})
"""Options of which journals tell, besides the words for which steps wait."""
_ACKNOWLEDGED = re.compile(r"\s*([^:]*[^:\s])\s*:\s*(\S.*?)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """One thing that a person sets aside, or says: the `data` of an `override` record of a journal.

    `value` is JSON data; `more`: keys that only this option has.
    """

    option: str
    value: Any
    by: str = ""
    reason: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """As it stands in the journal."""
        return {
            "option": self.option,
            "value": self.value,
            "by": self.by,
            "reason": self.reason,
            **self.more,
        }

    def __str__(self) -> str:
        return override_text(self.as_json())


def acknowledgement(text: str) -> str:
    """`OWNER: comment` as it is kept, or empty. Raises `UsageError` where owner or comment is missing."""
    if not text.strip():
        return ""
    match = _ACKNOWLEDGED.fullmatch(text)
    if match is None:
        raise UsageError(
            f"--acknowledge {text!r}", "has no owner and comment", 'write it like "ada: the owners agreed"'
        )
    return f"{match[1]}: {match[2]}"


def overrides(request: Mapping[str, Any]) -> Iterator[Override]:
    """What a plan's request overrides: option, value, by whom, why."""
    by, reason = str(request.get("by", "")), str(request.get("reason", ""))
    for key, option in _OPTIONS.items():
        value = request.get(key)
        if key == "accept_loss" and value is not None and "attested" in request:
            values = [value]  # of a failover: 0 is an override of the file's budget as well
        else:
            values = list(value) if isinstance(value, list | tuple) else [value] if value else []
        for each in values:
            why = each.partition(": ")[2] if key == "acknowledge" else reason
            owner = {"owner": each.partition(": ")[0]} if key == "acknowledge" else {}
            yield Override(option=option, value=each, by=by, reason=why, more=owner)


def left_standing(steps: Iterable[str], said: str) -> Iterator[Override]:
    """What an abort lets stand by name; `said` is `WHO: why`."""
    by, _, reason = said.partition(": ")
    for step in sorted(steps):
        yield Override(option=_LEAVE, value=step, by=by, reason=reason)


def attested_down(sites: Iterable[str], said: str, facts: Mapping[str, Any]) -> Iterator[Override]:
    """Sites of which a person says once more that they are down; `said` is `WHO: why`.

    `facts`: of a plan made now, which tell when the source was seen last.
    """
    by, _, reason = said.partition(": ")
    more = {key: facts.get(key) for key in (SOURCE_LAST_SEEN, SOURCE_LAST_PLACE, SOURCE_LAST_ROUND)}
    for dc in sorted(sites):
        yield Override(option=_ATTEST_DOWN, value=dc, by=by, reason=reason, more=more)


def is_attested(plan: Plan, records: Iterable[RunEvent], facts: Mapping[str, Any]) -> bool | None:
    """Whether a person's word that the source is down is of the outage that lasts now; None: nobody knows.

    `facts`: of a plan made now. A source that was seen to answer after the word was given has come back: the
    word says nothing of what became of it since. Which of the two was first, the samples topic tells by its
    order, not the clocks of those who write there. Where a word has no place there, clocks decide only that
    both are of the same moment; where it has one, only the same record there proves that nothing was seen
    since. The newest word that tells when the source was seen last is the one that counts.
    """
    said = recorded_overrides(records)
    words = [plan.facts, *(data for data in said if data.get("option") == _ATTEST_DOWN)]
    told = [word for word in words if word.get(SOURCE_LAST_SEEN) is not None]
    return _is_of_one_outage(told[-1], facts) if told else None


def _is_of_one_outage(word: Mapping[str, Any], now: Mapping[str, Any]) -> bool | None:
    before, behind = word.get(SOURCE_LAST_PLACE), now.get(SOURCE_LAST_PLACE)
    if before is not None:
        if behind is None or behind < before:
            return None
        if behind > before:
            return False
        rounds_s = word.get(SOURCE_LAST_ROUND), now.get(SOURCE_LAST_ROUND)
        if None not in rounds_s:
            return True if rounds_s[0] == rounds_s[1] else None
    said_s, seen_s = word.get(SOURCE_LAST_SEEN) or LONG_AGO_S, now.get(SOURCE_LAST_SEEN) or LONG_AGO_S
    is_known = min(said_s, seen_s) > LONG_AGO_S and abs(seen_s - said_s) <= CLOCKS_APART_S
    return True if is_known else None


def override_text(data: Mapping[str, Any]) -> str:
    """One override in a line."""
    why = data.get("reason") or "no reason given"
    owner = f" for {data['owner']}" if data.get("owner") else ""
    value = "" if data.get("value") in (None, True) or owner else f" {data['value']}"
    return f"{data['option']}{value} by {data.get('by') or 'nobody named'}{owner}: {why}"


def recorded_overrides(records: Iterable[RunEvent]) -> list[dict[str, Any]]:
    """Those in a run's journal."""
    return [dict(record.data) for record in records if record.kind == "override"]
