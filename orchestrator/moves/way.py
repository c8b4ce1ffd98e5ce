"""What a move is about: applications from a place to a place, topics whose primary changes, mirrors in roles.

A move is made of ways: all that goes from one place to one other. Runbooks go over them, and know nothing of
how many there are, or whether a mirror leads from the one place to the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic.dataclasses import dataclass as checked_dataclass

from orchestrator.errors import DcctlError
from orchestrator.moves.fence import Fenced
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.effect import EFFECT_CONFIG
from orchestrator.topology.model import Topology
from orchestrator.values import Acl

Case = Literal["gone", "partial", "planned", "back"]
"""What a way is like: of a place that is gone, or partial; planned, while both places are whole; or back to a
place that rejoins first.
"""
Reach = Literal["whole", "partial", "gone"]
"""What of a place can be asked and told: all of it, part of it, nothing. A person attests it, and it is
looked at.
"""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A cluster, and those of its sites that are meant; none named: all of them."""

    cluster: str
    sites: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.cluster} ({', '.join(self.sites)})" if self.sites else self.cluster


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class Leg:
    """One offset map on the way of a position: that of a mirror, from its source to its target or against
    that.
    """

    mirror: MirrorRef
    is_inverse: bool = False


Route = tuple[Leg, ...]
"""The maps that lead from a log to its counterpart, in order; none where it is the same log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An application that moves, by its name in the file, and the routes of its positions: one for each
    origin that the topics which it reads have. `kind` is a participant's.
    """

    name: str
    kind: str
    routes: tuple[Route, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Way:
    """All that moves from one place to one other.

    `topics` become primary at the place entered, by their names where producers write them; `home`: the
    cluster where the file has them. Mirrors by their role: those of `drains` have to copy everything, and
    then stand; those of `passes` have to copy what stands of `topics`, and go on with others; those of
    `pauses` stand while their maps are read to the end, and go on (where a place is gone, mirrors whose
    source is gone with it: they bring nothing more until it is back); those of `rejoins` lead out of the
    place entered, which has returned, and go on where they fit its logs; those of `resumes` lead out of
    the place left, have stood while nobody went home, and go on before anybody is stopped. `is_shared`:
    others write these topics at the place left as well, whose logs never stand. `who`: whom the place
    left is denied, and the rules for it. `is_part`: others of `home` stay where they are; `left_out`:
    those of them that read what moves, and have to be there already. `mark` tells its steps from those of
    other ways; empty for the only one.
    """

    topology: Topology
    left: Place
    entered: Place
    reach: Reach
    items: tuple[Item, ...]
    topics: tuple[str, ...] = ()
    home: str = ""
    drains: tuple[MirrorRef, ...] = ()
    passes: tuple[MirrorRef, ...] = ()
    pauses: tuple[MirrorRef, ...] = ()
    rejoins: tuple[MirrorRef, ...] = ()
    resumes: tuple[MirrorRef, ...] = ()
    is_shared: bool = False
    is_part: bool = False
    left_out: tuple[str, ...] = ()
    who: Fenced = field(default_factory=lambda: Fenced({}, {}, ()))
    self_redirecting: tuple[Acl, ...] = ()
    written_early: tuple[str, ...] = ()
    mark: str = ""

    @property
    def case(self) -> Case:
        """See `Case`."""
        if self.rejoins or any(mirror.is_back for mirror in self.drains):
            return "back"
        return "planned" if self.reach == "whole" else self.reach

    @property
    def main(self) -> MirrorRef | None:
        """The mirror that feeds the place entered; where none does, the way against the one that rejoins."""
        if self.feeds:
            return self.feeds[0]
        return self.rejoins[0].other_way if self.rejoins else None

    @property
    def feeds(self) -> tuple[MirrorRef, ...]:
        """The mirrors that have to copy what was written, whether they stand then or go on."""
        return (*self.drains, *self.passes)

    @property
    def mirror_ref(self) -> MirrorRef:
        """`main`, where there must be one. Raises `DcctlError` where no mirror leads along the way."""
        if self.main is None:
            raise DcctlError(f"move {self.left} → {self.entered}", "goes along no mirror alone")
        return self.main

    def named(self, kind: str) -> tuple[str, ...]:
        """The applications of a kind that move, in file order."""
        by_kind: dict[str, list[str]] = {}
        for item in self.items:
            by_kind.setdefault(item.kind, []).append(item.name)
        return tuple(by_kind.get(kind, ()))

    def routes(self, name: str) -> tuple[Route, ...]:
        """Those of one application."""
        return next(item.routes for item in self.items if item.name == name)

    def part_as_json(self) -> dict[str, list[str]]:
        """Who moves, and which topics, for the plan and the journal."""
        return {"applications": [item.name for item in self.items], "topics": list(self.topics)}

    def stays(self, name: str) -> bool:
        """Whether all positions of an application stay what they are: in the same log."""
        return not any(self.routes(name))

    def feed(self, name: str) -> MirrorRef | None:
        """The mirror that has to drain, and that leads all positions of an application together with the one
        against its direction. None where other maps are needed, or none.
        """
        mirrors = {leg.mirror for route in self.routes(name) for leg in route}
        return next((m for m in self.drains if mirrors and mirrors <= {m, m.other_way}), None)

    def id(self, step: str, mirror: MirrorRef | None = None) -> str:
        """A step's id. One of several mirrors in the same role is told from the others."""
        alike = [role for role in (self.drains, self.pauses) if mirror in role and len(role) > 1]
        of = f"-{mirror.source}-{mirror.target}" if alike and mirror is not None else ""
        return f"{step}{of}{self.mark}"

    @property
    def writing_rules(self) -> tuple[Acl, ...]:
        """Of the rules of `who` those against writing."""
        return tuple(rule for rule in self.who.rules if rule.operation == "WRITE")

    @property
    def reading_rules(self) -> tuple[Acl, ...]:
        """Of the rules of `who` the others."""
        return tuple(rule for rule in self.who.rules if rule.operation != "WRITE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Ways that are gone together: nobody begins at a place entered before everything is prepared."""

    topology: Topology
    ways: tuple[Way, ...]

    @classmethod
    def of(cls, topology: Topology, ways: Iterable[Way]) -> Move:
        """Several ways, whose steps are told apart by where they lead; the only one needs no mark."""
        ways = tuple(ways)
        if len(ways) > 1:
            ways = tuple(replace(w, mark=f"-{w.left.cluster}-{w.entered.cluster}") for w in ways)
        return cls(topology=topology, ways=ways)

    def __post_init__(self) -> None:
        """Raises `DcctlError` where ways do not fit each other."""
        gone = {way.left.cluster for way in self.ways if way.reach == "gone" and not way.left.sites}
        for way in self.ways:
            if way.entered.cluster in gone:
                raise DcctlError(
                    f"cluster {way.entered}",
                    "is left as lost by this same move, so no application can be moved to it",
                    "move to another cluster",
                )
            for other in self.ways:
                both = set(way.who.rules) & set(other.who.rules)
                if both and way.left.cluster == other.entered.cluster:
                    who = ", ".join(sorted({rule.principal for rule in both}))
                    raise DcctlError(
                        f"cluster {way.left}",
                        f"is left by applications and entered by others with the same principal: {who}",
                        "give each application its own principal: rules that "
                        "deny the one would deny the other",
                    )

    @property
    def left(self) -> str:
        """The clusters that are left, for hooks: one, or all of them."""
        return _listed(way.left.cluster for way in self.ways)

    @property
    def entered(self) -> str:
        """The clusters that are entered."""
        return _listed(way.entered.cluster for way in self.ways)


def _listed(clusters: Iterable[str]) -> str:
    return ",".join(dict.fromkeys(clusters))
