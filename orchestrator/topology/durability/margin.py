"""What goes on after a loss, and the next single loss that would stop it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from orchestrator.topology.durability.fates import ClusterState, Fate, topic_fate
from orchestrator.topology.durability.losses import Loss, Server
from orchestrator.topology.durability.shapes import Shape
from orchestrator.topology.durability.values import ControlPlane, NextLoss, Stopped

States = Callable[[Loss], Mapping[str, ClusterState]]
"""Each cluster after a loss."""
ByShape = Mapping[Shape, Sequence[tuple[int, str]]]
"""The topics of one cluster, each with its place in the file's order, gathered by shape."""


def margin_after(
    servers: Mapping[str, Sequence[Server]],
    topics: Mapping[str, ByShape],
    loss: Loss,
    before: Mapping[str, ClusterState],
    states: States,
) -> tuple[NextLoss, ...]:
    """Each data centre, rack or server whose loss, after `loss`, would stop what still goes on.

    `servers` and `topics`: by cluster. `before`: each cluster after `loss` alone. It is told of clusters that
    `loss` has taken something of: others are as they were.
    """
    touched = frozenset(name for name, its in servers.items() if not loss.servers.isdisjoint(its))
    going_on = {
        name: [shape for shape in topics[name] if _continues(topic_fate(shape, before))] for name in touched
    }
    found: dict[tuple[object, ...], tuple[dict[str, Stopped], list[str]]] = {}
    for names, taken in _candidates(servers, touched, loss):
        after = states(Loss((*loss.names, names[0]), loss.servers | taken))
        stops: dict[str, tuple[ControlPlane | None, tuple[Shape, ...]]] = {}
        for name in touched:
            had, has = before[name].control_plane, after[name].control_plane
            shapes = tuple(shape for shape in going_on[name] if not _continues(topic_fate(shape, after)))
            stops[name] = (has if had == "continues" != has else None, shapes)
        if any(control_plane or shapes for control_plane, shapes in stops.values()):
            key = tuple(stops.items())
            if key not in found:
                found[key] = (_told(stops, topics), [])
            found[key][1].extend(names)
    return tuple(NextLoss(tuple(names), stopped) for stopped, names in found.values())


def _told(
    stops: Mapping[str, tuple[ControlPlane | None, Iterable[Shape]]], topics: Mapping[str, ByShape]
) -> dict[str, Stopped]:
    return {
        name: Stopped(
            control_plane,
            tuple(topic for _, topic in sorted(one for shape in shapes for one in topics[name][shape])),
        )
        for name, (control_plane, shapes) in stops.items()
        if control_plane or shapes
    }


def _candidates(
    servers: Mapping[str, Sequence[Server]], touched: frozenset[str], loss: Loss
) -> Iterator[tuple[tuple[str, ...], frozenset[Server]]]:
    """Names that mean the same, with what one of them takes away. Servers of a kind at a site or rack do.

    A data centre, or a rack, stands beside its servers where it takes more than one of them.
    """
    alike: dict[Server, list[Server]] = defaultdict(list)
    places: dict[str, set[Server]] = defaultdict(set)
    for name, its in servers.items():
        for server in its:
            if server not in loss.servers:
                for place in filter(None, (server.rack_path, server.dc)):
                    places[place].add(server)
                if name in touched:
                    alike[replace(server, name="")].append(server)
    for those in alike.values():
        yield tuple(server.path for server in those), frozenset(those[:1])
    for place, those_there in places.items():
        if len(those_there) > 1 and not touched.isdisjoint(server.cluster for server in those_there):
            yield (place,), frozenset(those_there)


def _continues(fate: Fate) -> bool:
    return fate.writes == "continue"
