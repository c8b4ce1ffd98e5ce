"""The connector that brings back what producers wrote at the standby, made from the mirror's own.

It runs on the workers that run the mirror, those at the standby: they survive the primary, and the offsets
that they keep survive with them. A worker's producers write to its own cluster unless told otherwise, so
this connector's producer is told (`producer.override.*`; the worker allows it, as for the heartbeats).
"""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.topology.flows import CLIENT_ID

_SOURCE, _TARGET = "source.cluster.", "target.cluster."
_PRODUCER = "producer.override."
_ALIAS = "alias"


def reverse_connector(
    name: str, forward: Mapping[str, str], replicas: int, target_alias: str
) -> dict[str, str]:
    """Its configuration, from that of the mirror's source connector as Connect has it.

    Addresses, credentials and references to them are exchanged, everything else is as it is there.
    `replicas` are those of a topic that it would have to make itself; `target_alias` gives its offset syncs
    a topic of their own (`Replication.target_alias`).
    """
    swapped: dict[str, str] = {}
    for key, value in forward.items():
        if key.startswith(_SOURCE):
            swapped[_TARGET + key.removeprefix(_SOURCE)] = value
        elif key.startswith(_TARGET):
            swapped[_SOURCE + key.removeprefix(_TARGET)] = value
        else:
            swapped[key] = value
    into = {
        key.removeprefix(_SOURCE): value
        for key, value in forward.items()
        if key.startswith(_SOURCE) and key != _SOURCE + _ALIAS
    }
    own_client = {CLIENT_ID: name} if CLIENT_ID in forward else {}
    return {
        **swapped,
        **{_PRODUCER + key: value for key, value in into.items()},
        **own_client,
        "name": name,
        "target.cluster.alias": target_alias,
        # At the standby, beside those of the mirror itself: when the primary is lost again, both are needed.
        "offset-syncs.topic.location": "source",
        "replication.factor": str(replicas),
        # Heartbeats come from the primary; carried back they would go round in a circle.
        "emit.heartbeats.enabled": "false",
        "heartbeats.replication.enabled": "false",
    }
