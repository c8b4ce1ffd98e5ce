"""What mirrors have to be like by whose maps positions are led, and which go on meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.mirrors.mirrormaker2.connectors import names_of, refused_values
from orchestrator.moves.routes import led_of
from orchestrator.moves.situation import Situation
from orchestrator.moves.way import Leg
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.gate import absent, gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.wording import listed, plural

_LIMIT = "each mirror that positions are led along copies, skips no record, and what is read is there"
_MEND = "dcctl apply FILE starts what is stopped and creates what is missing; dcctl drift FILE names it"


def routes_usable(s: Situation, legs: Sequence[Leg]) -> GateResult:
    """Mirrors into the place entered run, none writes in a way that no map shows, and what is read is there.

    Of a mirror that is led against nothing has to run: its map is what positions need, and that is judged
    with these. Where its workers are lost as well nobody can ask how it wrote.
    """
    topics = s.target.topics
    if topics.value is None:
        return absent("routes-usable", topics, _LIMIT)
    reasons = list(_missing(s))
    hints: list[str] = []
    unseen = [s.seen.cluster(leg.mirror.source).probe for leg in legs if _is_source_asked(s, leg)]
    silent = next((probe for probe in unseen if probe.value is None), None)
    if silent is not None:
        return absent("routes-usable", silent, _LIMIT)
    for leg in legs:
        view = s.seen.mirror(leg.mirror)
        if not leg.is_inverse:
            if view.states.value is None:
                return absent("routes-usable", view.states, _LIMIT)
            stopped = list(_not_running(s, leg.mirror))
            reasons += stopped
            hints += _how_it_runs(s, leg.mirror) if stopped else ()
        if _is_source_asked(s, leg):
            said = _of_source(s, leg.mirror)
            reasons += said[:1]
            hints += said[1:]
        if s.case == "gone" and leg.mirror.workers == s.left:
            continue
        if view.settings.value is None:
            return absent("routes-usable", view.settings, _LIMIT)
        name = names_of(s.topology, leg.mirror).source
        reasons += [
            f"{name} has {key}={value}: {why}"
            for key, value, why in refused_values(view.settings.value.config)
        ]
        if view.settings.value.in_transactions:
            reasons.append(
                f"the Connect workers of {name} have exactly-once support for source connectors switched on"
            )
    mirrors = list(dict.fromkeys(str(leg.mirror) for leg in legs))
    return gate_result(
        "routes-usable",
        "refused" if reasons else "ok",
        measured=plural(len(mirrors), "mirror"),
        limit=_LIMIT,
        reason=listed(reasons)
        or f"positions can be led by the maps of {listed(mirrors)}, and all that is read is at {s.entered}",
        hint="; ".join(dict.fromkeys(hints)) or (_MEND if reasons else ""),
    )


def _how_it_runs(s: Situation, mirror: MirrorRef) -> tuple[str, ...]:
    """A mirror out of a source stands while the source's applications are away."""
    state, source = s.seen.coordination.value, mirror.source
    away = [] if state is None else [p.cluster for (home, _), p in state.primaries.items() if home == source]
    if any(cluster != source for cluster in away):
        return (
            f"applications of {source} are away: bring them home first: dcctl failback FILE --to {source}",
        )
    return (_MEND,)


def _is_source_asked(s: Situation, leg: Leg) -> bool:
    """Of a route that begins at a place that answers, everybody sees at once whether its mirror copies."""
    return s.case == "gone" and not leg.is_inverse and leg.mirror.source != s.left


def _of_source(s: Situation, mirror: MirrorRef) -> tuple[str, ...]:
    """A reason and a hint, where a source is not as a person says it is: gone with the place left, or not."""
    probe, source = s.seen.cluster(mirror.source).probe.value, mirror.source
    answers = probe is not None and bool(probe.answers or probe.listening)
    sites = " ".join(f"--attest-down {dc}" for dc in s.topology.clusters[source].datacenters)
    if mirror in s.way.pauses and answers:
        reason = f"{source} answers: what it still brings to {s.entered} would be read again"
        return reason, f"leave out {sites}"
    if mirror not in s.way.pauses and not answers:
        reason = f"{source} does not answer, so what was read at {s.left} may never come to {s.entered}"
        return (
            reason,
            f"{sites} as well, once a person has made sure of it: groups go on where its copies end",
        )
    return ()


def _not_running(s: Situation, mirror: MirrorRef) -> Iterator[str]:
    states, name = s.seen.mirror(mirror).states.value or {}, names_of(s.topology, mirror).source
    # One whose source is gone brings nothing, and is stopped until groups have been placed at its end.
    if s.case == "gone" and mirror in s.way.pauses and name in states:
        return
    # One that has stood since applications left along it goes on in this very move.
    if mirror in s.way.resumes and name in states:
        return
    if states.get(name) != "RUNNING":
        yield f"{name} is {states.get(name, 'missing')}, so new records are not copied to {s.entered}"


def _missing(s: Situation) -> Iterator[str]:
    found = s.target.topics.value or {}
    for led in led_of(s.way):
        state = found.get(led.entered)
        if state is None:
            yield f"{led.entered} does not exist at {s.entered}"
        elif len(state.leaders) != led.partitions:
            # One more has records as well, and no position would be written in it.
            yield (
                f"{led.entered} at {s.entered} has {plural(len(state.leaders), 'partition')}, "
                f"the file says {led.partitions}"
            )
        there = (s.source.topics.value or {}).get(led.left)
        if there is not None and len(there.leaders) != led.partitions:
            yield (
                f"{led.left} at {s.left} has {plural(len(there.leaders), 'partition')}, "
                f"the file says {led.partitions}"
            )
