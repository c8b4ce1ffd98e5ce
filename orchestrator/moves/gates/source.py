"""Gates on the place that is left: it is lost, sick or well, as a person says, and who writes can be kept
off.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime

from orchestrator.guards.guarding import WAITED_FOR_S
from orchestrator.moves.brokers_starting import guards_of, open_since_s
from orchestrator.moves.fence_gates import fenceable
from orchestrator.moves.situation import Situation
from orchestrator.replication.mirror_ref import source_partitions
from orchestrator.runs.gate import absent, asked_again, gate_result
from orchestrator.runs.guards import may_open_yet, not_clear
from orchestrator.runs.plan import GateOutcome, GateResult
from orchestrator.snapshot.observation import degraded_partitions, too_few_in_sync
from orchestrator.snapshot.samples import LossWindow
from orchestrator.topology.instances import serving_sites
from orchestrator.wording import listed, plural


def loss_window(s: Situation) -> LossWindow | None:
    """When the place left was lost as a whole, as the watcher saw it; None while part of it answers."""
    history = s.samples.value
    return history.loss_window() if history is not None and s.case == "gone" else None


def ages_at_s(s: Situation, now_s: float) -> float:
    """When the ages of what the watcher recorded are judged, see `SampleHistory.ages_at_s`."""
    window, history = s.once(loss_window), s.samples.value
    if window is not None:
        return window.first_failed_at_s
    return now_s if history is None else history.comparable_s(now_s)


@asked_again(of_outage="word")
def attested(s: Situation) -> GateResult:
    """A person says of each site with brokers that it is down, or sick."""
    sites, is_down = (
        serving_sites(s.topology, s.left) or s.topology.clusters[s.left].datacenters,
        s.case == "gone",
    )
    said, what = (s.words.attested, "down") if is_down else (s.words.sick, "degraded")
    missing = [dc for dc in sites if dc not in said]
    hint = ""
    if missing and is_down:
        hint = (
            f"--attest-down {missing[0]}, once a person has made sure of it; "
            f"--attest-degraded {missing[0]}, where part of it still answers"
        )
    elif missing:
        hint = f"--attest-degraded {missing[0]}, once a person has looked"
    return gate_result(
        "attested",
        "refused" if missing else "ok",
        measured=listed(said) or "nothing",
        limit=listed(sites),
        reason=f"nobody attests that {listed(missing)} {_be(missing)} {what}"
        if missing
        else f"a person attests that {listed(sites)} {_be(sites)} {what}",
        hint=hint,
    )


def _be(names: Collection[str]) -> str:
    return "is" if len(names) == 1 else "are"


@asked_again(of_outage="sight")
def source_unreachable(s: Situation) -> GateResult:
    """Nothing of it answers, here or to the watcher, and no guard lets it come up behind our back."""
    part = s.source.probe
    limit = f"no broker of {s.left} answers, neither here nor to the watcher"
    if part.value is None:
        return absent("source-unreachable", part, limit)
    probe = part.value
    states = listed(f"{address} {state}" for address, state in probe.addresses.items())
    window = s.once(loss_window)
    coordination = s.seen.coordination.value
    closed = coordination.kept_closed if coordination is not None else ""
    if not probe.addresses:
        outcome: GateOutcome = "unknown"
        reason, hint = f"the file names no address of {s.left}", f"add clusters.{s.left}.bootstrap"
    elif probe.answers and closed:
        outcome, hint = "ok", ""
        reason = f"{s.left} is back, but its boot guard keeps applications out: {closed}"
    elif probe.answers:
        outcome = "refused"
        reason = f"{s.left} answers: it is not lost"
        hint = (
            f"if {s.left} is healthy, a planned move loses nothing: dcctl switchover FILE --to {s.entered}; "
            f"if it is degraded: --attest-degraded {s.topology.clusters[s.left].datacenters[0]} "
            "in place of --attest-down"
        )
    elif probe.listening:
        outcome = "unknown"
        reason = f"{listed(probe.listening)} of {s.left} takes connections, but does not answer as Kafka"
        hint = f"stop the brokers of {s.left}, then try again: a degraded site is not a lost one"
    elif window is None and s.samples.value is None:
        return replace(absent("source-unreachable", s.samples, limit), measured=states)
    elif window is None:
        outcome = "unknown"
        reason = f"the watcher has not seen {s.left} fail"
        hint = f"is {s.left} cut off from this machine only? If not, wait a few seconds and try again"
    else:
        outcome, hint = "ok", ""
        reason = (
            f"no address of {s.left} answers here, and the watcher sees it fail "
            f"since {_clock(window.first_failed_at_s)}"
        )
    found = gate_result("source-unreachable", outcome, measured=states, limit=limit, reason=reason, hint=hint)
    return _with_guards(s, found) if outcome == "ok" else found


def _with_guards(s: Situation, found: GateResult) -> GateResult:
    """Whether a broker that nobody can see yet may be on its way to open."""
    said, since_s = guards_of(s.seen), open_since_s(s.seen, s.once(loss_window))
    unclear = not_clear(said, since_s)
    if unclear:
        return replace(
            found,
            outcome="unknown",
            reason=f"{'; '.join(unclear)}: that broker may be starting, and would let applications in",
            hint="make sure that this broker is off, then remove its boot guard's node in the ensemble: "
            f"/dcctl/{s.topology.name}/guards/{s.left}/SERVER",
        )
    opening = may_open_yet(said, since_s)
    if not opening:
        return found
    servers = listed(f"{word.server} at {_clock(word.at_s)}" for word in opening)
    reason = f"boot guards have let brokers start: {servers}; the run waits up to {WAITED_FOR_S:g} s for them"
    return replace(found, reason=f"{found.reason}; {reason}")


def _clock(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%H:%M:%S UTC")


def source_degraded(s: Situation) -> GateResult:
    """Something of it answers, and not all of it is well.

    Not asked again: whatever has become of it, what is begun is gone on with or taken back.
    """
    limit = f"a part of {s.left} answers, and not all of {s.left} is healthy"
    if s.source.left.value is None:
        return absent("source-sick", s.source.left, limit)
    left = s.source.left.value
    expected = s.topology.clusters[s.left].brokers
    measured = (
        f"{len(left.brokers)} of {expected} brokers answer, {len(left.logs)} of {len(left.partitions)} logs"
    )
    dc, target = s.topology.clusters[s.left].datacenters[0], s.entered
    if not left.brokers:
        reason = (
            f"nothing of {s.left} answers: "
            f"{listed(f'{at}: {why}' for at, why in left.silent.items()) or 'no address'}"
        )
        hint = (
            f"--attest-down {dc} in place of --attest-degraded; first stop whatever still takes connections"
        )
        return gate_result("source-sick", "refused", measured, limit, reason, hint)
    reasons = symptoms(s)
    return gate_result(
        "source-sick",
        "ok" if reasons else "refused",
        measured,
        limit,
        reason=listed(reasons)
        or f"every broker, leader and controller of {s.left} answers: {s.left} is healthy",
        hint="" if reasons else f"a planned move loses nothing: dcctl switchover FILE --to {target}",
    )


def symptoms(s: Situation) -> list[str]:
    """All that is not as it should be at the source, as far as it was seen."""
    left = s.source.left.value
    if left is None:
        return []
    topology = s.topology
    expected = topology.clusters[s.left].brokers
    found = [f"{at} does not answer" for at in sorted(left.silent)]
    if len(left.brokers) < expected and not found:
        found.append(f"{expected - len(left.brokers)} of {expected} brokers are missing")
    if left.controller.problem:
        found.append(f"no controller: {left.controller.problem}")
    for tp in source_partitions(topology, s.mirror):
        place, topic = left.partitions.get(tp), topology.topic(tp.topic, s.left)
        if place is None or place.problem:
            found.append(f"{tp}: {place.problem if place else 'no broker describes it'}")
        elif topic is not None and place.in_sync < topic.min_insync_replicas:
            found.append(f"{tp}: {too_few_in_sync(place.in_sync, topic.min_insync_replicas)}")
    return found


def can_fence(s: Situation) -> bool:
    """Whether access rules can be written there, and reach all whom they name."""
    return _fence_possible(s).outcome == "ok"


def fenced_or_accepted(s: Situation) -> GateResult:
    """Whether writers can be denied; where they cannot, whether a person answers for that."""
    found = _fence_possible(s)
    if found.outcome == "ok" or s.source.left.value is None:
        return found
    if s.words.accept_unfenced:
        reason = (
            f"{s.left} cannot be fenced, which a person accepts: {found.reason}; "
            "the run goes on only while nothing is written there"
        )
        return replace(found, outcome="ok", reason=reason, hint="")
    hint = (
        f"stop the brokers of {s.left} and --attest-down; or --accept-unfenced with --reason, "
        "if a person has made sure that nothing writes there"
    )
    return replace(found, hint=hint)


def _fence_possible(s: Situation) -> GateResult:
    limit = f"access rules can be written at {s.left}, and apply to every principal that writes"
    left, principals = s.source.left.value, s.way.who.principals
    if left is None:
        return absent("fenceable", s.source.left, limit)
    if left.controller.value is None:
        reason = f"access rules cannot be written at {s.left}: {left.controller.problem}"
        return gate_result("fenceable", "refused", plural(len(left.brokers), "broker"), limit, reason)
    if not principals:
        reason = f"the file names no principal of {s.left} that could be denied"
        return gate_result("fenceable", "refused", "0 principals", limit, reason)
    return fenceable(left.access, s.topology, s.left, principals)


@asked_again()
def partial_fenceable(s: Situation) -> GateResult:
    """Rules reach all whom the place left is denied."""
    return fenceable(s.source.access, s.topology, s.left, s.way.who.principals)


@asked_again()
def standby_healthy(s: Situation) -> GateResult:
    """On the way back: what is left can be drained to its end."""
    return source_healthy(s)


def source_healthy(s: Situation) -> GateResult:
    """It can be drained to its end."""
    back = s.case == "back"
    limit = f"{s.left} answers, and each partition has a leader and at least min.insync.replicas in sync"
    gate_id, part = "standby-healthy" if back else "source-healthy", s.source.topics
    if part.value is None:
        return absent(gate_id, part, limit)
    missing = [] if back else [name for name in s.read_at_left if name not in part.value]
    reasons = [*degraded_partitions(part.value), *(f"{name} does not exist" for name in missing)]
    hint = f"repair {s.left} first"
    if not back:
        lost = " ".join(f"--attest-down {dc}" for dc in s.topology.clusters[s.left].datacenters)
        hint += f"; if it is lost: dcctl failover FILE --to {s.entered} {lost}"
    return gate_result(
        gate_id,
        "refused" if reasons else "ok",
        measured=plural(len(part.value), "topic"),
        limit=limit,
        reason=f"{s.left} is not healthy: {listed(reasons)}"
        if reasons
        else f"{s.left} is healthy: every partition has a leader and at least min.insync.replicas in sync, "
        "so the mirror can read it to its end",
        hint=hint if reasons else "",
    )
