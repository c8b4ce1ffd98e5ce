"""What the procedures of one cluster share: its connections, lock and journal, and the effects of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import DcctlError
from orchestrator.mirrors.connect import Workers
from orchestrator.moves.ports import Hosts
from orchestrator.moves.request import refuse_unknown_cluster
from orchestrator.ports.part import Part
from orchestrator.ports.replica_logs import LogHosts
from orchestrator.ports.servers import Connect, Kafka
from orchestrator.ports.services import ServiceHosts
from orchestrator.ports.voter_sets import VoterSets
from orchestrator.ports.voters import VoterHosts
from orchestrator.runs.acting import EffectActions
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.engine import Actions
from orchestrator.runs.live.run import Run
from orchestrator.runs.live.run_session import RunSession
from orchestrator.runs.live.servers import Servers
from orchestrator.runs.plan import Plan
from orchestrator.snapshot.clients import ClientHost
from orchestrator.snapshot.live.asking import asked
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Topology
from orchestrator.verbs.live.client_hosts import ClientsOnHosts
from orchestrator.verbs.live.coordination_state import coordination_subject, read_coordination
from orchestrator.verbs.live.log_hosts import HostsOfLogs
from orchestrator.verbs.live.move_estate import open_coordination
from orchestrator.verbs.live.real_servers import REAL_SERVERS
from orchestrator.verbs.live.service_hosts import HostsOfServices
from orchestrator.verbs.live.voter_hosts import HostsOfVoters
from orchestrator.verbs.registration import effects_of


@dataclass(frozen=True, slots=True)
class ClusterEstate:
    """The connections of a run about one cluster."""

    cluster: Kafka
    coordination: Coordination | None
    coordination_problem: str = ""
    servers: Servers = REAL_SERVERS

    def close(self) -> None:
        """End the session with the ensemble; Kafka's connections end with their clients."""
        if self.coordination is not None:
            self.coordination.close()


class ClusterSession(RunSession):
    """One run's connections, the hosts of voters and of applications, and Connect's workers."""

    def __init__(self, *words: Any, about: str, hosts: Sequence[ClientHost] | None, **named: Any) -> None:
        """As `RunSession`. `about`: the cluster; `hosts`: those of applications, None where not read."""
        super().__init__(*words, **named)
        self._about = about
        self._own: Mapping[type[Any], Any] = {
            VoterHosts: HostsOfVoters(self.servers, self.topology, self.folder, self.is_cancelled),
            LogHosts: HostsOfLogs(self.servers, self.topology, self.folder, self.is_cancelled),
            ServiceHosts: HostsOfServices(self.servers, self.topology, self.folder, self.is_cancelled),
            Hosts: ClientsOnHosts(self, hosts),
            Workers: self,
        }
        self._connects: dict[str, Connect] = {}

    def connect(self, cluster: str) -> Connect:
        """See `mirrors.connect.Workers`."""
        return self._once(self._connects, self.servers.connect, cluster)

    def _ports(self) -> dict[type[Any], Any]:
        voters = self.servers.voter_set(self.topology, self._about, partial(self.cluster, self._about))
        return {**super()._ports(), **self._own, VoterSets: voters}


class OnOneCluster:
    """Of a `runs.live.procedure.Procedure` what is the same for all of these."""

    is_uncoordinated = False

    def __init__(self, topology: Topology, cluster: str, verb: str, servers: Servers) -> None:
        """Raises `UsageError` for a cluster that the file does not have."""
        refuse_unknown_cluster(topology, cluster, "--cluster")
        self.servers, self.topology, self.cluster = servers, topology, cluster
        self.verb = verb
        self.command = f"{verb} {cluster}"
        self.about: Mapping[str, Any] = {}

    def open_estate(self) -> ClusterEstate:
        """That cluster alone."""
        coordination, problem = open_coordination(self.servers, self.topology)
        try:
            cluster = self.servers.kafka(self.topology, self.cluster)
        except DcctlError:
            if coordination is not None:
                coordination.close()
            raise
        return ClusterEstate(cluster, coordination, problem, self.servers)

    def actions(self, run: Run[ClusterEstate], plan: Plan, picture: Snapshot) -> Actions:  # noqa: ARG002 - the plan's effects know what to do
        """The effects, for one run."""
        session = ClusterSession(
            self.topology,
            run.folder,
            run_id=run.run_id,
            estate_record=run.estate_record,
            holds_lock=run.holds_lock,
            records=run.events,
            servers=self.servers,
            about=self.cluster,
            hosts=picture.inventory.value,
        )
        return EffectActions(effects_of(self.topology), session)


def coordination_state(
    topology: Topology, estate: ClusterEstate, own_lock: bool, *, with_changes: bool = False
) -> Part[CoordinationState]:
    """Whether lock and journal are at hand."""

    def ask() -> CoordinationState:
        return read_coordination(
            estate.coordination,
            estate.coordination_problem,
            topology,
            own_lock=own_lock,
            with_runs=False,
            with_changes=with_changes,
        )

    return asked(coordination_subject(topology), ask, estate.servers.clock)
