"""The conditions for going back: the primary is back as it was, and everything that writes can be held."""

from __future__ import annotations

from dataclasses import dataclass, replace

from orchestrator.planning.checkpoints import foreseen_back, why_not_relocated, why_unknown
from orchestrator.planning.failback_picture import FailbackPicture
from orchestrator.planning.fence_gates import fenceable
from orchestrator.planning.gates import MOVE_GATES, sick_partitions
from orchestrator.planning.looking import how_to_pass
from orchestrator.planning.observation import EarlierRun, Part
from orchestrator.planning.plan import GateResult
from orchestrator.planning.primary import Reality, source_primary
from orchestrator.planning.returned import Returned
from orchestrator.planning.situation import Situation, absent, gate_result, listed
from orchestrator.replication.connectors import connector_names
from orchestrator.topology.model import Replication

# Of those that every move has: the others judge what a failback itself brings about first.
_COMMON = (
    "coordination",
    "not-held",
    "same-clusters",
    "needed",
    "not-flapping",
    "target-healthy",
    "clients-startable",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailbackSituation:
    """`common` is of the flipped estate: its target is the returned primary. `mirror` is the file's own."""

    common: Situation
    mirror: Replication
    picture: FailbackPicture
    principals: tuple[str, ...]
    returned: Returned | None
    accept_loss: int
    accept_unrecorded: bool


def failback_gates(s: FailbackSituation) -> tuple[GateResult, ...]:
    """Every gate, in the order in which a person would ask."""
    topology = s.common.topology
    seen = Reality(connectors=s.common.observation.connectors.value)
    common = (gate(s.common) for gate in MOVE_GATES)
    at_home = fenceable(s.picture.home_access, topology, s.mirror.source, s.principals)
    at_standby = fenceable(s.picture.standby.access, topology, s.mirror.target, s.principals)
    return (
        *(gate for gate in common if gate.id in _COMMON),
        _moved_away(s),
        source_primary(s.common.observation.coordination, topology, s.mirror, s.mirror.target, seen),
        _same_topics(s),
        _returned_log(s),
        _standby_healthy(s),
        _mirror_there(s),
        _positions_known(s),
        _queries(s),
        replace(at_home, id="fenceable-returned"),
        replace(at_standby, id="fenceable"),
    )


def _moved_away(s: FailbackSituation) -> GateResult:
    """There is a way back only from where a move has led."""
    part = s.common.observation.coordination
    limit = f"an earlier run has moved everything to {s.mirror.target}"
    if part.value is None:
        return absent("moved-away", part, limit)
    there = [
        run
        for run in part.value.runs
        if run.source == s.mirror.source
        and run.target == s.mirror.target
        and (run.outcome == "ok" or run.looks)
    ]
    moves = [run for run in there if run.outcome == "ok" or s.common.request.acknowledge]
    if there and not moves:
        return _not_seen_there(there[-1], limit)
    return gate_result(
        "moved-away",
        "ok" if moves else "refused",
        measured=moves[-1].run_id if moves else "no such run",
        limit=limit,
        reason="it is the way back from there" if moves else "nothing was moved: there is no way back",
        hint="" if moves else "a planned move is `dcctl switchover`",
    )


def _not_seen_there(run: EarlierRun, limit: str) -> GateResult:
    measured = f"run {run.run_id}: {run.outcome}"
    reason = f"it has moved everything, but is not through with {listed(run.looks)}"
    return gate_result("moved-away", "refused", measured, limit, reason, how_to_pass(run))


def _same_topics(s: FailbackSituation) -> GateResult:
    """By the ids that they had when applications left, else by what the watcher has seen."""
    limit = "the topics are those that were mirrored, by their ids"
    part, samples, past = s.common.observation.topics, s.picture.samples, s.picture.past
    if part.value is None:
        return absent("same-topics", part, limit)
    if past.value is None:
        return absent("same-topics", past, limit)
    recorded = dict(past.value.left.topic_ids) if past.value.left is not None else {}
    others = [name for name in s.mirror.topics if not recorded.get(name)]
    if others and samples.value is None:
        return absent("same-topics", samples, limit)
    made_anew = samples.value.made_anew if samples.value is not None else {}
    if samples.value is not None:
        recorded |= {
            name: samples.value.topics[name].topic_id for name in others if name in samples.value.topics
        }
    missing = [name for name in s.mirror.topics if name not in part.value]
    anew = [
        name
        for name in s.mirror.topics
        if (name in part.value and recorded.get(name) and recorded[name] != part.value[name].topic_id)
        or (name in others and name in made_anew)
    ]
    reasons = [f"{name} does not exist" for name in missing] + [f"{name} was made anew" for name in anew]
    return gate_result(
        "same-topics",
        "refused" if reasons else "ok",
        measured=f"{len(part.value)} topics",
        limit=limit,
        reason=listed(reasons) or "they are",
        hint="what was copied of the earlier topic does not continue in a new one" if reasons else "",
    )


def _returned_log(s: FailbackSituation) -> GateResult:
    limit = f"no more than {s.accept_loss:,} records are missing from what had been written or copied"
    for part in (s.common.observation.log_ends, s.picture.standby.log_ends, s.picture.last_read):
        if part.value is None:
            absent_part: Part[object] = Part(part.source, part.at_s, None, part.problem, part.hint)
            return absent("returned-log", absent_part, limit)
    found = s.returned
    if s.picture.past.value is None:
        return absent("returned-log", s.picture.past, limit)
    if found is None:
        return absent("returned-log", s.picture.epoch_ends, limit)
    lost = found.lost_records
    tail = sum(found.tail.values())
    measured = f"{tail:,} records still to arrive (late, not lost), {lost:,} missing"
    if found.problems:
        hint = "has another cluster come up with its name, or was its metadata restored from a copy?"
        return gate_result("returned-log", "refused", measured, limit, listed(found.problems), hint)
    texts = [f"{tp}: {count:,} were never copied and are gone" for tp, count in found.missing.items()]
    texts += [f"{tp}: {count:,} expired before they were copied" for tp, count in found.gap.items()]
    texts += [
        f"{tp}: up to {count:,} copied ones are no longer in its log, and stay at {s.mirror.target} only"
        for tp, count in found.orphans.items()
    ]
    is_too_much = lost > s.accept_loss
    unknown = _unknown_logs(found, s.mirror.target)
    if unknown and not s.accept_unrecorded and not is_too_much:
        hint = f"compare them with {s.mirror.target} yourself, then --accept-unrecorded"
        return gate_result("returned-log", "unknown", measured, limit, "; ".join(unknown), hint)
    if unknown:
        count = len(found.unrecorded) + len(found.unsure)
        texts.append(f"of {count} partitions nothing tells what is missing")
    by_end = len(found.by_end_alone)
    said = listed(texts) or "it reaches as far as the mirror had read"
    if by_end:
        said += (
            f"; {by_end} partitions are judged by where they end alone (no newer leader epoch, or none known"
            " of before): that one was cut, and has grown beyond its old end, would not be seen"
        )
    return gate_result(
        "returned-log",
        "refused" if is_too_much else "ok",
        measured=measured,
        limit=limit,
        reason=said,
        hint=f"--accept-loss {lost}, once the owners of the data know of it" if is_too_much else "",
    )


def _unknown_logs(found: Returned, standby: str) -> list[str]:
    """Why nobody can tell what is missing from some logs."""
    texts = []
    if found.unrecorded:
        names = listed(map(str, found.unrecorded))
        texts.append(f"how these logs stood when applications left them is not recorded: {names}")
    if found.unsure:
        names = listed(map(str, found.unsure))
        texts.append(
            "a newer leader epoch begins behind the recorded end of these logs, and before what "
            f"{standby} had copied of them, so that they were cut there, or had another leader: {names}"
        )
    return texts


def _standby_healthy(s: FailbackSituation) -> GateResult:
    limit = "each partition there has a leader and its replicas in sync"
    part = s.picture.standby.topics
    if part.value is None:
        return absent("standby-healthy", part, limit)
    sick = sick_partitions(part.value)
    return gate_result(
        "standby-healthy",
        "refused" if sick else "ok",
        measured=f"{len(part.value)} topics",
        limit=limit,
        reason=listed(sick) or "it can be drained to its end",
        hint=f"mend {s.mirror.target} first" if sick else "",
    )


def _mirror_there(s: FailbackSituation) -> GateResult:
    limit = "Connect answers, and has the mirror's connectors"
    part = s.common.observation.connectors
    if part.value is None:
        return absent("mirror-there", part, limit)
    names = connector_names(s.mirror)
    missing = [name for name in names if name not in part.value]
    return gate_result(
        "mirror-there",
        "refused" if missing else "ok",
        measured=listed(f"{name} {part.value.get(name, 'missing')}" for name in names),
        limit=limit,
        reason=f"{listed(missing)} missing" if missing else "it can go on from where it stopped",
        hint=(
            f"create it again at the workers of {s.mirror.target} with initial_state STOPPED: "
            "dcctl apply leaves a mirror alone that a move has stopped"
            if missing
            else ""
        ),
    )


def _positions_known(s: FailbackSituation) -> GateResult:
    limit = f"what each group has committed at {s.mirror.target}"
    part = s.picture.standby.committed
    if part.value is None:
        return absent("positions-known", part, limit)
    return gate_result(
        "positions-known",
        "ok",
        f"{len(part.value)} groups",
        limit,
        "they are translated once all stands still",
    )


def _queries(s: FailbackSituation) -> GateResult:
    """A query is brought back with its state, or nothing is moved."""
    limit = f"the checkpoint of each Spark query at {s.mirror.target} can be read, and has a committed batch"
    names = [query.name for query in s.common.queries]
    if not names:
        return gate_result("queries", "ok", "none", limit, "groups only")
    part = s.picture.checkpoints
    if part.value is None:
        return absent("queries", part, limit)
    seen = part.value
    count = sum(len(checkpoint.positions) for checkpoint in seen.values())
    measured = f"{listed(names)}: {count} positions"
    unknown = {name: why_unknown(found) for name, found in seen.items() if why_unknown(found)}
    refused = {
        query.name: why_not_relocated(query, seen[query.name], foreseen_back(s.mirror))
        for query in s.common.queries
        if query.name in seen
    }
    wrong = [f"{name}: {why}" for name, (why, _) in refused.items() if why]
    if wrong:
        hints = dict.fromkeys(hint for why, hint in refused.values() if why and hint)
        return gate_result("queries", "refused", measured, limit, listed(wrong), "; ".join(hints))
    if unknown:
        hint = "; ".join(dict.fromkeys(seen[name].hint for name in unknown if seen[name].hint))
        said = listed(f"{name}: {why}" for name, why in unknown.items())
        return gate_result("queries", "unknown", measured, limit, said, hint)
    return gate_result("queries", "ok", measured, limit, "they are translated once all stands still")
