"""What an audit finds: parts of `report.json`, and findings that the figures alone do not show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

Verdict = Literal["valid", "invalid", "unknown"]


class Finding(NamedTuple):
    """One thing that forbids a valid verdict. `reason` names the topic partition or the client."""

    verdict: Literal["invalid", "unknown"]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """The parts that an audit contributes to a report, with the report's own keys. `moves`: `MoveFigures` of
    several.

    A figure that could not be measured is None, never 0, and a finding says why.
    """

    clusters: Mapping[str, Any] = field(default_factory=dict)
    consumers: Sequence[Mapping[str, Any]] = ()
    spark: Sequence[Mapping[str, Any]] = ()
    rto: Mapping[str, Any] = field(default_factory=dict)
    series: Mapping[str, Any] = field(default_factory=dict)
    moves: Sequence[Any] = ()
    findings: Sequence[Finding] = ()

    def parts(self) -> dict[str, Any]:
        """clusters, consumers, spark, rto, series and moves, ready for `report.json`."""
        parts = asdict(self)
        del parts["findings"]
        return parts

    def to_json(self) -> dict[str, Any]:
        """Everything, findings included."""
        return self.parts() | {"findings": [finding._asdict() for finding in self.findings]}
