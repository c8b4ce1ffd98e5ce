"""The ways of a file: who goes from one cluster to another, by which mirrors and routes. Pure.

Where one mirror feeds the place entered, everybody of its source goes along it. Between two places that none
leads from the one to the other, each position goes by a route of its own over the topics' origins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from orchestrator.errors import UsageError
from orchestrator.moves.beside import beside
from orchestrator.moves.fence import NOBODY, Fenced, self_redirecting_rules
from orchestrator.moves.into_centre import into_centre
from orchestrator.moves.part import part_of
from orchestrator.moves.participants import Participants
from orchestrator.moves.patterns_read import refuse_narrow
from orchestrator.moves.request import (
    FailbackRequest,
    FailoverRequest,
    SwitchoverRequest,
    clusters_attested,
    mirror_to_fail_back,
    mirror_to_fail_over,
    mirror_to_switch_over,
    refuse_unknown_cluster,
)
from orchestrator.moves.routed import routed
from orchestrator.moves.way import Item, Leg, Move, Place, Reach, Way
from orchestrator.replication.mirror_ref import MirrorRef, ref_to
from orchestrator.topology.model import Topology
from orchestrator.topology.standby import standbys_of


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


def way_along(topology: Topology, mirror: MirrorRef, them: Participants, *, reach: Reach = "whole") -> Way:
    """The way that a verb looks at. Whom the place left is denied is for its plan where no site is active."""
    own = mirror.other_way if mirror.is_back else mirror
    if topology.mirror(own.target, own.source) is not None:
        return refuse_narrow(beside(topology, own, them, is_back=mirror.is_back, reach=reach))
    way = along(topology, mirror, NOBODY, them, reach=reach).ways[0]
    return refuse_narrow(into_centre(way) if topology.is_laid_out({"aggregation"}) else way)


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

    Sources that are lost together with a centre have no way of their own: each is left by a failover that
    names it alone. Raises `UsageError` where the request fits no place, or several; `part_of`.
    """
    return _part(_way_to_fail_over(topology, request, them), request)


def _way_to_fail_over(topology: Topology, request: FailoverRequest, them: Participants) -> Way:
    reach: Reach = "partial" if request.sick else "gone"
    left = clusters_attested(topology, request)
    centres = [name for name in left if not is_mirrored(topology, name) and standbys_of(topology, name)]
    if centres and (len(left) == 1 or reach == "gone"):
        centre = centres[0]
        standbys = [n for n in standbys_of(topology, centre) if request.to in (None, n) and n not in left]
        if standbys:
            there = _one(standbys, "--to")
            return _whole(routed(topology, centre, there, centre, them, reach=reach, lost=left))
        if request.to is None or request.to in left:
            raise UsageError(
                f"cluster {centre}",
                "is lost together with where its consumers go: they wait until one of the two is back",
                "attest only what is lost",
            )
    return way_along(topology, ref_to(mirror_to_fail_over(topology, request)), them, reach=reach)


def way_to_switch_over(topology: Topology, request: SwitchoverRequest, them: Participants) -> Way:
    """What a switchover looks at. Raises `UsageError` where no way leads to `to`, or several; `part_of`."""
    return _part(_way_to_switch_over(topology, request, them), request)


def _way_to_switch_over(topology: Topology, request: SwitchoverRequest, them: Participants) -> Way:
    refuse_unknown_cluster(topology, request.to, "--to")
    if not request.left:
        return way_along(topology, ref_to(mirror_to_switch_over(topology, request.to)), them)
    refuse_unknown_cluster(topology, request.left, "--from")
    mirror = topology.mirror(request.left, request.to)
    if mirror is not None:
        return way_along(topology, ref_to(mirror), them)
    return routed(topology, request.left, request.to, request.left, them)


def way_to_fail_back(topology: Topology, request: FailbackRequest, them: Participants) -> Way:
    """What a failback looks at. Raises `UsageError` where no way leads back, or several do; see `part_of`."""
    return _part(_way_to_fail_back(topology, request, them), request)


def _way_to_fail_back(topology: Topology, request: FailbackRequest, them: Participants) -> Way:
    if request.to:
        refuse_unknown_cluster(topology, request.to, "--to")
    if request.left:
        refuse_unknown_cluster(topology, request.left, "--from")
    homes = [name for name in topology.clusters if request.to in {"", name} and standbys_of(topology, name)]
    # Of an aggregation's clusters those alone can have been left that have a standby by the file.
    home = _one(homes, "--to") if homes and (request.to or topology.is_laid_out({"aggregation"})) else ""
    if home and not is_mirrored(topology, home):
        standbys = [name for name in standbys_of(topology, home) if request.left in {"", name}]
        if not standbys:
            raise UsageError(f"--from {request.left}", f"the file sends nobody of {home} there")
        return routed(topology, _one(standbys, "--from"), home, home, them)
    mirror = mirror_to_fail_back(topology, home or request.to, request.left)
    return way_along(topology, ref_to(mirror).other_way, them)


def _part(way: Way, request: FailoverRequest | SwitchoverRequest | FailbackRequest) -> Way:
    """See `part_of`. Raises `UsageError` for a part of a source that would go into its centre."""
    part = part_of(way, request)
    if part.is_part and way.main is not None and way.topology.is_laid_out({"aggregation"}):
        raise UsageError(
            f"cluster {way.home}",
            "is a source of an aggregation, and goes into its centre as a whole only, and home",
            "leave out --applications, --topics and --except",
        )
    return part


def is_mirrored(topology: Topology, cluster: str) -> bool:
    """Whether a mirror leads out of a cluster: of an aggregation, whether it is a source and no centre."""
    return any(mirror.source == cluster for mirror in topology.replication)


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
