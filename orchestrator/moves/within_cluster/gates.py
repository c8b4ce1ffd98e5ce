"""What has to hold before leaders are changed within a cluster."""

from __future__ import annotations

from collections.abc import Collection

from orchestrator.moves.within_cluster.electing import in_words
from orchestrator.moves.within_cluster.order import (
    brokers_at,
    led_instead,
    not_in_sync,
    not_to_be_led_elsewhere,
    without_rack,
)
from orchestrator.moves.within_cluster.preferred import displaced
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Placement
from orchestrator.runs.gate import absent, asked_again, gate_result
from orchestrator.runs.plan import GateOutcome, GateResult
from orchestrator.topology.verbs import put_back_command
from orchestrator.values import TopicPartition
from orchestrator.wording import listed, plural


@asked_again()
def leaders_known(placement: Part[Placement], cluster: str) -> GateResult:
    """Whoever is asked for another leader has to be seen leading."""
    limit = f"{cluster} says who leads each partition, and which replicas are in sync"
    if placement.value is None:
        return absent("leaders-known", placement, limit)
    rows, count = list(displaced(placement.value)), placement.value.partition_count
    if not count:
        reason = f"{cluster} shows no topic: may this login describe them?"
        return gate_result(
            "leaders-known", "unknown", "no topic", limit, reason, "docs/operating.md has the rights"
        )
    measured = f"{len(rows):,} of {count:,} partitions are led by another replica than the preferred one"
    return gate_result("leaders-known", "ok", measured, limit, f"{cluster}: {in_words(count, rows)}")


@asked_again()
def nothing_reassigned(moving: Part[frozenset[TopicPartition]], cluster: str) -> GateResult:
    """Another order takes the place of whatever Kafka is copying for."""
    limit = f"no partition of {cluster} is being reassigned"
    if moving.value is None:
        return absent("no-reassignment", moving, limit)
    measured = f"{plural(len(moving.value), 'partition')} being reassigned"
    if not moving.value:
        return gate_result("no-reassignment", "ok", measured, limit, limit)
    reason = f"being reassigned at {cluster}: {listed(map(str, sorted(moving.value)))}"
    hint = "wait until the reassignment has ended, then try again"
    return gate_result("no-reassignment", "refused", measured, limit, reason, hint)


@asked_again()
def site_evacuable(
    placement: Part[Placement], cluster: str, site: str, away: Collection[str] = ()
) -> GateResult:
    """Every partition has a replica elsewhere that is up and in sync, and each broker tells its rack.

    `away`: sites that are evacuated already; nobody is led there.
    """
    limit = f"each partition of {cluster} has a replica in sync that is not at {site}"
    if placement.value is None:
        return absent("site-evacuable", placement, limit)
    found = placement.value
    unplaced = without_rack(found)
    stuck, back = not_to_be_led_elsewhere(found, site), led_instead(found, site, set(away) - {site})
    brokers = brokers_at(found, site)
    measured = f"{plural(len(brokers), 'broker')} at {site}, {plural(len(stuck), 'partition')} only there"
    reason = hint = ""
    if unplaced:
        reason = f"the site of brokers of {cluster} is unknown: {listed(map(str, unplaced))}"
        hint = "give each broker its site as `broker.rack`"
    elif not brokers:
        known = listed(sorted(set(found.sites.values())))
        reason = f"no broker of {cluster} has the rack {site}; there are: {known}"
        hint = "the name of a site in the file and the racks of its brokers have to be the same"
    elif stuck:
        reason = (
            f"nobody outside {site} could lead {listed(map(str, stuck))}: no replica there is up and in sync"
        )
        hint = "give them replicas at other sites, or wait until those are in sync"
    elif back:
        reason = f"leaders would go to {listed(sorted(set(away) - {site}))}, which is evacuated: "
        reason += listed(map(str, back))
        hint = f"{put_back_command(cluster)} first"
    outcome: GateOutcome = "refused" if reason else "ok"
    reason = reason or f"each partition of {cluster} can be led by a replica that is not at {site}"
    return gate_result("site-evacuable", outcome, measured, limit, reason, hint)


def isr_full(placement: Part[Placement], cluster: str, names: Collection[str]) -> GateResult:
    """What is put first again has everything. A run that goes on waits, or elects those in sync alone."""
    limit = f"every replica of the topics of {cluster} that are put back is in sync"
    if placement.value is None:
        return absent("isr-full", placement, limit)
    behind = not_in_sync(placement.value, names)
    measured = f"{plural(len(behind), 'partition')} with a replica that is not in sync"
    if behind:
        reason = f"replicas of {cluster} are not in sync: {listed(behind)}"
        hint = "start the brokers of the site, and wait until they have caught up"
        return gate_result("isr-full", "refused", measured, limit, reason, hint)
    return gate_result("isr-full", "ok", measured, limit, limit)
