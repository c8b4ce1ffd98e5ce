"""Parts of the report's model: times out of service, moves there and back, who measured a real run.

The rules are those of `model`. Moments are ISO 8601 text in the file, always UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, ConfigDict, Field
from pydantic.dataclasses import dataclass

MODEL_CONFIG = ConfigDict(extra="forbid", strict=True)
Seconds = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]


def _from_epoch(value: Any) -> Any:
    """Epoch seconds are taken as well, since everything inside the program counts in them."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return datetime.fromtimestamp(value, UTC).isoformat()
    return value


def _in_utc(value: datetime) -> datetime:
    return value.astimezone(UTC)


Moment = Annotated[AwareDatetime, BeforeValidator(_from_epoch), AfterValidator(_in_utc), Field(strict=False)]


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class ClientClock:
    """What was added to the times of one client before and after the move, to have the third place's time.

    Its time out of service is right within `plus_minus_s`. None: a ledger does not tell, and the times were
    compared as they are.
    """

    before_s: float | None
    after_s: float | None
    plus_minus_s: Seconds | None


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
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


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class MoveEvidence:
    """One move of a rehearsal that goes there and back. Records, except where a unit or word says otherwise.

    `late`: not copied when the source was lost, arrived after its return. Of `positions` so many were said to
    be `exact`, and so many were `wrong`, compared by content. `skipped`: records that a position passed over.
    `read_again`: processed before and after the move, `read_again_at_most` as the plan had said;
    `read_again_late`: the late ones among what was processed twice. `pause_s`: the longest time without an
    acknowledgement of any producer in any of its topics, None where one was not seen again;
    `consumer_pause_s`: the same of consumers and processed records (None as well in older reports).
    `late_at_most`: what the plan had said would be lost at most with the source; None where nothing was to be
    lost, and in older reports. Figures that rest on what could not be read are None.
    """

    verb: str
    run_id: str
    source: str
    target: str
    outcome: str
    seconds: Seconds
    pause_s: float | None
    consumer_pause_s: float | None = None
    late: Count | None
    positions: Count
    exact: Count
    wrong: Count | None
    skipped: Count | None
    read_again: Count | None
    read_again_at_most: Count | None
    read_again_late: Count | None
    late_at_most: Count | None = None


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class CanaryEvidence:
    """The canaries by whose ledgers a run is judged, from `since` on (None: nothing could be looked at).

    All figures of the report are theirs. Topics of the source and consumers without a canary were moved as
    well, and nobody measured them: beside them stands only what had been predicted.
    """

    clients: tuple[str, ...]
    since: Moment | None
    unmeasured_topics: tuple[str, ...]
    unmeasured_consumers: tuple[str, ...]
