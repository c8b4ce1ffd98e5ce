"""Topics that a failover leaves at a lost or sick site while the mirror that copies them stands. Pure."""

from __future__ import annotations

from orchestrator.moves.situation import Situation


def topics_left_behind(s: Situation) -> tuple[str, ...]:
    """Topics of the mirror that stops, which do not move and are still primary at the place left."""
    state, way = s.seen.coordination.value, s.way
    if not way.is_part or way.reach == "whole" or not way.drains:
        return ()
    primaries = {} if state is None else state.primaries
    return tuple(
        name
        for name in s.mirror.topics
        if name not in way.topics
        and ((found := primaries.get((way.home, name))) is None or found.cluster == s.left)
    )


def stays_in_words(s: Situation) -> dict[str, str]:
    """By topic, what becomes of what a failover out of a lost site leaves there."""
    left, there, names = s.left, s.entered, topics_left_behind(s)
    if not names:
        return {}
    stops = f"the mirror {left} → {there} is stopped for all of its topics"
    return {
        name: (
            f"topic {name} stays at {left}: its applications wait until {left} is back, or, where boot "
            f"guards keep its brokers closed, until the failback; {stops}, so until the failback nothing "
            f"more of {name} is copied to {there} ({s.mirror.mirrored_topic(name)}), and what is not copied "
            f"is at {left} alone"
        )
        for name in names
    }
