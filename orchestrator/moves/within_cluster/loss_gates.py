"""What has to hold before anything is changed because a site of a stretched cluster is lost."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from orchestrator.moves.within_cluster.margin import VotersUp, deciding, voters_up
from orchestrator.moves.within_cluster.order import brokers_at, without_rack
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Placement
from orchestrator.runs.gate import absent, asked_again, gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.runs.within_clusters import Quorum
from orchestrator.snapshot.snapshot import ClusterView
from orchestrator.topology.durability.analysis import explain_topology
from orchestrator.topology.durability.losses import loss_of
from orchestrator.topology.durability.values import ControlPlane
from orchestrator.topology.model import Topology
from orchestrator.wording import listed, plural


def site_attested(cluster: str, sites: Sequence[str]) -> GateResult:
    """A person says which sites are down: what does not answer may be out of reach alone."""
    limit = f"a person has made sure which site of {cluster} is down"
    if not sites:
        reason = f"nobody attests that a site of {cluster} is down"
        return gate_result("attested", "refused", "no site", limit, reason, "--attest-down DC")
    said = f"attested to be down: {listed(sites)}"
    return gate_result("attested", "ok", plural(len(sites), "site"), limit, said)


@asked_again()
def lost_site_off(
    placement: Part[Placement], cluster: str, sites: Sequence[str], known: Collection[str]
) -> GateResult:
    """No broker of the lost sites takes part; `known`: the sites of the file, of which each rack is one."""
    limit = f"no broker of {cluster} at {listed(sites) or 'the lost site'} is up"
    if placement.value is None:
        return absent("lost-site-off", placement, limit)
    up = sorted(
        broker
        for site in sites
        for broker in brokers_at(placement.value, site)
        if broker in placement.value.living
    )
    measured = f"{plural(len(up), 'broker')} up"
    unplaced = without_rack(placement.value)
    unplaced += [b for b, site in placement.value.sites.items() if site not in known]
    if unplaced:
        reason = f"at which site of the file brokers are is not known: {listed(map(str, sorted(unplaced)))}"
        hint = "give each broker its site, as the file calls it, as `broker.rack`"
        return gate_result("lost-site-off", "unknown", measured, limit, reason, hint)
    if up:
        reason = f"brokers of {cluster} at {listed(sites)} are up: {listed(map(str, up))}"
        hint = (
            "one that has just gone counts as up until its session ends, some seconds later: try again then; "
        )
        hint += "leaders go off a site that is up by dcctl switchover FILE --evacuate DC"
        return gate_result("lost-site-off", "refused", measured, limit, reason, hint)
    return gate_result("lost-site-off", "ok", measured, limit, limit)


def control_plane(topology: Topology, cluster: str, sites: Sequence[str]) -> tuple[ControlPlane, str]:
    """What the loss of these sites means for the metadata quorum, by the file, and why."""
    found = explain_topology(topology, [loss_of(topology, sites)], with_margin=False)
    fate = found.losses[0].clusters[cluster]
    return fate.control_plane, fate.reason


@asked_again()
def quorum_continues(cluster: str, fate: ControlPlane, reason: str, *, formed: int) -> GateResult:
    """The voters that are left are a majority, can surely be made the whole quorum, or are it already.

    `formed`: as which change of the quorum they have become that; 0 where they have not.
    """
    limit = f"the voters of {cluster} that are left are a quorum, or can become one without losing anything"
    if formed:
        reason = f"the voters that are left are the whole quorum of {cluster} since its change {formed}"
        return gate_result("quorum-continues", "ok", "formed", limit, reason)
    if fate != "lost":
        return gate_result("quorum-continues", "ok", fate, limit, reason)
    hint = "bring the site back: no quorum can be formed without it (docs/stretched.md)"
    return gate_result("quorum-continues", "refused", fate, limit, reason, hint)


@asked_again()
def voters_continue(
    topology: Topology,
    cluster: str,
    sites: Sequence[str],
    up: VotersUp,
    reason: str,
    *,
    is_by_plan: bool = False,
) -> GateResult:
    """The voters outside the lost sites that run are a quorum. Guards, and `stop-services`, end those within.

    `reason`: why they are one by the file. Where it depends on voters of which no host tells, that counts: a
    host that cannot be asked keeps nobody from going on. `is_by_plan`: the sites are not lost, they are to be
    stopped; then what is not known is unknown.
    """
    limit = f"the voters of {cluster} that are left are a quorum"
    planes = up.planes(topology, cluster, without=sites)
    here = {site: count for site, count in up.known.items() if site not in sites}
    measured = f"{plural(sum(here.values()), 'voter')} known to be up outside {listed(sites)}"
    if planes == {"continues"}:
        return gate_result("quorum-continues", "ok", measured, limit, reason)
    if "continues" in planes:
        untold = f"which of them run is not known ({up.why})"
        if is_by_plan:
            said = f"without {listed(sites)} a quorum depends on the other voters, and {untold}"
            hint = "make their hosts answer: a quorum that goes on is not ended on a guess"
            return gate_result("quorum-continues", "unknown", measured, limit, said, hint)
        return gate_result("quorum-continues", "ok", measured, limit, f"{reason}, by the file; {untold}")
    rows = listed(f"{count} at {site}" for site, count in here.items())
    said = f"too few voters of {cluster} run outside {listed(sites)} for a quorum: {rows}"
    hint = (
        "start them first, or attest every site that is down: what runs at a lost site is stopped by guards, "
    )
    hint += "and by this command"
    return gate_result("quorum-continues", "refused", measured, limit, said, hint)


def must_form_quorum(topology: Topology, cluster: str, sites: Sequence[str], quorum: Quorum) -> bool:
    """Whether the voters that are left have to become the whole quorum, and can by the file."""
    if not sites or quorum.stands_alone:
        return False
    return control_plane(_voting(topology, cluster, quorum), cluster, sites)[0] == "needs-procedure"


def _voting(topology: Topology, cluster: str, quorum: Quorum) -> Topology:
    """The file without voters that were taken out of a living quorum: these decide nothing any more."""
    return deciding(topology, cluster, Quorum(dropped=quorum.dropped))


def continuing(
    topology: Topology,
    view: ClusterView,
    cluster: str,
    sites: Sequence[str],
    quorum: Quorum,
    *,
    is_by_plan: bool = False,
) -> tuple[GateResult, ...]:
    """Whether the voters outside these sites are a quorum, by who runs, or can become one by the file."""
    if not sites:
        return ()
    forced = quorum.forced.sites if quorum.forced is not None else ()
    topology = _voting(topology, cluster, quorum)
    plane, reason = control_plane(topology, cluster, tuple(dict.fromkeys([*sites, *forced])))
    formed = quorum.generation if quorum.is_without(sites) else 0
    if plane == "continues" and not formed:
        up = voters_up(topology.clusters[cluster], view.voters, view.placement.value)
        return (voters_continue(topology, cluster, sites, up, reason, is_by_plan=is_by_plan),)
    return (quorum_continues(cluster, plane, reason, formed=formed),)


def settings_known(min_insync: Part[Mapping[str, int]], cluster: str) -> GateResult:
    """The cluster tells what its topics have set."""
    limit = f"{cluster} says how many replicas in sync each topic wants"
    if min_insync.value is None:
        return absent("settings-known", min_insync, limit)
    return gate_result("settings-known", "ok", f"{len(min_insync.value):,} topics", limit, limit)
