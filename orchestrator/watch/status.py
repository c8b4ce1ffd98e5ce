"""If the source of a mirror were lost now: what would be lost, read again, and refused.

The answer is a failover's own plan, made without wanting one, so that `status` never says anything that
`failover` would not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from orchestrator.errors import DcctlError, UsageError
from orchestrator.guards.live.guard_reading import guards_said
from orchestrator.moves.active_site import active_site
from orchestrator.moves.fence import fenced
from orchestrator.moves.in_status import Known
from orchestrator.moves.not_copied import COPY_AGAIN
from orchestrator.moves.participants import Participants
from orchestrator.moves.primary_gate import Reality, grown_since_departure, primary_drift, primary_rows
from orchestrator.moves.request import FailoverRequest
from orchestrator.moves.routes import moving_consumers
from orchestrator.moves.support import refuse_unsupported
from orchestrator.moves.ways import way_along
from orchestrator.replication.copied_again import copied_again_at_most
from orchestrator.replication.engine import MirrorHealth
from orchestrator.replication.mirror_ref import mirrors_into, ref_to
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.runs.attempts import listed_by_last
from orchestrator.runs.coordination_state import EarlierRun, newest_move
from orchestrator.runs.engine import state_from_journal
from orchestrator.runs.estate_record import LogsAtDeparture, RunEnded, logs_at_departure
from orchestrator.runs.live.estate_facts import read_facts
from orchestrator.runs.live.history import coordination_of
from orchestrator.runs.live.holds import hold_rows
from orchestrator.runs.live.journal import journal_records
from orchestrator.runs.live.procedure import plan_of_run
from orchestrator.runs.live.servers import Servers
from orchestrator.runs.live.state_folder import run_folder
from orchestrator.runs.plan import Plan, RunEvent
from orchestrator.runs.registry import Registry
from orchestrator.runs.where_now import where_now
from orchestrator.snapshot.observation import SourceProbe
from orchestrator.snapshot.samples import LossWindow, SampleHistory
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.snapshot.watcher_records import age_s
from orchestrator.topology.model import Replication, Topology
from orchestrator.topology.standby import standbys_of
from orchestrator.verbs.live.move_estate import Estate, engine_along, open_estate
from orchestrator.verbs.live.observe import observe
from orchestrator.verbs.live.real_servers import REAL_SERVERS
from orchestrator.verbs.live.standing_denials import fence_rows
from orchestrator.verbs.registration import effects_of, effects_with, who_can_move
from orchestrator.watch.away import away_in_parts
from orchestrator.watch.cluster_status import cluster_status
from orchestrator.watch.health import silent_gaps
from orchestrator.watch.if_lost import groups_told, loss_told, not_movable, plan_if_lost, would_refuse
from orchestrator.watch.place_status import place_status, unmirrored
from orchestrator.watch.status_parts import rows_of_kinds, status_parts
from orchestrator.watch.watcher import INTERVAL_S
from orchestrator.wording import listed

_GROWING_S = 10.0


def topology_status(topology: Topology, target: str | None = None) -> dict[str, Any]:
    """The status of each mirror (of those into `target`), as `dcctl status --json` prints it.

    `places`: of each cluster whose consumers would go where no mirror leads from it. Mirrors into a centre
    along which the file sends nobody only copy, and have no row.

    `clusters`: the one of a file without a mirror, and whichever lie at several sites; see
    `watch.cluster_status`.

    Raises `UsageError` without such a mirror, and `DcctlError` where the file lacks the target's
    addresses. A target that does not answer is part of the status, not an error.
    """
    if topology.is_one_cluster:
        if target:
            raise UsageError(f"--target {target}", "the file has no mirror", "leave --target out")
        holds = _holds(topology)
        return {
            "topology": topology.name,
            **holds,
            **_fences(topology, holds["holds_problem"]),
            "mirrors": [],
            "places": [],
            "clusters": [cluster_status(topology, cluster) for cluster in topology.clusters],
        }
    refuse_unsupported(topology, "status")
    places = [place_status(topology, left, entered) for left, entered in unmirrored(topology, target)]
    mirrors = mirrors_told(topology, target)
    return {
        "topology": topology.name,
        **(holds := _holds(topology)),
        **_fences(topology, holds["holds_problem"]),
        "mirrors": [mirror_status(topology, mirror) for mirror in mirrors],
        "places": places,
        "clusters": [
            cluster_status(topology, name)
            for name, one in topology.clusters.items()
            if len(one.datacenters) > 1 and target is None
        ],
    }


def mirrors_told(topology: Topology, target: str | None) -> tuple[Replication, ...]:
    """Those along which applications would go, by the file. Raises `UsageError` where there is no mirror."""
    if topology.is_laid_out({"aggregation"}):
        into = (mirror for mirror in topology.replication if target in {None, mirror.target})
        return tuple(mirror for mirror in into if mirror.target in standbys_of(topology, mirror.source))
    return () if target and unmirrored(topology, target) else mirrors_into(topology, target)


def _holds(topology: Topology) -> dict[str, Any]:
    """Who keeps our hands off something, or why that cannot be told."""
    try:
        return {"holds": hold_rows(topology), "holds_problem": ""}
    except DcctlError as error:
        return {"holds": None, "holds_problem": f"{error.subject}: {error.problem}"}


def _fences(topology: Topology, problem: str) -> dict[str, Any]:
    """Who is denied at which cluster by a fence that nobody has lifted, or why that cannot be told.

    `problem`: why the ensemble does not tell anything; it is not asked, and waited for, once more.
    """
    if problem:
        return {"fences": None, "fences_problem": problem}
    try:
        with coordination_of(topology) as coordination:
            rows = fence_rows(coordination, topology.name)
    except DcctlError as error:
        return {"fences": None, "fences_problem": f"{error.subject}: {error.problem}"}
    told = [{**row, "not_in_file": _not_in_file(topology, row)} for row in rows]
    return {"fences": told, "fences_problem": ""}


def _not_in_file(topology: Topology, fence: Mapping[str, Any]) -> list[str]:
    """Who is denied, and not let in by an unfence with this file: it has none of their applications there."""
    try:
        known = fenced(topology, fence["cluster"], with_consumers=True).principals
    except UsageError:
        return []
    return sorted({*(fence["writing"] or ()), *(fence["reading"] or ())}.difference(known))


def mirror_status(
    topology: Topology,
    mirror: Replication,
    *,
    servers: Servers = REAL_SERVERS,
    them: Participants | None = None,
) -> dict[str, Any]:
    """The status of one mirror. `them`: who takes part in moves along it, by default as the file says."""
    feed, effects = ref_to(mirror), effects_of(topology) if them is None else effects_with(them)
    them, unmoved = (them, ()) if them else who_can_move(topology)
    way = way_along(topology, feed, them, reach="gone")
    estate = open_estate(servers, topology, way, them)
    try:
        observation = observe(estate, way, them=them)
        health = engine_along(topology, feed, them).health(estate.asked(), mirror, servers.clock.now_s())
        guards = _guards(estate, observation.at_s)
        landed = _grown_since(estate, observation)
        left = _ends_left(estate)
        last_move = _last_move(estate, observation, effects)
    finally:
        estate.close()
    attested = topology.clusters[mirror.source].datacenters
    request = FailoverRequest(attested=attested, to=mirror.target)
    plan = plan_if_lost(topology, observation, request, feed, them)
    history = observation.mirror(feed).samples.value or SampleHistory()
    window = history.loss_window()
    judged_at_s = history.ages_at_s(observation.at_s)
    told = {
        "source": mirror.source,
        "target": mirror.target,
        "at_s": observation.at_s,
        **_source(observation.cluster(mirror.source).probe.value, window),
        "source_datacenters": list(attested),
        **_primary(topology, mirror, observation, history, landed, left),
        "last_move": last_move,
        "guards": guards,
        "watcher": _watcher(observation.at_s, history, observation.mirror(feed).samples.problem),
        "mirror": _mirror(
            mirror,
            health,
            history,
            plan,
            history.comparable_s(observation.at_s),
            observation.mirror(feed).offset_map.value,
        ),
        "loss": loss_told(plan),
        "groups": groups_told(moving_consumers(estate.way), plan),
    }
    refused = {"would_refuse": [*map(not_movable, unmoved), *would_refuse(plan)]}
    parts = status_parts(consumers := topology.consumers_of(mirror.source))
    known = Known(consumers=consumers, plan=plan, history=history, seen=observation, judged_at_s=judged_at_s)
    return told | rows_of_kinds(parts, known, taken=[*told, *refused]) | refused


def _guards(estate: Estate, now_s: float) -> list[dict[str, Any]] | None:
    """What the guards of the source's brokers have said; None where it cannot be read.

    `is_at_work`: the guard of a closed broker says it again each second. `age_s` is None where the clocks of
    the two machines differ, see `watcher_records.age_s`.
    """
    if estate.coordination is None:
        return None
    try:
        said = guards_said(estate.coordination, estate.topology.name, estate.mirror.source)
    except DcctlError:
        return None
    return [
        {**word.as_json(), "age_s": age_s(now_s, word.at_s), "is_at_work": word.is_closed_lately(now_s)}
        for word in said
    ]


def _grown_since(estate: Estate, observation: Snapshot) -> frozenset[str]:
    """Landing topics that have grown at the target since they were observed: somebody writes there."""
    seen = observation.cluster(estate.feed.target).log_ends.value or {}
    # Where the file has writers of its own there, that they write is no news.
    own = [
        tp
        for tp in seen
        if tp.topic in estate.mirror.topics and estate.topology.topic(tp.topic, estate.feed.target) is None
    ]
    try:
        now = estate.target.end_offsets(own)
    except DcctlError:
        return frozenset()
    return frozenset(tp.topic for tp, end in now.items() if end > seen[tp].end_offset)


def _primary(  # noqa: PLR0917 - what is known of two sides
    topology: Topology,
    mirror: Replication,
    observation: Snapshot,
    history: SampleHistory,
    landed: frozenset[str],
    left: Mapping[str, int],
) -> dict[str, Any]:
    """Which side is primary for each topic, and where the world does not agree, or may not.

    `left`: where the logs of the source ended when applications last left it, all partitions of a topic
    together.
    """
    state = observation.coordination.value
    rows = primary_rows(topology, mirror, None if state is None else state.primaries)
    newest = newest_move(state.runs, mirror.source, mirror.target) if state is not None else None
    was_lost = newest is not None and newest.verb == "failover"
    moved = {str(row["topic"]) for row in rows if row["primary"] == mirror.target}
    is_lost = history.loss_window() is not None
    readings = {
        name: history.topic_end_readings(name, _GROWING_S) for name in (() if is_lost else mirror.topics)
    }
    now_s = history.comparable_s(observation.at_s)
    ages = {name: age_s(now_s, found[-1].begun_at_s) for name, found in readings.items() if found}
    stale = {name: age for name, age in ages.items() if name in moved and (age is None or age > _GROWING_S)}
    grown = {
        name: grown_since_departure(
            [reading.value for reading in found if name not in stale],
            left.get(name) if name in moved else None,
            was_lost=was_lost,
        )
        for name, found in readings.items()
    }
    at_source = frozenset(name for name, has_grown in grown.items() if has_grown)
    growing = {mirror.target: landed, mirror.source: at_source}
    apart = away_in_parts(topology, state, mirror.source, mirror.target)
    reality = Reality(
        connectors=observation.mirror(ref_to(mirror)).states.value, growing=growing, is_in_parts=bool(apart)
    )
    unseen = sorted(name for name in moved & grown.keys() - stale.keys() if grown[name] is None)
    side = active_site(mirror.target, rows, newest, state.holder if state is not None else "")
    return {
        "primary": rows,
        "primary_drift": primary_drift(mirror, rows, reality),
        "primary_unseen": list(_unseen(mirror.source, unseen, stale)),
        "working_side": side.as_json(),
        "away": apart,
    }


def _unseen(left: str, unread: Sequence[str], stale: Mapping[str, float | None]) -> Iterator[str]:
    """Of which topics it is not known whether they are still written at the side that was left, and why."""

    def unknown(topics: Sequence[str], why: str) -> str:
        return f"whether anybody still writes {listed(topics)} at {left} is unknown: {why}"

    if unread:
        yield unknown(unread, "the watcher has not read their end offsets twice since applications left")
    if not stale:
        return
    oldest = max(stale.values(), key=lambda age: float("inf") if age is None else age)
    when = "at an unknown time, because clocks differ" if oldest is None else f"{oldest:,.0f} s ago"
    yield unknown(sorted(stale), f"the watcher has last read their end offsets {when}")


def _ends_left(estate: Estate) -> dict[str, int]:
    """Where each topic of the source ended when applications last left it; none where nobody recorded it."""
    if estate.coordination is None:
        return {}
    try:
        facts = read_facts(estate.coordination, estate.topology.name, (LogsAtDeparture, RunEnded))
    except DcctlError:
        return {}
    found = logs_at_departure(facts, estate.mirror.source)
    ends: dict[str, int] = {}
    for topic, _, end, _ in found.ends if found is not None else ():
        ends[topic] = ends.get(topic, 0) + end
    return ends


def _last_move(estate: Estate, observation: Snapshot, effects: Registry) -> dict[str, Any] | None:
    """The newest move between the two sides, and who has not been seen at work since; None without one.

    `not_seen` is None where the journal cannot tell it. `waits_for`: words of a person that would end
    the move's last looks. `where_now`: of a move that is not done, what is recorded as primary and what the
    move holds, in a sentence.
    """
    state, mirror = observation.coordination.value, estate.mirror
    run = newest_move(state.runs, mirror.source, mirror.target) if state is not None else None
    if run is None or estate.coordination is None:
        return None
    told: dict[str, Any] = {"run_id": run.run_id, "target": run.target, "outcome": run.outcome}
    try:
        folder = run_folder(run.run_id)
        records = journal_records(estate.coordination, estate.topology.name, run.run_id, folder)
    except DcctlError as error:
        return {
            **told,
            "not_seen": None,
            "waits_for": [],
            "where_now": "",
            "problem": f"{error.subject}: {error.problem}",
        }
    not_seen = sorted(listed_by_last(records, "not_seen"))
    waits_for = [asdict(word) for word in run.waits_for]
    now = _where_now(run, records, effects)
    return {**told, "not_seen": not_seen, "waits_for": waits_for, "where_now": now, "problem": ""}


def _where_now(run: EarlierRun, records: Sequence[RunEvent], effects: Registry) -> str:
    """Empty for a move that is done, or taken back, and for one whose plan cannot be read."""
    if run.outcome not in ("incomplete", "unknown"):
        return ""
    try:
        return where_now(state_from_journal(plan_of_run(records), run.run_id, records), effects)
    except (DcctlError, KeyError):
        return ""


def _source(probe: SourceProbe | None, window: LossWindow | None) -> dict[str, Any]:
    return {
        "source_answers": None if probe is None else probe.answers,
        "source_silent": [] if probe is None else sorted(probe.addresses.keys() - set(probe.listening)),
        "lost_between_s": [window.last_good_at_s, window.first_failed_at_s] if window else None,
    }


def _watcher(now_s: float, history: SampleHistory, problem: str) -> dict[str, Any]:
    last, good = history.last_sign_of_life_s, history.last_good_at_s
    return {
        "names": sorted(history.watchers),
        "round_age_s": None if last is None else age_s(now_s, last),
        "good_round_age_s": None if good is None else age_s(now_s, good),
        "clock_ahead_s": history.ahead_s(now_s),
        "aim_s": INTERVAL_S,
        "unreadable_records": history.unreadable,
        "problem": problem,
    }


def _mirror(  # noqa: PLR0917 - a mirror, and all that is known of it
    mirror: Replication,
    health: MirrorHealth,
    history: SampleHistory,
    plan: Plan,
    now_s: float,
    offset_map: OffsetMap | None,
) -> dict[str, Any]:
    ends = {tp: log for tp, log in history.newest_ends().items() if tp.topic in mirror.topics}
    lag: dict[str, int] = {}
    for tp, records in health.lag_records(ends).items():
        lag[tp.topic] = lag.get(tp.topic, 0) + records
    heartbeat = health.heartbeat_at_s
    gaps = silent_gaps(health, history.sampled_ends(), history.recreated)
    return {
        "states": dict(health.states),
        "lag_records": lag,
        # How long catching up takes then no watcher knows: it keeps records, and not how many bytes they are.
        **({} if mirror.max_bytes_per_s is None else {"max_bytes_per_s": mirror.max_bytes_per_s}),
        "heartbeat_at_s": heartbeat,
        "heartbeat_age_s": None if heartbeat is None else age_s(now_s, heartbeat),
        "gaps": {**_passed_over(plan), **{str(tp): what for tp, what in sorted(gaps.items())}},
        "problems": list(health.problems),
        "copied_again_records": None
        if offset_map is None
        else sum(
            # Syncs tell of heartbeats as well, which nobody reads.
            offset_map.copied_again(tp)
            for tp in offset_map.partitions
            if tp.topic in mirror.topics
        ),
        "copied_again_if_killed_at_most": _copied_again_if_killed(mirror, health, history),
    }


def _copied_again_if_killed(mirror: Replication, health: MirrorHealth, history: SampleHistory) -> int | None:
    """What its workers, killed now, would copy once more: all that was copied since they stored their place.

    Whoever reads the copies reads these records twice. None where a rate or the lag is not known.
    """
    ends = {tp: log for tp, log in history.newest_ends().items() if tp.topic in mirror.topics}
    lag = health.lag_records(ends)
    rates = [history.rate_records_per_s(tp) for tp in ends]
    if not ends or None in rates or lag.keys() < ends.keys():
        return None
    return copied_again_at_most(
        rate_records_per_s=sum(filter(None, rates)),
        behind_records=sum(lag.values()),
        flush_interval_s=mirror.offset_flush_interval_s,
    )


def _passed_over(plan: Plan) -> dict[str, str]:
    """Topics whose beginning was perhaps never copied, or is gone with a copy that was deleted."""
    found = {
        topic: f"{records:,} records were skipped by the mirror and are not at the target; {COPY_AGAIN}"
        for topic, records in plan.facts.get("not_copied", {}).items()
    }
    return found | {
        topic: "was deleted and created again at the source; its first "
        f"{anew['passed_over']:,} records may not be copied"
        for topic, anew in plan.facts.get("made_anew", {}).items()
        if anew["passed_over"]
    }
