"""What has to hold before the servers of a site are stopped by plan."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.moves.within_cluster.margin import voters_by_site
from orchestrator.moves.within_cluster.sites_off import servers_of_file
from orchestrator.runs.gate import absent, asked_again, gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.snapshot.snapshot import ClusterView
from orchestrator.topology.model import Cluster
from orchestrator.wording import listed, plural


@asked_again()
def servers_told(view: ClusterView, cluster: str, described: Cluster, site: str) -> GateResult:
    """Hosts tell of each server at the site: only what is told of can be stopped, and seen to be off."""
    limit = f"hosts at {site} tell of every server that {cluster} has there"
    if view.services.value is None:
        return absent("servers-told", view.services, limit)
    if view.voters.value is None:
        return absent("servers-told", view.voters, limit)
    services, voters = view.services.value, view.voters.value
    here = [server for server, its in services.services.items() if its.site == site]
    voting = [voter for voter in voters.voters.values() if voter.site == site]
    wanted, deciding = servers_of_file(described, site), voters_by_site(described).get(site, 0)
    measured = f"{plural(len(here), 'server')}, {plural(len(voting), 'voter')} among them"
    hint = (
        'give each host in the inventory its servers as `dcctl_servers` (docs/stretched.md, "The inventory")'
    )
    # Which hosts at other sites do not tell is no question here.
    problems = {**(voters.problems if len(voting) != deciding else {}), **services.problems}
    if problems:
        said = listed(f"{where}: {problem}" for where, problem in sorted(problems.items()))
        return gate_result("servers-told", "unknown", measured, limit, said, hint)
    if (len(here), len(voting)) != (wanted, deciding):
        reason = f"hosts at {site} tell of {measured}; the file has {wanted} and {deciding} there"
        return gate_result("servers-told", "refused", measured, limit, reason, hint)
    return gate_result("servers-told", "ok", measured, limit, limit)


def writes_go_on(view: ClusterView, cluster: str, site: str, stays: Sequence[str]) -> GateResult:
    """Every topic takes writes with acks=all without the site, or is lowered until it does.

    `stays`: topics that would not; they prefer consistency, and nobody has named them.
    """
    limit = f"every topic of {cluster} takes writes with acks=all without {site}"
    if view.min_insync.value is None:
        return absent("writes-go-on", view.min_insync, limit)
    measured = f"{plural(len(stays), 'topic')} would not"
    if stays:
        reason = f"without {site} too few replicas are in sync for min.insync.replicas of {listed(stays)}"
        hint = f"--lower-min-insync {','.join(stays)} lowers it until failback; or leave the servers running"
        return gate_result("writes-go-on", "refused", measured, limit, reason, hint)
    return gate_result("writes-go-on", "ok", measured, limit, limit)
