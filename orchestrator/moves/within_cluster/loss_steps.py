"""The steps that the loss of sites asks for: kept off, a quorum, leaders, settings, writes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from orchestrator.moves.within_cluster.electing_unclean import ElectUnclean, PutLongestFirst
from orchestrator.moves.within_cluster.min_insync import LowerMinInsync
from orchestrator.moves.within_cluster.mirrors import Shortened, go_on, halt, record_left
from orchestrator.moves.within_cluster.quorum.membership import DropVoters
from orchestrator.moves.within_cluster.quorum.steps import form_quorum, start_rest, start_stopped
from orchestrator.moves.within_cluster.quorum.taking_part import TakingPart
from orchestrator.moves.within_cluster.services import StopServices
from orchestrator.moves.within_cluster.serving import AwaitLeaders, SeeWritable
from orchestrator.moves.within_cluster.sites_off import FenceSite
from orchestrator.ports.voter_sets import Member
from orchestrator.ports.voters import VotersSeen
from orchestrator.runs.runbook import After, Runbook, behind
from orchestrator.runs.within_clusters import LeftOut, Quorum
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class LossWay:
    """What is to be done at the loss of `sites`. `lost_brokers`: sites whose brokers are dead for certain;
    `unasked`: why no host there is asked to stop its services; `left_out`: by site the ids of voters that are
    none of the `voters`, though others there are; `dropped`: dead voters that are taken out.
    `mirrors`: those that may have copied what is given up, now or at an earlier election.
    """

    cluster: str
    sites: tuple[str, ...]
    quorum: Quorum
    voters: VotersSeen
    is_fenced: bool
    unasked: str
    forms: bool
    halted_voters: bool
    lost_brokers: tuple[str, ...]
    unclean: tuple[TopicPartition, ...]
    to_lower: dict[str, int]
    stays: tuple[str, ...]
    topology: Topology
    left_out: LeftOut = field(default_factory=dict)
    dropped: tuple[Member, ...] = ()
    mirrors: tuple[Shortened, ...] = ()


def loss_steps(book: Runbook, way: LossWay, after: Sequence[After] = ()) -> list[After]:
    """All but those of applications, which come behind what is returned."""
    cluster = way.cluster
    formed = list(after) if way.is_fenced else keep_off(book, cluster, way.sites, way.unasked)
    if way.forms:
        taking_part = TakingPart(way.voters, way.left_out)
        formed = form_alone(book, cluster, taking_part, way.sites, way.quorum, after=formed)
    elif way.halted_voters:
        start_halted(book, cluster, way.voters, way.quorum)
    with book.section("take writes", on_failure="stop"):
        alone = tuple((tp.topic, tp.partition) for tp in way.unclean)
        await_leaders = AwaitLeaders(cluster=cluster, without=way.lost_brokers, but_for=alone)
        led = book.add(await_leaders, after=formed)
        order = [behind(led, because="leaders first, then settings")]
        first, elected = None, None
        if alone:
            because = "who is elected without losing anything comes first"
            before = [behind(led, because=because)]
            if halted := halt(book, way.topology, way.mirrors, before):
                because = (
                    "a mirror that has read beyond the logs of new leaders would start at the earliest record"
                )
                before = [behind(*halted, because=because)]
            first = book.add(PutLongestFirst(cluster=cluster, partitions=alone), after=before)
            elect = ElectUnclean(cluster=cluster, partitions=alone, chosen=first)
            elected = book.add(elect, after=record_left(book, way.mirrors, first))
            order = [behind(elected, because="a change of the setting clears who is eligible")]
        if way.to_lower:
            lower = LowerMinInsync(cluster=cluster, sites=way.sites, topics=way.to_lower)
            # ZooKeeper mode has no eligible leader replicas: who is led by a survivor takes writes at once.
            is_zookeeper = way.topology.clusters[cluster].metadata == "zookeeper"
            lowered = book.add(lower, after=formed if is_zookeeper and not alone else order)
            order = [*order, behind(lowered, because="what was asked for is looked at")]
        written = book.add(SeeWritable(cluster=cluster, but_for=way.stays), after=order)
    if way.dropped:
        with book.section("dead voters", on_failure="stop"):
            order = [behind(written, because="writes do not wait for it")]
            living = sorted(voter.number for voter in way.voters.voters.values() if voter.runs is not False)
            drop = DropVoters(cluster=cluster, sites=way.sites, voters=way.dropped, living=tuple(living))
            book.add(drop, after=order)
    if way.mirrors:
        because = "until then it is unknown where the logs end"
        order = [behind(elected, because=because)] if elected else []
        go_on(book, way.topology, way.mirrors, first, order)
    return [behind(written, because="who writes is started once writes are taken")]


def keep_off(book: Runbook, cluster: str, sites: tuple[str, ...], unasked: str) -> list[After]:
    """Nobody waits for hosts of a lost site: their services are stopped beside all that follows."""
    with book.section("keep the site off", on_failure="stop"):
        fenced = book.add(FenceSite(cluster=cluster, sites=sites, unasked=unasked))
    if not unasked:
        order = behind(fenced, because="guards keep off what a host starts again by itself")
        with book.section("services at the site", on_failure="note"):
            book.add(StopServices(cluster=cluster, sites=sites), after=[order])
    return [behind(fenced, because="what comes back by itself must not decide with the others")]


def start_halted(
    book: Runbook, cluster: str, voters: VotersSeen, quorum: Quorum, after: Sequence[After] = ()
) -> None:
    """Survivors are the whole quorum already; those of them that do not run are started."""
    with book.section("the other voters", on_failure="stop"):
        start_stopped(book, cluster, voters, quorum, after=after)


def form_alone(
    book: Runbook,
    cluster: str,
    taking_part: TakingPart,
    sites: tuple[str, ...],
    quorum: Quorum,
    *,
    after: Sequence[After],
) -> list[After]:
    """Survivors become the whole quorum; the voters that do not begin start off the critical way."""
    with book.section("form a quorum", on_failure="stop"):
        stopped_voters, whole = form_quorum(book, cluster, taking_part, sites, quorum, after=after)
    with book.section("the other voters", on_failure="stop"):
        start_rest(book, cluster, taking_part, stopped_voters, quorum, after=whole)
    return [behind(whole, because="without a quorum nobody is elected")]
