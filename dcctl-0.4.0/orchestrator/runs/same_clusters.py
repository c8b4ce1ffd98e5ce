"""Whether each address of the file leads to the cluster that it led to before, and no two to one cluster.

Kafka gives a cluster an id when it is made, and never another one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from orchestrator.errors import UsageError
from orchestrator.ports.part import Part
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.gate import absent, as_far_as_known, asked_again, gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.topology.model import Topology
from orchestrator.wording import listed

GATE = "same-clusters"
IDS_TO_REMEMBER = "cluster_ids"
OPTION = "--accept-cluster"
_LIMIT = "each cluster of the file has its own cluster id, the one that is remembered"


@asked_again()
def same_clusters(
    topology: Topology,
    part: Part[CoordinationState],
    seen: Mapping[str, str],
    accepted: Collection[str] = (),
) -> GateResult:
    """Judge the ids of the clusters that answered, by their names in the file.

    Remembered is what the ensemble holds; `accepted` are `NAME=ID` of clusters that a person takes for right.
    One that has not answered is judged by other gates; an empty id was not told by a cluster that answers.
    """
    if part.value is None:
        return absent(GATE, part, _LIMIT)
    remembered = {name: known for name, known in part.value.cluster_ids.items() if name in topology.clusters}
    measured = (
        listed(f"{name} {found or 'no cluster id'}" for name, found in seen.items()) or "no cluster answered"
    )
    taken_for_right = {name: found for name, found in seen.items() if accepted_text(name, found) in accepted}
    reasons = differing({**remembered, **taken_for_right}, seen, topology.clusters)
    if reasons:
        others = _others({**remembered, **taken_for_right}, seen)
        return gate_result(GATE, "refused", measured, _LIMIT, listed(reasons), _hint(others))
    silent = [name for name, found in seen.items() if not found]
    if silent:
        reason = f"{listed(silent)} does not name its cluster id"
        return gate_result(GATE, "unknown", measured, _LIMIT, reason, f"is {silent[0]} a Kafka cluster?")
    if not seen:
        reason = "no cluster answered, so no cluster id was compared" + (
            "" if remembered else ", and no id is remembered"
        )
        return gate_result(GATE, "ok", measured, _LIMIT, reason)
    first = [name for name in seen if name not in remembered]
    taken = [name for name, found in seen.items() if remembered.get(name, found) != found]
    said = [f"{listed(first)}: cluster id seen for the first time, now remembered"] if first else []
    said += [f"{listed(taken)}: accepted as another cluster than before"] if taken else []
    reason = "; ".join(said) or f"{listed(seen)}: same cluster ids as before"
    return as_far_as_known(part, gate_result(GATE, "ok", measured, _LIMIT, reason))


def differing(remembered: Mapping[str, str], seen: Mapping[str, str], clusters: Iterable[str]) -> list[str]:
    """Sentences on clusters that are not those they were, or are one; empty where nothing speaks against any.

    Ids by the names in the file; `clusters` are those that count, in their order.
    """
    known = {**remembered, **seen}
    twins = _twins({name: known[name] for name in clusters if name in known})
    reasons = [f"{listed(names)} are one and the same cluster, with id {found}" for found, names in twins]
    return reasons + [
        f"{name} is another cluster than before: its id is {found}, and was {remembered[name]}"
        for name, found in _others(remembered, seen).items()
    ]


def ids_to_remember(part: Part[CoordinationState], seen: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """For a plan's facts: what a run that may begin has to add to the memory; empty where all is known."""
    known = part.value.cluster_ids if part.value is not None else {}
    new = {name: found for name, found in seen.items() if found and known.get(name) != found}
    return {IDS_TO_REMEMBER: new} if new else {}


def accepted_text(name: str, cluster_id: str) -> str:
    """How a person says that a cluster is right though it is another one than before."""
    return f"{name}={cluster_id}"


def accepted_clusters(topology: Topology, given: Iterable[str]) -> tuple[str, ...]:
    """`NAME=ID` as given on the command line. Raises `UsageError` for anything else."""
    found = tuple(given)
    for text in found:
        name, _, cluster_id = text.partition("=")
        if name not in topology.clusters or not cluster_id:
            raise UsageError(
                f"{OPTION} {text}",
                f"expected NAME=ID, with one of the file's clusters: {', '.join(topology.clusters)}",
                "the gate `same-clusters` names the id that a cluster has now",
            )
    return found


def _others(remembered: Mapping[str, str], seen: Mapping[str, str]) -> dict[str, str]:
    return {name: found for name, found in seen.items() if found and remembered.get(name, found) != found}


def _twins(known: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    by_id: dict[str, list[str]] = {}
    for name, found in known.items():
        by_id.setdefault(found, []).append(name)
    return [(found, names) for found, names in by_id.items() if found and len(names) > 1]


def _hint(others: Mapping[str, str]) -> str:
    correct = "correct `bootstrap` in the file, or the names that it uses"
    if not others:
        return correct
    said = " ".join(f"{OPTION} {accepted_text(name, found)}" for name, found in others.items())
    return f"{correct}; where a cluster was created again on purpose: {said}"
