"""What `failover` would do about a lost site, told from the file alone by what plans it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.moves.participants import Participants
from orchestrator.moves.within_cluster.requests import SiteLossRequest
from orchestrator.moves.within_cluster.site_loss import plan_site_loss
from orchestrator.moves.within_cluster.sites_off import with_brokers
from orchestrator.moves.within_cluster.stranded import foretold
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Placement, TopicDescription
from orchestrator.ports.voters import Voter, VotersSeen
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.plan import Plan
from orchestrator.snapshot.clients import SERVICE_MANAGERS, ClientHost
from orchestrator.snapshot.snapshot import ClusterView, Snapshot
from orchestrator.topology.durability.values import ClusterFate, Durability
from orchestrator.topology.model import Cluster, Topology

_FILE = "the topology file"
_WORDS = {"margin-after": "--accept-margin", "quorum-proven": "--accept-unproven"}


@dataclass(frozen=True, slots=True)
class Foreseen:
    """`steps`: ids in order; none where nothing is to be done, or nothing can be. `overrides`: the words that
    `failover` would need to be allowed, and for every topic to be written. `stranded`: a sentence for each
    topic that leaders there would go on taking writes of. `cluster`: that goes on. `missing`: keys of the
    topology file that it lacks for that, if it is of servers of somebody's own.
    """

    cluster: str
    steps: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    stranded: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def foreseen_of(topology: Topology, found: Durability, them: Participants) -> dict[tuple[str, ...], Foreseen]:
    """By what is lost: each loss of data centres alone, of one cluster that lies over several of them."""
    return {
        loss.lost: foreseen(topology, cluster, loss.lost, loss.clusters[cluster], them)
        for cluster, described in topology.clusters.items()
        if len(described.datacenters) > 1
        for loss in found.losses
        if set(described.datacenters).issuperset(loss.lost)
    }


def foreseen(
    topology: Topology, cluster: str, sites: Sequence[str], fate: ClusterFate, them: Participants
) -> Foreseen:
    """Of the loss of data centres of a cluster; `fate`: of that cluster then.

    Every replica is taken to be in sync, and every survivor to be up.
    """
    described = topology.clusters[cluster]
    is_helpless = fate.control_plane in {"lost", "unknown"} or not set(described.datacenters) - set(sites)
    is_untouched = fate.control_plane == "continues" and not with_brokers(described, sites)
    if is_helpless or is_untouched:
        return Foreseen(cluster)
    seen = _by_file(topology, cluster, sites, fate)
    needed = plan_site_loss(topology, seen, SiteLossRequest(cluster=cluster, attested=sites), them)
    every_word = SiteLossRequest(
        cluster=cluster, attested=sites, lower_min_insync=("all",), accept_margin=True, accept_unproven=True
    )
    said = plan_site_loss(topology, seen, every_word, them)
    stopped = needed.facts["stopped"]
    words = [f"--lower-min-insync {','.join(stopped)}"] if stopped else []
    words += [word for gate, word in _WORDS.items() if _closed(needed, gate)]
    steps = tuple(step.action for step in said.steps)
    stranded = tuple(foretold(topology, cluster, sites))
    return Foreseen(
        cluster, steps, tuple(words), stranded, _missing(topology, described, fate) if steps else ()
    )


def _missing(topology: Topology, described: Cluster, fate: ClusterFate) -> tuple[str, ...]:
    """A simulation brings its own; with addresses nothing is done without the ensemble."""
    if not described.bootstrap:
        return ()
    coordination = () if topology.coordination else ("coordination",)
    needs_hosts = fate.control_plane == "needs-procedure"
    return (*coordination, "inventory") if needs_hosts and not topology.inventory else coordination


def _closed(plan: Plan, gate_id: str) -> bool:
    return any(gate.id == gate_id and gate.outcome == "refused" for gate in plan.gates)


def _by_file(topology: Topology, cluster: str, sites: Sequence[str], fate: ClusterFate) -> Snapshot:
    """As it is once Kafka has noticed, or for good where nobody can be elected."""
    described = topology.clusters[cluster]
    own = {topic.name: topic.min_insync_replicas for topic in topology.topics_of(cluster)}
    topics, min_insync, most = {}, {}, 0
    for name, its in fate.topics.items():
        replicas, lost = its.replicas_lost or (0, 0)
        if replicas == lost:
            continue  # nobody is left who could lead it
        # Lost brokers come first: brokers are numbered by whether they are lost.
        all_of = (*range(-lost, 0), *range(1, replicas - lost + 1))
        topics[name] = TopicDescription(name, "", (1,), (all_of,), (all_of[lost:],))
        min_insync[name] = own.get(name) or described.internal_topic(name).min_insync_replicas
        most = max(most, replicas - lost)
    left = next(dc for dc in described.datacenters if dc not in sites)
    placement = Placement(topics, dict.fromkeys(range(1, most + 1), left), frozenset(range(1, most + 1)))
    view = ClusterView(
        placement=Part(_FILE, 0.0, placement),
        min_insync=Part(_FILE, 0.0, min_insync),
        broker_ports=Part(_FILE, 0.0, {}),
        voters=Part(_FILE, 0.0, VotersSeen(_survivors(described, sites), {})),
    )
    coordination = Part(_FILE, 0.0, CoordinationState(""))
    # A host at each site has every application, and its servers.
    hosts = tuple(
        ClientHost(name=dc, dc=dc, service_manager=SERVICE_MANAGERS[0], servers=frozenset({f"server-{dc}"}))
        for dc in described.datacenters
    )
    inventory = Part(_FILE, 0.0, hosts if topology.inventory else ())
    return Snapshot(at_s=0.0, coordination=coordination, clusters={cluster: view}, inventory=inventory)


def _survivors(described: Cluster, sites: Sequence[str]) -> dict[str, Voter]:
    number, found = 0, {}
    for row in described.nodes:
        for _ in range((row.controllers + row.zookeepers) if row.dc not in sites else 0):
            number += 1
            found[f"voter-{number}"] = Voter(
                server=f"voter-{number}",
                site=row.dc,
                kind=described.metadata,
                number=number,
                is_broker=False,
                file="",
                sha256="",
                lines=(),
                epoch=1,  # it has followed a leader: see `has_metadata`
                end=0,
                runs=True,
                leads=False,
            )
    return found
