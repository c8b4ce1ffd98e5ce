"""The boot guards of a cluster's brokers: each asks the ensemble every second, and opens its broker or not.

What they may do is decided by dcctl's own `boot_guard_status`; how a broker is started anew is shortened to a pause.
"""

from __future__ import annotations

from orchestrator.errors import CoordinationError
from orchestrator.guards.boot_guard import BootGuardStatus, Disk, boot_guard_status
from orchestrator.guards.live.guard_reading import GuardFacts, guards_path
from orchestrator.runs.guards import GuardSaid, Said
from orchestrator.runs.writers import writers_at
from orchestrator.topology.model import Topology
from tests.twin.clusters import Broker, TwinCluster
from tests.twin.crew import EPOCH_S
from tests.twin.ensemble import TwinEnsemble

_ASKS_EVERY_S, _OPENS_IN_S = 1.0, 3.0


class TwinGuards:
    """Guards of all brokers of one cluster. A broker that has come back is closed until its guard opens it."""

    def __init__(self, topology: Topology, cluster: TwinCluster, ensemble: TwinEnsemble) -> None:
        self._topology, self._cluster, self._ensemble = topology, cluster, ensemble
        self._facts = GuardFacts(topology, cluster.name)
        self._writers = writers_at(topology, cluster.name)
        self._asks_s = 0.0
        self._opening: dict[int, float] = {}
        for broker in cluster.brokers.values():
            self._say(broker, "open", "no failover has led away from this cluster", 0.0)

    def live(self, now_s: float) -> None:
        """What is away closes, and what may opens."""
        cluster = self._cluster
        for broker in cluster.brokers.values():
            if broker.state == "gone":
                cluster.closed.add(broker.number)
                self._opening.pop(broker.number, None)
        for number, since_s in list(self._opening.items()):
            if now_s - since_s >= _OPENS_IN_S:
                del self._opening[number]
                cluster.closed.discard(number)
                self._say(cluster.brokers[number], "open", "it may", now_s)
        if now_s - self._asks_s < _ASKS_EVERY_S or self._ensemble.is_gone:
            return
        self._asks_s = now_s
        asking = [b for b in cluster.answering.values() if b.number in cluster.closed - self._opening.keys()]
        word = self._word() if asking else None
        if word is None:
            return
        for broker in asking:
            self._say(broker, "opening" if word.is_open else "closed", word.reason, now_s)
            if word.is_open:
                self._opening[broker.number] = now_s

    def _word(self) -> BootGuardStatus | None:
        try:
            facts = self._facts.read(self._ensemble)
            return boot_guard_status(self._cluster.name, self._writers, facts, disk=Disk())
        except CoordinationError:
            return None

    def _say(self, broker: Broker, state: Said, reason: str, now_s: float) -> None:
        said = GuardSaid(
            server=f"kafka{broker.number}",
            state=state,
            reason=reason,
            host=f"{self._cluster.name}-{broker.number}",
            at_s=EPOCH_S + now_s,
            broker_id=broker.number,
            has_listened=state == "open",
        )
        path = f"{guards_path(self._topology.name, self._cluster.name)}/{said.server}"
        self._ensemble.write_json(path, said.as_json())
