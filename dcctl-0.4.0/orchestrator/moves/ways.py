"""The ways of a file: who goes from one cluster to another, by which mirrors and routes. Pure.

Where one mirror feeds the place entered, everybody of its source goes along it. Between two places that none
leads from the one to the other, each position goes by a route of its own over the topics' origins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from orchestrator.errors import DcctlError, UsageError
from orchestrator.moves.fence import Fenced, fenced, self_redirecting_rules
from orchestrator.moves.participants import Kind, Participants
from orchestrator.moves.request import (
    FailbackRequest,
    FailoverRequest,
    SwitchoverRequest,
    mirror_to_fail_back,
    mirror_to_fail_over,
    mirror_to_switch_over,
    refuse_unknown_cluster,
)
from orchestrator.moves.routes import is_of_landing, led_along, moving_consumers
from orchestrator.moves.way import Item, Leg, Move, Place, Reach, Route, Way
from orchestrator.replication.mirror_ref import MirrorRef, ref_to
from orchestrator.topology.counterparts import Origin, counterpart_of, origin_of
from orchestrator.topology.model import Consumer, Replication, Topology
from orchestrator.topology.standby import READ, standby_of, standbys_of
from orchestrator.wording import listed

NOBODY = Fenced({}, {}, ())


def along(
    topology: Topology, mirror: MirrorRef, who: Fenced, them: Participants, *, reach: Reach = "whole"
) -> Move:
    """Everybody of the cluster where a mirror's topics live by the file, from its source to its target.

    Positions in copies lead back against the file's own mirror, wherever one is gone along the other way.
    """
    routes = ((Leg(mirror=mirror),), (Leg(mirror=mirror.other_way, is_inverse=True),))
    items = tuple(
        Item(name=name, kind=kind.name, routes=() if kind.writes else routes)
        for kind in them.kinds
        for name in kind.at(topology, mirror.home)
    )
    topics = tuple(mirror.of(topology).topics)
    themselves = [p for p in topology.producers_of(mirror.home) if p.moved_by == "itself"]
    early = {topic for producer in themselves for topic in producer.topics}.intersection(topics)
    way = Way(
        topology=topology,
        left=Place(mirror.source),
        entered=Place(mirror.target),
        reach=reach,
        items=items,
        topics=topics,
        home=mirror.home,
        drains=(mirror,),
        pauses=(mirror.other_way,) if mirror.is_back else (),
        who=who,
        # Of a place that is gone nobody is kept off anything: rules cannot be written there.
        self_redirecting=self_redirecting_rules(topology, mirror.home, who),
        written_early=tuple(sorted(early)),
    )
    return Move(topology=topology, ways=(way,))


def denying(way: Way, who: Fenced) -> Way:
    """A way, with whom the place left is denied. Of a place that is gone that is nobody."""
    return replace(way, who=who, self_redirecting=self_redirecting_rules(way.topology, way.home, who))


def beside(
    topology: Topology,
    mirror: MirrorRef,
    them: Participants,
    *,
    is_back: bool = False,
    reach: Reach = "whole",
) -> Way:
    """Everybody of one active site, beside those at work at the other one; with `is_back` home again.

    `mirror` is the file's, out of that site. The one in the other direction goes on whatever happens: what is
    read there as its copies is read at the other site where it is written.
    """
    home, away = mirror.source, mirror.target
    left, entered = (away, home) if is_back else (home, away)
    _refuse_astray(topology, home, away)
    if reach != "gone":
        _refuse_shared_principals(topology, home, away)
    items = tuple(
        Item(
            name=name,
            kind=kind.name,
            routes=() if kind.writes else routes_of(topology, _consumer(topology, name, home), left, entered),
        )
        for kind in them.kinds
        for name in kind.at(topology, home)
    )
    topics = tuple(name for name in mirror.of(topology).topics if topology.topic(name, home) is not None)
    themselves = [p for p in topology.producers_of(home) if p.moved_by == "itself"]
    early = {topic for producer in themselves for topic in producer.topics}.intersection(topics)
    who = NOBODY if reach == "gone" else fenced(topology, left, with_consumers=True, homes={home})
    return Way(
        topology=topology,
        left=Place(left),
        entered=Place(entered),
        reach=reach,
        items=items,
        topics=topics,
        home=home,
        drains=() if is_back else (mirror,),
        pauses=(mirror,) if is_back else (),
        rejoins=(mirror,) if is_back else (),
        is_shared=is_back and any(topology.topic(name, left) is not None for name in topics),
        who=who,
        self_redirecting=self_redirecting_rules(topology, home, who),
        written_early=() if is_back else tuple(sorted(early)),
    )


def _refuse_astray(topology: Topology, home: str, away: str) -> None:
    """Raise `DcctlError` where not all of an active site goes to one other site, and comes back from it."""
    others = sorted({m.target for m in topology.replication if m.source == home} - {away})
    if others:
        raise DcctlError(
            f"cluster {home}",
            f"is mirrored to {listed(others)} as well as to {away}: three active sites cannot be moved yet",
            "a file for each pair of clusters can",
        )
    applications = [
        *((f"producer {p.name}", standby_of(topology, p)) for p in topology.producers_of(home)),
        *((f"consumer {c.name}", standby_of(topology, c)) for c in topology.consumers_of(home)),
    ]
    for subject, standby in applications:
        if standby != away:
            raise DcctlError(
                subject,
                f"goes to {standby}, and others of {home} to {away}: they cannot be moved apart yet",
                "give all applications of an active site the same standby",
            )


def _refuse_shared_principals(topology: Topology, home: str, away: str) -> None:
    """Raise `DcctlError` where a rule against who moves would keep off who stays at the other site."""
    moving = {p.principal: p.name for p in topology.producers_of(home)}
    moving |= {c.principal: c.name for c in topology.consumers_of(home)}
    staying = [(p.principal, p.name) for p in topology.producers_of(away)]
    staying += [(c.principal, c.name) for c in topology.consumers_of(away)]
    for principal, name in staying:
        if principal is not None and principal in moving:
            raise DcctlError(
                f"{moving[principal]} of {home} and {name} of {away}",
                f"have the same principal {principal}: access rules that keep the one off deny the other",
                "give each application a principal of its own",
            )


def _consumer(topology: Topology, name: str, cluster: str) -> Consumer:
    return next(c for c in topology.consumers_of(cluster) if c.name == name)


def way_along(topology: Topology, mirror: MirrorRef, them: Participants, *, reach: Reach = "whole") -> Way:
    """The way that a verb looks at. Whom the place left is denied is for its plan where no site is active."""
    own = mirror.other_way if mirror.is_back else mirror
    if topology.mirror(own.target, own.source) is not None:
        return refuse_narrow(beside(topology, own, them, is_back=mirror.is_back, reach=reach))
    return refuse_narrow(along(topology, mirror, NOBODY, them, reach=reach).ways[0])


def routed(
    topology: Topology, left: str, entered: str, home: str, them: Participants, *, reach: Reach = "whole"
) -> Way:
    """The consumers of `home` that go from one place to another between which no mirror leads.

    One of the two places is `home`, by the file; the other one is their standby. Raises `UsageError` where
    none goes there, or one that goes writes, and `DcctlError` where one reads what no two mirrors lead there.
    """
    away = entered if left == home else left
    items = tuple(_items(topology, left, entered, home, away, them))
    if not items:
        raise UsageError(
            f"cluster {home}",
            f"the file has no application of {home} that goes to {away}",
            f"`standby: {away}` at the cluster or at an application says who goes there",
        )
    names = {(item.name, item.kind) for item in items}
    moving = [c for c in topology.consumers_of(home) if (c.name, c.kind) in names]
    principals = {c.principal for c in moving if c.principal is not None}
    others = [c for c in topology.consumers_of(home) if c not in moving and c.principal in principals]
    if others and reach != "gone":
        raise UsageError(
            f"consumer {others[0].name}",
            f"stays at {home} with the principal {others[0].principal} of a consumer that goes to {away}",
            "give each its own principal: access rules that keep the one off would keep off the other",
        )
    who = NOBODY
    if reach != "gone":
        who = fenced(topology, left, principals=sorted(principals), with_consumers=True, homes={home})
    way = Way(
        topology=topology,
        left=Place(left),
        entered=Place(entered),
        reach=reach,
        items=items,
        home=home,
        who=who,
    )
    return refuse_narrow(way)


def _items(  # noqa: PLR0917 - where they are, where they go, and where the file has them
    topology: Topology, left: str, entered: str, home: str, away: str, them: Participants
) -> Iterator[Item]:
    for kind in them.kinds:
        if kind.writes:
            _refuse_writers(topology, kind, home, away)
            continue
        names = set(kind.at(topology, home))
        for consumer in topology.consumers_of(home):
            if consumer.name in names and standby_of(topology, consumer) == away:
                routes = routes_of(topology, consumer, left, entered)
                yield Item(name=consumer.name, kind=kind.name, routes=routes)


def _refuse_writers(topology: Topology, kind: Kind, home: str, away: str) -> None:
    names = set(kind.at(topology, home))
    writers = [p for p in topology.producers_of(home) if p.name in names and standby_of(topology, p) == away]
    if writers:
        raise UsageError(
            f"{kind.name} {writers[0].name}",
            f"writes {listed(writers[0].topics)} at {home}, from which no mirror leads to {away}",
            "producers go where a mirror copies what they wrote: give them a standby of their own",
        )


def routes_of(topology: Topology, consumer: Consumer, left: str, entered: str) -> tuple[Route, ...]:
    """How a consumer's positions go from one place to the other, one route for each origin that it reads.

    Raises `DcctlError` naming a topic that no two mirrors lead there.
    """
    found: dict[Route, None] = {}
    for name in topology.topics_read(consumer):
        origin = origin_of(topology, name, consumer.cluster)
        there = None if origin is None else _at(topology, origin, left)
        counterpart = None if there is None else counterpart_of(topology, there, left, entered)
        if counterpart is None:
            raise DcctlError(
                f"consumer {consumer.name}",
                f"reads {name} at {consumer.cluster}, which no mirror copies so that it could be read at "
                f"{left if there is None else entered}",
                "add a mirror of it, or `standby` at another cluster",
            )
        legs = []
        if counterpart.back is not None:
            legs.append(Leg(mirror=ref_to(counterpart.back), is_inverse=True))
        if counterpart.forward is not None:
            legs.append(Leg(mirror=ref_to(counterpart.forward)))
        found[tuple(legs)] = None
    return tuple(found)


def _at(topology: Topology, origin: Origin, cluster: str) -> str | None:
    """What the topic of an origin is called at a cluster; None where it is not there."""
    here = counterpart_of(topology, origin.topic, origin.cluster, cluster)
    return None if here is None else here.entered


def legs_of(way: Way) -> tuple[Leg, ...]:
    """Every map that a position of the way goes by, beside those of its drains and rejoins; each once."""
    fed = {one for mirror in (*way.drains, *way.rejoins) for one in (mirror, mirror.other_way)}
    return tuple(dict.fromkeys(leg for leg in _legs(way.items) if leg.mirror not in fed))


def _legs(items: Iterable[Item]) -> Iterator[Leg]:
    for item in items:
        for route in item.routes:
            yield from route


def way_to_fail_over(topology: Topology, request: FailoverRequest, them: Participants) -> Way:
    """What a failover looks at: all of the attested sites' cluster, to the standby.

    Raises `UsageError` where the request fits no place, or several.
    """
    reach: Reach = "partial" if request.sick else "gone"
    said = {*request.attested, *request.sick}
    left = [name for name, one in topology.clusters.items() if said.intersection(one.datacenters)]
    if len(left) == 1 and not _is_mirrored(topology, left[0]):
        standbys = [name for name in standbys_of(topology, left[0]) if request.to in (None, name)]
        if standbys:
            return _whole(routed(topology, left[0], _one(standbys, "--to"), left[0], them, reach=reach))
    return way_along(topology, _fed_by(topology, mirror_to_fail_over(topology, request)), them, reach=reach)


def way_to_switch_over(topology: Topology, request: SwitchoverRequest, them: Participants) -> Way:
    """What a switchover looks at. Raises `UsageError` where no way leads to `to`, or several do."""
    refuse_unknown_cluster(topology, request.to, "--to")
    if not request.left:
        return way_along(topology, _fed_by(topology, mirror_to_switch_over(topology, request.to)), them)
    refuse_unknown_cluster(topology, request.left, "--from")
    mirror = topology.mirror(request.left, request.to)
    if mirror is not None:
        return way_along(topology, _fed_by(topology, mirror), them)
    return routed(topology, request.left, request.to, request.left, them)


def way_to_fail_back(topology: Topology, request: FailbackRequest, them: Participants) -> Way:
    """What a failback looks at. Raises `UsageError` where no way leads back, or several do."""
    if request.to:
        refuse_unknown_cluster(topology, request.to, "--to")
    homes = [
        name
        for name in topology.clusters
        if request.to in {"", name} and standbys_of(topology, name) and not _is_mirrored(topology, name)
    ]
    # Of an aggregation only the consumers of a centre can have gone anywhere.
    if homes and (request.to or topology.is_laid_out({"aggregation"})):
        home = _one(homes, "--to")
        return routed(topology, _one(standbys_of(topology, home), "--from"), home, home, them)
    mirror = mirror_to_fail_back(topology, request.to)
    return way_along(topology, _fed_by(topology, mirror).other_way, them)


def _fed_by(topology: Topology, mirror: Replication) -> MirrorRef:
    """A mirror along which applications can go. Raises `UsageError` for one into a centre."""
    if topology.is_laid_out({"aggregation"}):
        raise UsageError(
            f"mirror {mirror.source} → {mirror.target}",
            f"leads into a centre, and applications of {mirror.source} cannot be moved there yet: nothing "
            "would tell their records from those of other sources that come there later",
            f"where {mirror.source} is lost, what reads its copies at {mirror.target} reads on",
        )
    return ref_to(mirror)


def _is_mirrored(topology: Topology, cluster: str) -> bool:
    return any(mirror.source == cluster for mirror in topology.replication)


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


def _one(places: Sequence[str], option: str) -> str:
    """The only one of them. Raises `UsageError` naming the choices."""
    if len(places) > 1:
        raise UsageError(option, f"several places are possible: {', '.join(places)}", "choose one")
    return places[0]


def _whole(way: Way) -> Way:
    """Raises `UsageError` for what is led along routes from a place that answers in part."""
    if way.reach == "partial":
        raise UsageError(
            f"cluster {way.left}",
            "is degraded, and its consumers can be led along routes only from a place that is whole or gone",
            f"dcctl switchover FILE --from {way.left} --to {way.entered} while it answers, or stop it and "
            "--attest-down",
        )
    return way
