"""What has to be looked at before a request within a cluster can be planned."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.moves.within_cluster.loss_gates import must_form_quorum
from orchestrator.moves.within_cluster.requests import (
    ClusterRequest,
    EvacuateRequest,
    LeadersRequest,
    PutBackRequest,
    SiteLossRequest,
)
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.within_clusters import Quorum
from orchestrator.topology.model import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Beside brokers, leaders and what the ensemble knows.

    `voters_at`: sites at which hosts tell of voters and their files. `lost`: sites that are lost with the
    quorum, at which nothing is to take connections; `forms`: the voters elsewhere are to become one, so the
    cluster can neither be asked for reassignments nor for settings; `each_takes_part`: none of them may be
    left out, though fewer were enough. `known`: what is recorded of the quorum. `voter_set`: who votes, as
    the living quorum tells it. `ports`: whether brokers that are not lost take connections. `may_lead_on`:
    sites whose brokers may go on leading without anybody's knowledge; `log_ends`: how far logs reach there,
    and where nobody leads. `mirrors`: how those stand that copy out of the cluster. `services_at`: sites at
    which service managers tell.
    """

    applications: bool = True
    voters_at: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    forms: bool = False
    each_takes_part: bool = False
    known: Quorum = Quorum()  # noqa: RUF009 - it is frozen
    voter_set: bool = False
    ports: bool = False
    log_ends: bool = False
    may_lead_on: tuple[str, ...] = ()
    mirrors: bool = False
    services_at: tuple[str, ...] = ()


def wanted_for(topology: Topology, request: ClusterRequest, state: CoordinationState | None) -> Wanted:
    """`state`: None where the ensemble does not tell."""
    known = _known(state, request.cluster)
    match request:
        case SiteLossRequest():
            return _after_a_loss(topology, request, known)
        case EvacuateRequest(power_off=True):
            return _for_power_off(topology, request, state, known)
        case PutBackRequest():
            return _on_the_way_back(topology, request, state, known)
        case LeadersRequest():
            return Wanted(applications=False)
        case _:
            return Wanted()


def wanted_as_it_is(topology: Topology, cluster: str, state: CoordinationState | None) -> Wanted:
    """With the voters of every site, as far as hosts tell of them; nothing is asked for."""
    every = topology.clusters[cluster].datacenters
    # Without a quorum brokers go on telling who was up before.
    return Wanted(voters_at=every, known=_known(state, cluster), ports=True)


def _known(state: CoordinationState | None, cluster: str) -> Quorum:
    return state.quorums.get(cluster, Quorum()) if state is not None else Quorum()


def _after_a_loss(topology: Topology, request: SiteLossRequest, known: Quorum) -> Wanted:
    sites = tuple(request.attested)
    forms = must_form_quorum(topology, request.cluster, sites, known)
    others = tuple(dc for dc in topology.clusters[request.cluster].datacenters if dc not in sites)
    is_alone = forms or known.is_without(sites)
    return Wanted(
        # Whether those that run are a quorum; where nobody can ask, the file alone says it.
        voters_at=others if is_alone or topology.inventory else (),
        lost=sites if is_alone else (),
        forms=forms,
        ports=forms,
        known=known,
        voter_set=request.drop_dead_voters and not is_alone,
        log_ends=True,
        may_lead_on=sites,
        mirrors=request.accept_unclean is not None,
    )


def _for_power_off(
    topology: Topology, request: EvacuateRequest, state: CoordinationState | None, known: Quorum
) -> Wanted:
    cluster, site = request.cluster, request.site
    off = state.sites_off.get(cluster, ()) if state is not None else ()
    # Once it is recorded as off its voters stop, and with them the quorum may be gone.
    is_gone = site in off and must_form_quorum(topology, cluster, (site,), known)
    every = topology.clusters[cluster].datacenters
    return Wanted(
        # Voters that were taken out decide nothing, whether or not their hosts tell of them.
        voters_at=tuple(dc for dc in every if dc == site or dc not in known.dropped_at),
        lost=(site,) if is_gone else (),
        forms=is_gone,
        ports=is_gone,
        each_takes_part=True,
        known=known,
        services_at=(site,),
    )


def _on_the_way_back(
    topology: Topology, request: PutBackRequest, state: CoordinationState | None, known: Quorum
) -> Wanted:
    described = topology.clusters[request.cluster]
    stopped = state.services_stopped.get(request.cluster, {}) if state is not None else {}
    every = described.datacenters if known.forced is not None or known.dropped is not None else ()
    return Wanted(
        # A site without brokers is back where its voters are.
        voters_at=(known.dropped_at if known.forced is None else ()) or every,
        known=known,
        voter_set=described.voters == "dynamic",
        services_at=tuple(dict.fromkeys(its.site for its in stopped.values())),
    )
