"""How gates answer, and how answers are put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec

from orchestrator.errors import GateRefusedError, GateUnknownError
from orchestrator.ports.part import Part
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.plan import AskedAgain, GateOutcome, GateResult, OfOutage

P = ParamSpec("P")


def gate_result(  # noqa: PLR0917 - in the order in which it is read
    gate_id: str, outcome: GateOutcome, measured: str, limit: str, reason: str, hint: str = ""
) -> GateResult:
    """One gate's answer."""
    return GateResult(id=gate_id, outcome=outcome, measured=measured, limit=limit, reason=reason, hint=hint)


def asked_again(
    when: AskedAgain = "to act", of_outage: OfOutage = ""
) -> Callable[[Callable[P, GateResult]], Callable[P, GateResult]]:
    """A gate that has to hold as well when its run goes on; see `GateResult`."""

    def declared(gate: Callable[P, GateResult]) -> Callable[P, GateResult]:
        @wraps(gate)
        def asked(*args: P.args, **kwargs: P.kwargs) -> GateResult:
            return replace(gate(*args, **kwargs), asked_again=when, of_outage=of_outage)

        return asked

    return declared


def absent(gate_id: str, part: Part[Any], limit: str) -> GateResult:
    """What could not be measured is unknown, and says why."""
    hint = part.hint or f"make {part.source} reachable from this machine, and try again"
    return gate_result(gate_id, "unknown", "not measured", limit, f"{part.source}: {part.problem}", hint)


def as_far_as_known(part: Part[CoordinationState], gate: GateResult) -> GateResult:
    """Without the ensemble, good news of earlier runs is no more than what this machine has."""
    if gate.outcome != "ok" or part.value is None or not part.value.alone:
        return gate
    known = "as far as this machine and its copy of the estate record show"
    return replace(gate, reason=f"{known}: {gate.reason}")


def by_cause(gates: Iterable[GateResult]) -> list[list[GateResult]]:
    """The closed gates, those together that are closed for one reason; what refuses comes first.

    One server that does not answer closes many gates: that is said once.
    """
    alike: dict[tuple[str, str], list[GateResult]] = {}
    for gate in gates:
        if gate.outcome != "ok":
            alike.setdefault((gate.outcome, gate.reason), []).append(gate)
    return sorted(alike.values(), key=lambda found: found[0].outcome != "refused")


def hints_of(gates: Iterable[GateResult]) -> str:
    """Their hints, each once; one that another one contains is not repeated."""
    hints = dict.fromkeys(gate.hint for gate in gates if gate.hint)
    return "; ".join(hint for hint in hints if not any(hint != more and hint in more for more in hints))


def closed_text(gates: Iterable[GateResult]) -> tuple[str, str]:
    """What the closed gates say, and their hints. Refused and unknown both stop; every one is named."""
    found = by_cause(gates)
    said = "; ".join(
        f"{', '.join(f'{gate.id} {gate.outcome}' for gate in alike)}: {alike[0].reason}" for alike in found
    )
    return said, hints_of(gate for alike in found for gate in alike)


def error_of(gates: Iterable[GateResult]) -> type[GateRefusedError]:
    """Refused by one is refused; where none did, what could not be measured is unknown."""
    is_refused = any(gate.outcome == "refused" for gate in gates)
    return GateRefusedError if is_refused else GateUnknownError


def closed_error(
    subject: str, gates: Sequence[GateResult], *, so_far: str = "Nothing was changed"
) -> GateRefusedError:
    """For what is refused: every closed gate, with its reason and hint, and what has become `so_far`."""
    said, hints = closed_text(gates)
    closed = [gate.id for gate in gates if gate.outcome != "ok"]
    return error_of(gates)(subject, f"{said}. {so_far}", hints, gates=closed)
