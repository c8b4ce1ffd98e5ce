"""What `failover` would do, and what would refuse it, if a site of a cluster were lost now. Pure.

The plan is that of `failover`, made of what is seen now without the site, so that `status` never says
anything that `failover` would not.
"""

from __future__ import annotations

from dataclasses import replace

from orchestrator.moves.participants import Participants
from orchestrator.moves.within_cluster.order import without_sites
from orchestrator.moves.within_cluster.requests import SiteLossRequest
from orchestrator.moves.within_cluster.site_loss import plan_site_loss
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Placement, TopicDescription
from orchestrator.ports.voters import VotersSeen
from orchestrator.runs.plan import Plan
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Topology


def plan_without(topology: Topology, seen: Snapshot, cluster: str, site: str, them: Participants) -> Plan:
    """As Kafka would have left the cluster: led by whoever is in sync and up, wherever there is one."""
    view = seen.cluster(cluster)
    if view.placement.value is not None:
        view = replace(view, placement=replace(view.placement, value=_without(view.placement.value, site)))
    if view.voters.value is not None:
        left = {name: voter for name, voter in view.voters.value.voters.items() if voter.site != site}
        view = replace(view, voters=replace(view.voters, value=VotersSeen(left, view.voters.value.problems)))
    # Nothing of it would take connections: the address stands for all of its servers.
    view = replace(view, at_lost_sites=Part(view.placement.source, seen.at_s, {site: "refused"}))
    # Whoever is up now has not been restarted since a loss that is yet to come.
    view = replace(view, broker_ports=Part(view.placement.source, seen.at_s, {}))
    request = SiteLossRequest(cluster=cluster, attested=(site,))
    return plan_site_loss(topology, replace(seen, clusters={cluster: view}), request, them)


def _without(placement: Placement, site: str) -> Placement:
    left = without_sites(placement, [site])
    topics = {name: _led_without(topic, left.living) for name, topic in placement.topics.items()}
    sites = {broker: at for broker, at in placement.sites.items() if at != site}
    return Placement(topics, sites, left.living)


def _led_without(topic: TopicDescription, living: frozenset[int]) -> TopicDescription:
    isr = tuple(tuple(broker for broker in row if broker in living) for row in topic.isr)
    rows = zip(topic.leaders, topic.replicas, isr, strict=True)
    leaders = tuple(
        leader if leader in living else next((one for one in replicas if one in in_sync), -1)
        for leader, replicas, in_sync in rows
    )
    return replace(topic, leaders=leaders, isr=isr)
