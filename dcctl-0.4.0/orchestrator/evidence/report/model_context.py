"""Parts of the report's model: what it was made of, who made it, what it is held against, what it leaves
open.

The rules are those of `model`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from orchestrator.evidence.report.model_parts import MODEL_CONFIG, Count, Moment, Seconds

ObjectiveOutcome = Literal["met", "missed", "not measured"]
ObjectiveName = Literal["rto_s", "rpo_records", "rpo_s"]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class Recovery:
    """What a run came to in the terms of recovery; None where it was not measured.

    `rto_s`: the longest that any client was out of service. `rpo_records`: acknowledged records that the side
    that took over did not have (of several moves, at the worst of them; what arrived late, after a return,
    counts). `rpo_s`: how long before the fault the oldest of them had been acknowledged.
    """

    rto_s: Seconds | None = None
    rpo_records: Count | None = None
    rpo_s: Seconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class Objective:
    """One recovery objective of the topology file, and whether it was met. It does not change the verdict."""

    objective: float
    measured: float | None
    outcome: ObjectiveOutcome


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class Responsible:
    """Who ran it, and who agreed. Empty where nothing says so.

    `approval` says how it was agreed to, or that nobody was asked. `attested_by`: who said that the site is
    down or sick, and why.
    """

    who: str
    host: str
    command: str = ""
    reason: str = ""
    approved_by: str = ""
    approval: str = ""
    attested_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class TopologyFile:
    """The topology file as it was given; its copy lies beside the report as `name`."""

    name: str
    sha256: Sha256


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class EarlierReport:
    """An earlier report that lies beside this one, of a topology of the same name.

    `what`: what was rehearsed or done, as a fault or as moves there and back. `is_same_file`: by the digest;
    None where one of the two reports has none.
    """

    folder: str
    scenario: str
    what: str
    started_at: Moment
    verdict: str
    is_same_file: bool | None
    rto_s: Seconds | None = None
    rpo_records: Count | None = None
    rpo_s: Seconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class LossBudget:
    """What the topology file allows to be lost without asking."""

    records: Count | None = None
    seconds: Seconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class PlanSummary:
    """The plan in words, the budget it was held against, and what a person accepted beyond it."""

    description: tuple[str, ...] = ()
    loss_budget: LossBudget | None = None
    accepted_loss: Count | None = None
