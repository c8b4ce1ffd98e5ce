"""The gates of every move, whatever its verb: refused and unknown both stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from orchestrator.moves.gates.ensemble import (
    coordination,
    moved_away,
    needed,
    not_flapping,
    not_held,
    same_clusters,
    source_primary,
)
from orchestrator.moves.gates.entered import clients_startable, entered_fenceable, same_topics, target_healthy
from orchestrator.moves.gates.landing import landing_alone, landing_read
from orchestrator.moves.gates.other_site import other_site
from orchestrator.moves.gates.selection import is_in_parts, selection
from orchestrator.moves.gates.source import (
    attested,
    fenced_or_accepted,
    partial_fenceable,
    source_degraded,
    source_healthy,
    source_unreachable,
    standby_healthy,
)
from orchestrator.moves.participants import Participants
from orchestrator.moves.situation import Situation
from orchestrator.moves.way import Case, Leg
from orchestrator.moves.ways import legs_of
from orchestrator.runs.plan import GateResult

Gate = Callable[[Situation], GateResult]

_EVERY: tuple[Case, ...] = ("gone", "partial", "planned", "back")
_PLACES: Mapping[Gate, tuple[Case, ...]] = {
    attested: ("gone", "partial"),
    coordination: _EVERY,
    not_held: _EVERY,
    same_clusters: _EVERY,
    needed: _EVERY,
    other_site: _EVERY,
    selection: _EVERY,
    landing_alone: ("gone", "partial", "planned"),
    landing_read: _EVERY,
    not_flapping: _EVERY,
    moved_away: ("back",),
    source_primary: _EVERY,
    source_unreachable: ("gone",),
    source_degraded: ("partial",),
    source_healthy: ("planned",),
    standby_healthy: ("back",),
    fenced_or_accepted: ("partial",),
    partial_fenceable: ("planned", "back"),
    target_healthy: _EVERY,
    same_topics: ("back",),
}
"""In the order in which a person would ask, each with the cases in which it counts."""


def _is_about(gate: Gate, s: Situation) -> bool:
    """Where no topic moves, nothing becomes primary; only of two active sites there is another one, and where
    all moves together nobody is chosen. Only an aggregation has consumers where a source's producers come to.
    """
    if gate is other_site:
        return _is_active(s)
    if gate is selection:
        return is_in_parts(s)
    if gate in {landing_alone, landing_read}:
        is_about = gate is landing_read or bool(s.way.topics)
        return is_about and s.topology.is_laid_out({"aggregation"})
    return gate is not source_primary or bool(s.way.topics)


def _is_active(s: Situation) -> bool:
    return all(s.topology.mirror(*pair) for pair in ((s.left, s.entered), (s.entered, s.left)))


def gates_of(s: Situation, them: Participants, kept_off: tuple[str, ...] | None) -> tuple[GateResult, ...]:
    """Every gate of a way: of its places, of what copies, of each kind of applications, of hosts.

    `kept_off`: principals that the place entered is kept free of until it takes over; None where it is not.
    """
    places = [gate(s) for gate, cases in _PLACES.items() if s.case in cases and _is_about(gate, s)]
    if kept_off is not None:
        places.append(entered_fenceable(s, kept_off))
    engines: dict[str, list[Leg]] = {}
    for leg in legs_of(s.way):
        engines.setdefault(them.engine(s.topology, leg.mirror).name, []).append(leg)
    of_routes = [them.engine(s.topology, legs[0].mirror).route_gates(s, legs) for legs in engines.values()]
    programs = [p for kind in them.kinds for p in kind.programs(s.topology, s.way.named(kind.name))]
    return (
        *places,
        *(() if s.way.main is None else them.engine(s.topology, s.feed).gates(s)),
        *(gate for found in of_routes for gate in found),
        *(gate for kind in them.kinds for gate in kind.gates(s)),
        clients_startable(s, programs),
    )
