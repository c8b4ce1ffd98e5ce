"""Which voters begin, where all of them stand still. Pure.

Rule (facts: Kafka, "ZooKeeper hierarchical quorum" and "KRaft"): of the survivors one may have changes that
the others lack, and a majority without it would cut them off. A voter votes for nobody whose log is behind
its own. So the voter whose log reaches furthest begins, with no more others than a majority needs: all of
these have to vote, and it leads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked_dataclass

from orchestrator.ports.voters import Voter


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class StoppedVoter:
    """Where the metadata log of a voter ended while it stood still; see `Voter`.

    `number` is -1 in journals of earlier builds.
    """

    server: str
    site: str
    epoch: int
    end: int
    leader_epoch: int = -1
    number: int = -1

    @property
    def reaches(self) -> tuple[int, int]:
        """What orders logs."""
        return self.epoch, self.end

    @classmethod
    def of(cls, voter: Voter) -> StoppedVoter:
        """As it was read."""
        return cls(
            server=voter.server,
            site=voter.site,
            epoch=voter.epoch,
            end=voter.end,
            leader_epoch=voter.leader_epoch,
            number=voter.number,
        )


@dataclass(frozen=True, slots=True)
class Beginning:
    """Who starts at once, the voter whose log reaches furthest first, and who starts behind it."""

    first: tuple[str, ...]
    rest: tuple[str, ...]


def beginning(
    voters: Iterable[StoppedVoter], needed: int, all_of: Collection[str] = (), last: Collection[str] = ()
) -> Beginning:
    """`needed` of them begin: all of `all_of` first, then by how far logs reach, and `last` behind."""
    ordered = sorted(voters, key=lambda voter: voter.reaches, reverse=True)
    ordered.sort(key=lambda voter: (voter.server not in all_of, voter.server in last))
    names = tuple(voter.server for voter in ordered)
    return Beginning(names[:needed], names[needed:])


def leader_of(voters: Iterable[Voter]) -> Voter | None:
    """The one that says that it leads; None where none does, or more than one."""
    leaders = [voter for voter in voters if voter.runs and voter.leads]
    return leaders[0] if len(leaders) == 1 else None


def is_led(voters: Iterable[Voter]) -> bool:
    """Whether a voter that runs tells of a leader: a ZooKeeper server of any, a controller of itself alone.

    Whom else a controller follows stands in a file of it, also when that one is gone.
    """
    return any(
        one.runs and (one.leads or (one.kind == "zookeeper" and one.leads is not None)) for one in voters
    )


Reaches = tuple[int, int]
"""Epoch and end of a log: of two logs the one that reaches further has more."""


def lacks(leader: str, stopped: Mapping[str, Reaches], stood: Mapping[str, Reaches]) -> str:
    """Why whoever leads may lack what another one had, in words; empty where it does not.

    `stopped`: where logs ended when all were stopped; `stood`: a moment before voters were started. Whoever
    leads has written in an epoch of its own by now, so where its log ends now says nothing. An attempt that
    was interrupted may have brought logs further between the two, together with whoever had most when all
    were stopped: a voter gives no vote to one that lacks what it has. Where that one stands as it stood,
    others went on without it.
    """
    had = {**stopped, **stood}
    furthest = max(had, key=lambda server: had[server])
    if leader not in had or had[leader] < had[furthest]:
        return (
            f"{leader} leads, whose log {_ended(had.get(leader))}; that of {furthest} {_ended(had[furthest])}"
        )
    most = max(stopped, key=lambda server: stopped[server])
    if stopped.get(leader, (-1, -1)) < stopped[most] == had[most]:
        said = f"{leader} leads, whose log {_ended(stopped.get(leader))} when all were stopped, and went on "
        return f"{said}since without {most}; that of {most} {_ended(stopped[most])}"
    return ""


def _ended(reaches: Reaches | None) -> str:
    return "was not read" if reaches is None else f"ended at {reaches[1]} of epoch {reaches[0]}"
