"""Gates about the mirror itself: that it can be stopped, and that its copies can be trusted."""

from __future__ import annotations

from orchestrator.planning.plan import GateResult
from orchestrator.planning.situation import Situation, absent, gate_result, listed
from orchestrator.replication.connectors import connector_names, refused_values

_PLAINLY = "exactly.once.source.support=disabled at every worker, and copies made anew (docs/copies.md)"


def mirror_controlled(s: Situation) -> GateResult:
    """Connect answers for each of the mirror's connectors."""
    limit = "the mirror's connectors are known, so that they can be stopped"
    part = s.observation.connectors
    if part.value is None:
        return absent("mirror-controlled", part, limit)
    states = {name: part.value.get(name, "missing") for name in connector_names(s.mirror)}
    missing = [name for name, state in states.items() if state == "missing"]
    return gate_result(
        "mirror-controlled",
        "refused" if missing else "ok",
        measured=listed(f"{name} {state}" for name, state in states.items()),
        limit=limit,
        reason=f"no such connector: {listed(missing)}" if missing else "Connect answers for each",
        hint=(
            "does the mirror run under other names, or elsewhere? "
            "A deleted one has to be made again (while both sides are up: dcctl apply)"
            if missing
            else ""
        ),
    )


def mirror_trusted(s: Situation) -> GateResult:
    """No marker of a transaction stands between the copies, and no record was passed over.

    Markers at the target and gaps of the source cancel out between two offset syncs; a connector that
    tolerates errors goes on behind a record that it could not write.
    """
    limit = "the mirror writes without transactions, and passes over no record"
    part, name = s.observation.mirror_settings, connector_names(s.mirror).source
    writers = {} if s.observation.samples.value is None else s.observation.samples.value.writers
    marked = [
        copy
        for topic in s.mirror.topics
        if (copy := s.mirror.mirrored_topic(topic)) not in s.mirror.topics
        and copy in writers
        and writers[copy].transactional
    ]
    if marked:
        return gate_result(
            "mirror-trusted",
            "refused",
            measured=f"transactional producers in {len(marked)} copies",
            limit=limit,
            reason=f"somebody writes them in transactions: {listed(marked)}",
            hint=_PLAINLY,
        )
    if part.value is None:
        return absent("mirror-trusted", part, limit)
    reasons = [f"{name} has {key}={value}: {why}" for key, value, why in refused_values(part.value.config)]
    hints = [f"take it out of {name}, and copy anew what it may have passed over"] if reasons else []
    if part.value.in_transactions:
        reasons.append("its workers have exactly-once support for source connectors switched on")
        hints.append(_PLAINLY)
    return gate_result(
        "mirror-trusted",
        "refused" if reasons else "ok",
        measured=f"{name}, and the workers that run it",
        limit=limit,
        reason=listed(reasons) if reasons else "it does",
        hint="; ".join(hints),
    )
