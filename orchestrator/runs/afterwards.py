"""What becomes of each application that a plan moves: what it reads and writes, and where it begins.

Every number is a bound in offsets: markers of transactions and gaps of compaction count as records. What the
picture that the plan was made from does not tell is None, and `reason` says why; it is never 0.
"""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

_CONFIG = ConfigDict(extra="forbid")

Begins = Literal["translated", "same-log", "fenced-end", "log-start", "own-position"]
"""translated: its position at the place left, led along `route`. same-log: the position that it has, in the
same log. fenced-end: where the topic ends once its producers are fenced, recorded by the move. log-start:
where the log begins. own-position: the one that it, or its group, has at the place entered already.
"""


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class TopicRead:
    """One topic that a consumer reads at the place entered.

    `left`: the topic at the place left that it goes on in there; empty where it has read nothing of it.
    `route`: the maps that lead its position there, `inverse of west→A, then west→B`; `same log`; empty where
    none does. `unread_now`: records behind its position when the plan was made; `unread_at_most`: when
    producers begin there, and what they write is new. `reread_at_most`: records that it reads again;
    `reread_if_source_returns`: further ones that it may have read, and that come once a lost source is back.
    `out_of_order_at_most`: records that come late, behind newer ones of the same producers that it reads in
    `newer_in`. Kafka keeps no order between two topics: what it has unread here when it begins it may read
    behind what is written there.
    """

    topic: str
    begins: Begins
    left: str = ""
    route: str = ""
    unread_now: int | None = None
    unread_at_most: int | None = None
    reread_at_most: int | None = None
    reread_if_source_returns: int | None = 0
    out_of_order_at_most: int | None = None
    newer_in: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class TopicWritten:
    """One topic that a producer writes at the place entered. `others`: producers that write it there too."""

    topic: str
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Afterwards:
    """One application after a move: it works at `cluster`.

    `never_in_order`: topics that it reads whose records are produced at several clusters under one name. Keys
    that are written at both never had an order, before the move or after it. `reason`: why nothing is said of
    what it reads; empty where it is.
    """

    name: str
    kind: str
    cluster: str
    reads: tuple[TopicRead, ...] = ()
    writes: tuple[TopicWritten, ...] = ()
    never_in_order: tuple[str, ...] = ()
    reason: str = ""
