"""The report's part about times out of service. Its rules are those of `model`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

_CONFIG = ConfigDict(extra="forbid", strict=True)
Seconds = Annotated[float, Field(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class ClientClock:
    """What was added to the times of one client before and after the move, to have the third place's time.

    Its time out of service is right within `plus_minus_s`. None: a ledger does not tell, and the times were
    compared as they are.
    """

    before_s: float | None
    after_s: float | None
    plus_minus_s: Seconds | None


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Rto:
    """Time out of service: the last success before the fault to the first one after it.

    `seconds` is the longest of all clients, None where one of them is not known. A client with None was not
    seen again within `limit_s`; a producer is, once each of its topics has taken a record (`per_topic`).
    `decision_to_…` count from the decision on, as far as they were measured. `clocks`: by how much the times
    of a client were set right before they were compared.
    """

    seconds: Seconds | None
    per_producer: Mapping[str, Seconds | None] = field(default_factory=dict)
    per_consumer: Mapping[str, Seconds | None] = field(default_factory=dict)
    per_topic: Mapping[str, Mapping[str, Seconds | None]] = field(default_factory=dict)
    clocks: Mapping[str, ClientClock] = field(default_factory=dict)
    limit_s: Seconds | None = None
    decision_to_first_ack_s: Seconds | None = None
    decision_to_first_record_s: Seconds | None = None

    @property
    def missing(self) -> tuple[str, ...]:
        """Clients that were not seen again."""
        clients = {**self.per_producer, **self.per_consumer}
        return tuple(name for name, seconds in clients.items() if seconds is None)
