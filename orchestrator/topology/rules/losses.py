"""What the file promises about losses, held against what its layout can keep."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.topology.durability.analysis import explain_topology
from orchestrator.topology.durability.losses import rack_losses, single_losses
from orchestrator.topology.model import Topology
from orchestrator.topology.rules.rule import Finding, Rule, rule
from orchestrator.topology.source import Path

_STRETCHED = ("stretched-2dc", "stretched-2.5dc", "stretched-3dc")


@rule(
    "loss-budget",
    "warning",
    "The loss budget is one that the layout can keep",
    "A mirror copies after the acknowledgement: what is on its way when a site dies is lost. A budget of 0 "
    "refuses every failover that would lose anything.",
)
def loss_budget(topology: Topology) -> Iterator[Finding]:
    """A budget of zero records over a mirror; zero is what holds where the file says nothing."""
    if topology.layout in ("active-passive", "active-active") and topology.failover.max_loss.records == 0:
        message = "the loss budget is 0 records, and a mirror lags: a failover under load would be refused"
        hint = "state failover.max_loss: {records: N, seconds: S}, or give --accept-loss when it is needed"
        yield Finding(("failover", "max_loss", "records"), message, hint)


@rule(
    "loss-budget-empty",
    "error",
    "A loss budget states a number",
    "An empty one reads like nothing may be lost, and would allow any loss. Left out, it is 0 records.",
)
def loss_budget_empty(topology: Topology) -> Iterator[Finding]:
    """max_loss without records and without seconds."""
    budget = topology.failover.max_loss
    if budget.records is None and budget.seconds is None:
        message = "the loss budget is empty: it says neither `records` nor `seconds`"
        yield Finding(
            ("failover", "max_loss"), message, "state one of them, or leave max_loss out for 0 records"
        )


@rule(
    "site-loss",
    "warning",
    "A stretched cluster loses no acknowledged record with a site",
    "A record is surely elsewhere too only if min.insync.replicas is above the replicas in each site.",
    needs_sound=True,
)
def site_loss(topology: Topology) -> Iterator[Finding]:
    """Topics of which a site's loss may take acknowledged records, where none may be lost."""
    if topology.layout not in _STRETCHED or topology.failover.max_loss.records != 0:
        return
    at_risk: dict[tuple[str, str], list[str]] = {}
    for fate in explain_topology(topology, single_losses(topology), with_margin=False).losses:
        for cluster, told in fate.clusters.items():
            for topic, answer in told.topics.items():
                if answer.acked_records in ("at-risk", "lost"):
                    at_risk.setdefault((cluster, topic), []).append(fate.lost[0])
    index_of = _indexes(topology)
    for (cluster, name), sites in at_risk.items():
        index = index_of.get((cluster, name))
        if index is None:
            message = f"the loss of {_either(sites)} may lose what `{name}` of `{cluster}` acknowledged"
            hint = "state it under internal_topics, with min_insync_replicas above its replicas in each site"
            yield Finding(("clusters", cluster, "internal_topics", name), message, hint)
        elif (topology.topics[index].prefer or topology.clusters[cluster].prefer) == "consistency":
            message = f"the loss of {_either(sites)} may lose acknowledged records of `{name}`"
            hint = "raise min_insync_replicas above its replicas in each site, or say prefer: availability"
            yield Finding(("topics", index, "min_insync_replicas"), message, hint)


@rule(
    "rack-loss",
    "warning",
    "Where racks are named, the loss of any one of them stops nothing and loses nothing",
    "Racks are named because one may fail as a whole. Kafka spreads replicas over them; a quorum or a topic "
    "with more replicas than racks may depend on one all the same.",
    needs_sound=True,
)
def rack_loss(topology: Topology) -> Iterator[Finding]:
    """Clusters and topics that one rack takes along."""
    deciding: dict[str, list[str]] = {}
    harmed: dict[tuple[str, str, str], list[str]] = {}
    for fate in explain_topology(topology, rack_losses(topology), with_margin=False).losses:
        for cluster, told in fate.clusters.items():
            if told.control_plane == "lost":
                deciding.setdefault(cluster, []).append(fate.lost[0])
            for topic, answer in told.topics.items():
                if answer.acked_records in ("at-risk", "lost"):
                    harmed.setdefault((cluster, topic, _LOSES), []).append(fate.lost[0])
                elif answer.writes == "need-procedure":
                    harmed.setdefault((cluster, topic, _WAITS), []).append(fate.lost[0])
    for cluster, racks in deciding.items():
        message = f"the loss of {_either(racks)} stops the quorum of `{cluster}`"
        yield Finding(("clusters", cluster, "nodes"), message, "no rack may have half of the voters or more")
    index_of = _indexes(topology)
    for (cluster, name, harm), racks in harmed.items():
        index = index_of.get((cluster, name))
        path: Path = ("clusters", cluster, "internal_topics", name) if index is None else ("topics", index)
        way = "raise" if harm == _LOSES else "lower"
        where = (
            "min_insync_replicas" if index is not None else "min_insync_replicas of it under internal_topics"
        )
        hint = f"spread the brokers over more racks, or {way} {where}"
        yield Finding(path, f"the loss of {_either(racks)} {harm} `{name}`", hint)


def _indexes(topology: Topology) -> dict[tuple[str, str], int]:
    """Where each topic stands in the file, by its cluster and name. Kafka's own stand with the cluster."""
    return {(topic.cluster, topic.name): index for index, topic in enumerate(topology.topics)}


def _either(sites: list[str]) -> str:
    return " or ".join(f"`{site}`" for site in sites)


@rule(
    "prefer-budget",
    "warning",
    "Where nothing may be lost, no topic prefers availability",
    "Availability means to go on with fewer copies; a budget of 0 records means to stop instead.",
)
def prefer_budget(topology: Topology) -> Iterator[Finding]:
    """prefer: availability in a stretched cluster with a budget of zero."""
    if topology.layout not in _STRETCHED or topology.failover.max_loss.records != 0:
        return
    for name, cluster in topology.clusters.items():
        if cluster.prefer == "availability":
            message = f"cluster `{name}` prefers availability, the loss budget is 0 records"
            hint = "state failover.max_loss, or take prefer: consistency"
            yield Finding(("clusters", name, "prefer"), message, hint)
    for index, topic in enumerate(topology.topics):
        if topic.prefer == "availability":
            message = f"`{topic.name}` prefers availability, the loss budget is 0 records"
            hint = "state failover.max_loss, or take prefer: consistency"
            yield Finding(("topics", index, "prefer"), message, hint)


@rule(
    "position-age",
    "warning",
    "Positions may be as old as the watcher makes them",
    "It samples about each second, and the mirror flushes at its own interval: below that every failover "
    "would be refused.",
)
def position_age(topology: Topology) -> Iterator[Finding]:
    """max_position_age_s below what the watcher can keep."""
    limit_s = topology.failover.max_position_age_s
    if topology.replication and limit_s < _YOUNGEST_S:
        message = f"max_position_age_s is {limit_s:g}; a position is up to {_YOUNGEST_S:g} s old at any time"
        path = ("failover", "max_position_age_s")
        yield Finding(path, message, "a failover would be refused; 5 is a good value")


@rule(
    "quiet-after-move",
    "warning",
    "Moves may follow each other within a day",
    "A second loss can come soon after the first one. For as long as this window is, a failover then waits "
    "for somebody's acknowledgement.",
)
def quiet_after_move(topology: Topology) -> Iterator[Finding]:
    """quiet_after_move_s longer than a day."""
    cooldown_s = topology.failover.cooldown_s
    if topology.replication and cooldown_s > _LONGEST_QUIET_S:
        message = (
            f"quiet_after_move_s is {cooldown_s:g}; for {cooldown_s / 3600:.0f} "
            "h each failover needs --acknowledge"
        )
        path = ("failover", "quiet_after_move_s")
        yield Finding(path, message, "1800 is a good value: half an hour")


@rule(
    "objectives-in-budget",
    "warning",
    "The loss budget allows no more than the recovery point objective",
    "max_loss decides what a failover may lose, objectives only judge what it has lost. Where the budget is "
    "larger, a failover that is bound to miss the objective is not refused.",
)
def objectives_in_budget(topology: Topology) -> Iterator[Finding]:
    """A recovery point objective that the budget contradicts, in records or in seconds."""
    objectives, budget = topology.failover.objectives, topology.failover.max_loss
    if objectives is None:
        return
    for unit, key, objective, allowed in (
        ("records", "rpo_records", objectives.rpo_records, budget.records),
        ("seconds", "rpo_s", objectives.rpo_s, budget.seconds),
    ):
        if objective is not None and allowed is not None and allowed > objective:
            message = f"{key} is {objective:,.10g}, and max_loss allows {allowed:,.10g} {unit} to be lost"
            hint = f"lower failover.max_loss.{unit} to {objective:.10g}, or raise the objective"
            yield Finding(("failover", "objectives", key), message, hint)


_LOSES, _WAITS = "may lose acknowledged records of", "stops writes with acks=all to"
_YOUNGEST_S = 1.0
_LONGEST_QUIET_S = 86_400.0

RULES: tuple[Rule, ...] = (
    loss_budget,
    loss_budget_empty,
    site_loss,
    rack_loss,
    prefer_budget,
    position_age,
    quiet_after_move,
    objectives_in_budget,
)
