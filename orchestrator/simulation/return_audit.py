"""The audit of a simulation in which applications were moved there and back, from the results of its runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.evidence.audit.inputs import SEEN_WITHIN_S
from orchestrator.evidence.audit.result import Finding
from orchestrator.evidence.audit.round_trip import (
    Move,
    MoveFigures,
    RoundTrip,
    TopicFigures,
    findings,
    move_figures,
    topic_figures,
)
from orchestrator.evidence.audit.round_trip_reading import Names, read_ledgers, read_side
from orchestrator.replication.offsets_json import offsets_from_json
from orchestrator.replication.positions_back import reverse_mirror
from orchestrator.simulation.running import Simulation
from orchestrator.topology.model import Replication


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedReturns:
    """What was found. `topics`: cluster -> topic."""

    topics: Mapping[str, Mapping[str, TopicFigures]]
    moves: Sequence[MoveFigures]
    findings: Sequence[Finding]


def audit_returns(
    simulation: Simulation,
    mirror: Replication,
    results: Iterable[Mapping[str, Any]],
    *,
    seen_within_s: float = SEEN_WITHIN_S,
) -> AuditedReturns:
    """Compare all lives of all clients with what stands at both sides.

    `results` of the moves in their order, as they lie in `result.json`; the last one led to the mirror's
    source. Nothing is written any more, and everything has been read and copied. `seen_within_s`: how long a
    client may be away; more where somebody ends dcctl on its way, and goes on with it when they like.
    """
    trip = replace(
        _round_trip(simulation, mirror, [_move(result) for result in results]), seen_within_s=seen_within_s
    )
    topics = {
        cluster: {name: topic_figures(trip, name, cluster) for name in trip.topics}
        for cluster in (mirror.source, mirror.target)
    }
    moves = move_figures(trip)
    return AuditedReturns(topics=topics, moves=moves, findings=list(findings(trip, moves, topics)))


def _round_trip(simulation: Simulation, mirror: Replication, moves: Sequence[Move]) -> RoundTrip:
    topology = simulation.topology
    home, standby, back = mirror.source, mirror.target, reverse_mirror(mirror)
    names = Names([producer.name for producer in topology.producers])
    consumers = topology.consumers_of(home)
    places = {
        home: {name: (name, back.mirrored_topic(name)) for name in mirror.topics},
        standby: {name: (name, mirror.mirrored_topic(name)) for name in mirror.topics},
    }
    return RoundTrip(
        home=home,
        logs={
            cluster: read_side(
                simulation.cluster(cluster), [topic for both in found.values() for topic in both], names
            )
            for cluster, found in places.items()
        },
        topics={name: {cluster: places[cluster][name] for cluster in places} for name in mirror.topics},
        reads={c.name: [topic for topic in c.topics if topic in mirror.topics] for c in consumers},
        moves=moves,
        ledgers=read_ledgers(
            simulation.ledgers,
            {producer.name: producer.topics for producer in topology.producers_of(home)},
            [consumer.name for consumer in consumers],
            names,
        ),
    )


def _move(result: Mapping[str, Any]) -> Move:
    reread: Mapping[str, Mapping[str, Any]] = result["predicted"]["reread"]
    return Move(
        verb=str(result["plan"]["verb"]),
        run_id=str(result["run_id"]),
        source=str(result["source"]),
        target=str(result["target"]),
        outcome=str(result["outcome"]),
        # From when it was first asked for: applications may have worked again before it was resumed.
        seconds=float(result["ended_at_s"]) - float(result["asked_at_s"]),
        started_at_s=float(result["asked_at_s"]),
        positions=[
            *result["translations"],
            *(row for query in result["spark"] for row in query["positions"]),
        ],
        mirrored_ends=offsets_from_json(result["fence_offsets"]["mirrored"]),
        reread_at_most={name: cost.get("at_most") for name, cost in reread.items()},
    )
