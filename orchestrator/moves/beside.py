"""One active site beside the other: its applications go there; nobody of the other one is touched. Pure."""

from __future__ import annotations

from orchestrator.errors import DcctlError
from orchestrator.moves.fence import NOBODY, fenced, self_redirecting_rules
from orchestrator.moves.participants import Participants
from orchestrator.moves.routed import routes_of
from orchestrator.moves.way import Item, Place, Reach, Way
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.topology.model import Consumer, Topology
from orchestrator.topology.standby import standby_of
from orchestrator.wording import listed


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
        refuse_shared_principals(topology, home, away)
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
    refuse_apart(topology, home, away)


def refuse_apart(topology: Topology, home: str, away: str) -> None:
    """Raise `DcctlError` naming an application of a cluster that does not go where the others do."""
    applications = [
        *((f"producer {p.name}", standby_of(topology, p)) for p in topology.producers_of(home)),
        *((f"consumer {c.name}", standby_of(topology, c)) for c in topology.consumers_of(home)),
    ]
    for subject, standby in applications:
        if standby != away:
            goes = f"goes to {standby}" if standby else f"waits at {home}"
            raise DcctlError(
                subject,
                f"{goes}, and others of {home} go to {away}: they cannot be moved apart yet",
                f"give all applications of {home} the same standby",
            )


def refuse_shared_principals(topology: Topology, home: str, away: str) -> None:
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
