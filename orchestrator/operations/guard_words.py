"""What the guards of a cluster's brokers have said in the ensemble: see `boot_guard`.

A guard that keeps its broker closed says so again each second. Where it opens the broker it says that once
and is gone, so the word of an open broker stays as old as its start, and that of a machine which is gone
stays whatever it was: a word counts for a broker that answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from orchestrator.adapters.zookeeper import Coordination

SAID_LATELY_S = 15.0
# A broker that is stopped to open says nothing for as long, and does not answer either.
OPENS_WITHIN_S = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardSaid:
    """The newest word of one server's guard. `broker_id` is None where the guard did not know it.

    `state` is empty where the server's node holds nothing that can be read (it may just be being made).
    """

    server: str
    state: Literal["open", "closed", ""] = ""
    reason: str = ""
    host: str = ""
    at_s: float = 0.0
    broker_id: int | None = None

    def is_closed_lately(self, now_s: float) -> bool:
        """Closed, and its guard is at work."""
        return self.state == "closed" and abs(now_s - self.at_s) < SAID_LATELY_S

    def as_json(self) -> dict[str, Any]:
        """For the store and for `--json`."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


_ADAPTER = TypeAdapter(GuardSaid)


def guards_path(topology: str, cluster: str) -> str:
    """Where each guarded server of a cluster says whether it is open."""
    return f"/dcctl/{topology}/guards/{cluster}"


def guards_said(coordination: Coordination, topology: str, cluster: str) -> tuple[GuardSaid, ...]:
    """The newest word of each guard, by server."""
    found = []
    for server, value in coordination.read_children(guards_path(topology, cluster)).items():
        try:
            found.append(_ADAPTER.validate_python({**json.loads(value or b"{}"), "server": server}))
        except (ValueError, TypeError, ValidationError):
            found.append(GuardSaid(server=server))
    return tuple(found)


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
