"""What consumers that read by patterns would see at the place entered. Pure."""

from __future__ import annotations

import re

from orchestrator.errors import DcctlError
from orchestrator.moves.routes import is_of_landing, led_along, moving_consumers
from orchestrator.moves.way import Way
from orchestrator.topology.standby import READ
from orchestrator.wording import listed


def refuse_narrow(way: Way) -> Way:
    """A way whose consumers read by patterns that match, at the place entered, what they go on in there.

    Raises `DcctlError` for one that would not see the records that it has still to read.
    """
    for consumer in moving_consumers(way):
        if consumer.pattern is None:
            continue
        names = {
            led.entered
            for route in way.routes(consumer.name)
            if route and not is_of_landing(route)
            for led in led_along(way.topology, route, way.left.cluster, way.entered.cluster)
            if led.called_at(way.topology, consumer.cluster) in way.topology.topics_read(consumer)
        }
        unseen = sorted(name for name in names if not re.fullmatch(consumer.pattern, name))
        if unseen:
            raise DcctlError(
                f"consumer {consumer.name}",
                f"reads by the pattern {consumer.pattern}, which does not match {listed(unseen)} at "
                f"{way.entered}: records that it has still to read are there",
                r"a pattern such as (.*\.)?orders matches a topic and its copies",
            )
        known = {*names, *(way.topology.topics_read(consumer) if consumer.landing in {None, READ} else ())}
        there = (name for name in way.topology.names_at(way.entered.cluster) if name not in known)
        further = sorted(name for name in there if re.fullmatch(consumer.pattern, name))
        if further and consumer.cluster == way.left.cluster:
            raise DcctlError(
                f"consumer {consumer.name}",
                f"reads by the pattern {consumer.pattern}, which also matches {listed(further)} at "
                f"{way.entered}: it has no position in that, and does not read it at home",
                "let the pattern match the same records at both clusters, or name the topics",
            )
    return way
