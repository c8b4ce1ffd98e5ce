"""What stands changed within a cluster until a failback: as values for JSON, and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.within_clusters import Quorum, left_out_as_json, left_out_in_words
from orchestrator.topology.verbs import put_back_command
from orchestrator.wording import listed


def standing_changes(state: CoordinationState | None, cluster: str) -> dict[str, Any]:
    """Each null where the ensemble does not tell.

    `evacuated`, `sites_off`, `quorum_without`: names of sites; `reordered`: replicas stand in another order
    than before; `lowered`: `min.insync.replicas` by topic; `services_stopped`: names of servers;
    `is_quorum_between`: a change of the quorum was begun, and its end is not recorded; `voters_left_out`: by
    site the ids of voters without a vote, where others of the site have one; `voters_dropped`: ids of
    voters that are taken out of a living quorum, or being so, where not all of their site are known to be;
    `applications_at`: the site of each program that runs elsewhere than the file has
    it; `mirrors_halted`: targets of mirrors that stand since an unclean election.
    """
    if state is None:
        return dict.fromkeys(standing_changes(CoordinationState(""), cluster))
    away, lowered = state.evacuated.get(cluster), state.lowered.get(cluster)
    quorum = state.quorums.get(cluster)
    at = state.applications_at.get(cluster, {})
    return {
        "evacuated": list(away.sites) if away else [],
        "reordered": away is not None,
        "lowered": dict(lowered.lowered) if lowered else {},
        "sites_off": list(state.sites_off.get(cluster, ())),
        "services_stopped": sorted(state.services_stopped.get(cluster, ())),
        "quorum_without": list(quorum.without) if quorum else [],
        "is_quorum_between": quorum is not None and quorum.is_between,
        "voters_left_out": left_out_as_json(quorum.left_out) if quorum else {},
        "voters_dropped": _dropped_in_part(quorum),
        "applications_at": {program: placed.site for program, placed in at.items()},
        "mirrors_halted": [halted.target for halted in state.mirrors_halted.get(cluster, ())],
    }


def _dropped_in_part(quorum: Quorum | None) -> list[int]:
    dropped = quorum.dropped if quorum is not None else None
    if dropped is None or (dropped.sites and not dropped.partly):
        return []
    return sorted(voter.number for voter in dropped.voters)


def standing_changes_told(changes: Mapping[str, Any], cluster: str) -> Iterator[str]:
    """A sentence for each, with the command that puts it back; none where the ensemble does not tell.

    `changes`: see `standing_changes`.
    """
    back = put_back_command(cluster)
    if changes["evacuated"]:
        yield f"evacuated: {listed(changes['evacuated'])}; {back} puts leaders back"
    elif changes["reordered"]:
        yield f"replicas stand in another order than before; {back} puts leaders back"
    if changes["lowered"]:
        rows = listed(f"{topic} {wanted}" for topic, wanted in changes["lowered"].items())
        yield f"min.insync.replicas lowered: {rows}; {back} puts it back"
    if changes["sites_off"]:
        yield f"{listed(changes['sites_off'])} is off: guards there start no server before {back}"
    if changes["services_stopped"]:
        yield f"services stopped: {listed(changes['services_stopped'])}; {back} starts those that ran"
    if lost := [*(changes["quorum_without"] or ()), *left_out_in_words(changes["voters_left_out"] or {})]:
        yield _quorum_told(listed(lost), back, is_between=changes["is_quorum_between"])
    if dropped := changes["voters_dropped"]:
        ids = listed(map(str, dropped))
        yield f"voters taken out of the metadata quorum, or being so: {ids}; {back} lets them vote again"
    if changes["applications_at"]:
        rows = listed(f"{program} at {site}" for program, site in changes["applications_at"].items())
        yield f"applications elsewhere: {rows}; {back} brings them home"
    if changes["mirrors_halted"]:
        mirrors = f"mirrors from {cluster} to {listed(changes['mirrors_halted'])}"
        yield f"{mirrors} stand since an unclean election; {back} lets them go on"


def _quorum_told(lost: str, back: str, *, is_between: bool) -> str:
    if not is_between:
        return f"the metadata quorum is without {lost}; {back} makes it whole"
    said = f"a change of the metadata quorum, to or from one without {lost}, was begun and is not complete"
    return f"{said}: dcctl history FILE names the run; once the site is back {back} makes all voters one"
