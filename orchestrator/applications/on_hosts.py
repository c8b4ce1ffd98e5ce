"""Applications that hosts run: stopped and started by playbooks, at the sites of a place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from orchestrator.moves.clients import StartClients, StopClients
from orchestrator.moves.foretold import Foretold
from orchestrator.moves.participants import Ports, Reread
from orchestrator.moves.ports import Looks
from orchestrator.moves.results import Stopped
from orchestrator.moves.situation import Situation
from orchestrator.moves.way import Place, Way
from orchestrator.runs.acting import World
from orchestrator.runs.effect import Effect, Handle, Nothing
from orchestrator.runs.plan import GateResult
from orchestrator.runs.runbook import After, Runbook, behind
from orchestrator.topology.model import Topology

HOST_EFFECTS: tuple[type[Effect[Any]], ...] = (StopClients, StartClients)


class OnHosts(ABC):
    """What kinds have in common whose applications hosts run. `STEP` is in the ids of steps, `TITLE` in
    words.
    """

    NAME: ClassVar[str]
    STEP: ClassVar[str]
    TITLE: ClassVar[str]

    @property
    def name(self) -> str:
        """See `Kind`."""
        return self.NAME

    @abstractmethod
    def programs(self, topology: Topology, names: Iterable[str]) -> tuple[str, ...]:
        """See `Kind`."""

    def ports(self, world: World) -> Ports:
        """See `Kind`."""
        return {}

    def look(self, looks: Looks, way: Way) -> Any:
        """See `Kind`."""
        return None

    def gates(self, s: Situation) -> tuple[GateResult, ...]:
        """See `Kind`. A host for each is looked for by every move."""
        return ()

    def reread(self, s: Situation) -> Reread:
        """See `Kind`."""
        return {}

    def foretold(self, s: Situation) -> Mapping[str, Foretold]:
        """See `Kind`."""
        return {}

    def facts(self, s: Situation) -> Mapping[str, Any]:
        """See `Kind`."""
        return {}

    def stop_unhosted(
        self,
        book: Runbook,
        way: Way,
        place: Place,
        after: Sequence[After],
    ) -> Handle[Stopped] | None:
        """See `Kind`."""
        return None

    def catch_up(self, book: Runbook, way: Way, timeout_s: float) -> Handle[Nothing] | None:
        """See `Kind`."""
        return None

    def stop(self, book: Runbook, way: Way, after: Sequence[After]) -> Handle[Stopped] | None:
        """See `Kind`."""
        clients = self.programs(way.topology, way.named(self.NAME))
        if not clients:
            return None
        stop = StopClients(cluster=way.left.cluster, clients=clients, sites=way.left.sites)
        title = f"Stop the {self.TITLE} at {way.left}"
        return book.add(stop, id=way.id(f"stop-{self.STEP}"), title=title, after=after)

    def start(
        self, book: Runbook, way: Way, ready: Sequence[Handle[Any]], after: Sequence[After]
    ) -> Handle[Nothing] | None:
        """See `Kind`."""
        clients = self.programs(way.topology, way.named(self.NAME))
        if not clients:
            return None
        placed = (
            [behind(*ready, because="an application goes on from the offsets that were written for it")]
            if ready
            else []
        )
        start = StartClients(cluster=way.entered.cluster, clients=clients, sites=way.entered.sites)
        title = f"Start the {self.TITLE} at {way.entered}"
        return book.add(start, id=way.id(f"start-{self.STEP}"), title=title, after=[*placed, *after])


class ReadersOnHosts(OnHosts):
    """Those of them that the file has among its consumers, under their kind."""

    writes = False

    def at(self, topology: Topology, cluster: str) -> tuple[str, ...]:
        """See `Kind`."""
        return tuple(c.name for c in topology.consumers_of(cluster) if c.kind == self.NAME)

    def programs(self, topology: Topology, names: Iterable[str]) -> tuple[str, ...]:
        """See `Kind`."""
        programs = {consumer.name: consumer.program for consumer in topology.consumers}
        return tuple(programs[name] for name in names)
