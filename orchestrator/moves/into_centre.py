"""A source of an aggregation goes into its centre, beside consumers and mirrors of others. Pure."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.errors import DcctlError, UsageError
from orchestrator.moves.beside import refuse_apart, refuse_shared_principals
from orchestrator.moves.fence import fenced, self_redirecting_rules
from orchestrator.moves.way import Way
from orchestrator.topology.model import Topology
from orchestrator.topology.standby import standbys_of
from orchestrator.wording import listed


def into_centre(way: Way) -> Way:
    """A way along a source's mirror into its centre, or home again: nobody else of the centre is denied.

    Raises `UsageError` where the file sends nobody there, and `DcctlError` where not all of the source goes
    there, where others write at the centre what its producers would write, and where both have a principal or
    a group id.
    """
    topology, home = way.topology, way.home
    away = way.entered.cluster if home == way.left.cluster else way.left.cluster
    if away not in standbys_of(topology, home):
        raise UsageError(
            f"mirror {home} → {away}",
            f"leads into a centre, and the file has no application of {home} that goes there",
            f"`standby: {away}` at {home} says who goes there; without it what reads copies of {home} at "
            f"{away} reads on, and applications of {home} wait until it is back",
        )
    refuse_apart(topology, home, away)
    _refuse_own_writers(topology, way, away)
    _refuse_shared_groups(topology, home, away)
    if way.reach == "gone":
        return way
    refuse_shared_principals(topology, home, away)
    who = fenced(topology, way.left.cluster, with_consumers=True, homes={home})
    return replace(way, who=who, self_redirecting=self_redirecting_rules(topology, home, who))


def _refuse_own_writers(topology: Topology, way: Way, away: str) -> None:
    """On the way home nobody could tell whose a record of the landing topic is."""
    own = [name for name in way.topics if topology.topic(name, away) is not None]
    if own:
        raise DcctlError(
            f"cluster {way.home}",
            f"cannot go to {away}, which has topics of its own with these names: {listed(own)}",
            "give the topics other names, or name another standby",
        )


def _refuse_shared_groups(topology: Topology, home: str, away: str) -> None:
    """The members that stay hold the group at the centre: its positions could not be read on the way home."""
    staying = {group: c.name for c in topology.consumers_of(away) for group in c.groups}
    for consumer in topology.consumers_of(home):
        for group in consumer.groups:
            if group in staying:
                raise DcctlError(
                    f"{consumer.name} of {home} and {staying[group]} of {away}",
                    f"have the same group id {group}: what goes to {away} in that group could not come home",
                    "give one of them another group id",
                )
