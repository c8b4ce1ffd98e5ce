"""What the guards of a cluster's brokers have said, and what follows from it for a move: pure.

A guard that keeps its broker closed, or that sees it start open, says so again each second. Once an open
broker has listened for a while its guard says *open*, and no more; so that word stays as old as the broker's
start, and the word of a machine that is gone stays whatever it was: a word counts for a broker that answers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Literal

from pydantic.dataclasses import dataclass

SAID_LATELY_S = 15.0
# A broker that is stopped to open says nothing for as long, and does not answer either.
OPENS_WITHIN_S = 180.0

Said = Literal["open", "opening", "closed", ""]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardSaid:
    """The newest word of one server's guard. `broker_id` is None where the guard did not know it.

    `state`: *opening* from before it is asked whether the broker may be open until that has listened for a
    while; empty where the server's node holds nothing that can be read (it may just be being made).
    `has_listened`: of an open one, its guard has seen it listen; False too where an earlier version has
    said it, whose guard does not ask again. `beside`: why it should be closed by now, though it is open.
    """

    server: str
    state: Said = ""
    reason: str = ""
    host: str = ""
    at_s: float = 0.0
    broker_id: int | None = None
    has_listened: bool = False
    beside: str = ""

    def is_closed_lately(self, now_s: float) -> bool:
        """Closed, and its guard is at work."""
        return self.state == "closed" and abs(now_s - self.at_s) < SAID_LATELY_S

    def as_json(self) -> dict[str, Any]:
        """For the store and for `--json`."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteGuardSaid:
    """What the guard of a stretched cluster's server says, as long as its session lives.

    `state`: *held* while it starts nothing, for `reason`. `by_hand`: who had it started without an answer.
    """

    site: str
    state: Literal["held", "runs"]
    reason: str = ""
    by_hand: str = ""
    host: str = ""
    at_s: float = 0.0


def kept_closed(
    said: Collection[GuardSaid],
    brokers: int,
    now_s: float,
    living: Callable[[], Collection[int] | None],
) -> str:
    """Why the guards keep applications out of every broker of a cluster; empty where one may not.

    `brokers` is how many it has by the file. Where not each of them says so just now, `living` is asked for
    the ids of those that answer (None: nobody knows): what is gone lets nobody in.
    """
    closed = [word for word in said if word.is_closed_lately(now_s)]
    if not closed:
        return ""
    if len(closed) < brokers or len(closed) < len(said):
        answering = living()
        if not answering or not set(answering) <= {word.broker_id for word in closed}:
            return ""
    return closed[0].reason


def concerning(said: Iterable[GuardSaid], living: Collection[int], now_s: float) -> tuple[GuardSaid, ...]:
    """The words of brokers that answer, that may be opening just now, or of which nobody knows the id."""
    return tuple(
        word
        for word in said
        if word.broker_id is None or word.broker_id in living or abs(now_s - word.at_s) < OPENS_WITHIN_S
    )


def waited_for(said: Collection[GuardSaid], brokers: int, silent: Collection[str]) -> tuple[GuardSaid, ...]:
    """Of the words that concern a cluster of `brokers` brokers by the file, those that are not open.

    Whose word has no broker id may be of a machine that is gone. Where its guard is among the `silent`
    servers, it does not count once as many guards as there are brokers say *open*. A word that cannot be
    read counts: whether it changes cannot be told.
    """
    is_full = sum(word.state == "open" for word in said) >= brokers
    return tuple(
        word
        for word in said
        if word.state != "open"
        and not (is_full and word.state and word.broker_id is None and word.server in silent)
    )


def may_open_yet(said: Iterable[GuardSaid], since_s: float) -> tuple[GuardSaid, ...]:
    """The guards that let their broker start open since `since_s` (Unix seconds), or are at it now.

    Whether one is at it is told without a clock: clocks of machines differ.
    """
    return tuple(
        word
        for word in said
        if word.state == "opening" or (word.state == "open" and word.has_listened and word.at_s >= since_s)
    )


def not_clear(said: Iterable[GuardSaid], since_s: float) -> tuple[str, ...]:
    """Guards of which nobody can tell whether their broker may open yet, each in words."""
    found = []
    for word in said:
        if not word.state:
            found.append(f"what the guard of {word.server} has said cannot be read")
        elif word.state == "open" and not word.has_listened and word.at_s >= since_s:
            place = f" on {word.host}" if word.host else ""
            found.append(
                f"the guard of {word.server}{place} has let it start open since the source was seen last, "
                "and is of an earlier version, which does not ask again"
            )
    return tuple(found)
