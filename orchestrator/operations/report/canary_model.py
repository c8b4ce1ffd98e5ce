"""The report's part about who measured a real run, and what nobody did. Its rules are those of `model`."""

from __future__ import annotations

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from orchestrator.operations.report.moments import Moment

_CONFIG = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class CanaryEvidence:
    """The canaries by whose ledgers a run is judged, from `since` on (None: nothing could be looked at).

    All figures of the report are theirs. Topics of the source and consumers without a canary were moved as
    well, and nobody measured them: beside them stands only what had been predicted.
    """

    clients: tuple[str, ...]
    since: Moment | None
    unmeasured_topics: tuple[str, ...]
    unmeasured_consumers: tuple[str, ...]
