"""What `status` says of a cluster whose consumers would go where no mirror leads from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.errors import DcctlError
from orchestrator.moves.participants import Participants
from orchestrator.moves.request import FailoverRequest
from orchestrator.moves.routed import routed
from orchestrator.moves.routes import moving_consumers
from orchestrator.runs.coordination_state import EarlierRun, newest_move
from orchestrator.runs.live.servers import Servers
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.snapshot.watcher_records import age_s
from orchestrator.topology.model import Topology
from orchestrator.topology.standby import kept_for
from orchestrator.verbs.live.move_estate import open_estate
from orchestrator.verbs.live.observe import observe
from orchestrator.verbs.live.real_servers import REAL_SERVERS
from orchestrator.verbs.plans import plan_failover
from orchestrator.verbs.registration import who_can_move
from orchestrator.watch.away import away_in_parts
from orchestrator.watch.if_lost import groups_told, not_movable, would_refuse


def unmirrored(topology: Topology, target: str | None = None) -> list[tuple[str, str]]:
    """Clusters whose consumers would go where no mirror leads from them, with that place; or to `target`."""
    return [
        (left, place)
        for place in topology.clusters
        if target in {None, place}
        for left in kept_for(topology, place)
        if topology.mirror(left, place) is None
    ]


def place_status(
    topology: Topology,
    left: str,
    entered: str,
    *,
    servers: Servers = REAL_SERVERS,
    them: Participants | None = None,
) -> dict[str, Any]:
    """What losing `left` now would mean for its consumers that would go to `entered`.

    `working_at`: where the newest move between the two has left them; `open_run`: one that is not done.
    """
    them, unmoved = (them, ()) if them else who_can_move(topology)
    told: dict[str, Any] = {"left": left, "entered": entered, "problem": ""}
    try:
        way = routed(topology, left, entered, left, them, reach="gone")
    except DcctlError as error:
        return {**told, "problem": f"{error.subject} {error.problem}", "would_refuse": [not_movable(error)]}
    estate = open_estate(servers, topology, way, them)
    try:
        seen = observe(estate, way, them=them)
    finally:
        estate.close()
    attested = topology.clusters[left].datacenters
    plan = plan_failover(topology, seen, FailoverRequest(attested=attested, to=entered), them=them)
    history = seen.cluster(left).samples.value or SampleHistory()
    state, probe = seen.coordination.value, seen.cluster(left).probe.value
    newest = newest_move(state.runs, left, entered) if state else None
    apart = away_in_parts(topology, state, left, entered)
    is_open = newest is not None and newest.outcome in {"incomplete", "unknown"} and not newest.let_stand
    last = history.last_sign_of_life_s
    return {
        **told,
        "at_s": seen.at_s,
        "answers": None if probe is None else probe.answers,
        "working_at": None if state is None else _working_at(newest, apart, estate.groups, left, entered),
        "away": apart,
        "open_run": newest.run_id if newest is not None and is_open else "",
        "watcher_round_age_s": None if last is None else age_s(seen.at_s, last),
        "watcher_problem": seen.cluster(left).samples.problem,
        "groups": groups_told(moving_consumers(estate.way), plan),
        "would_refuse": [*map(not_movable, unmoved), *would_refuse(plan)],
    }


def _working_at(
    newest: EarlierRun | None, apart: Mapping[str, str], names: Iterable[str], left: str, entered: str
) -> str:
    """Where all of them work; the cluster that is left as long as any is there."""
    if apart:
        return entered if set(names) <= apart.keys() else left
    return newest.target if newest and newest.outcome == "ok" and newest.part is None else left
