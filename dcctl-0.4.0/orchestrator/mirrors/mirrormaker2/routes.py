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
    for leg in legs:
        view = s.seen.mirror(leg.mirror)
        if not leg.is_inverse:
            if view.states.value is None:
                return absent("routes-usable", view.states, _LIMIT)
            reasons += _not_running(s, leg.mirror)
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
        hint=_MEND if reasons else "",
    )


def _not_running(s: Situation, mirror: MirrorRef) -> Iterator[str]:
    states, name = s.seen.mirror(mirror).states.value or {}, names_of(s.topology, mirror).source
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
