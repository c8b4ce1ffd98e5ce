"""A quorum of the survivors' own, by the procedures that were proven on the pinned versions.

When the data centres that are left hold no majority of the metadata's voters, their voters are told to
be all there are, and restarted; brokers stay as they are. ZooKeeper: the lost servers and all groups go
from zoo.cfg. KRaft with static voters on controllers of their own: the lost ones go from
`controller.quorum.voters` (Apache Kafka supports no such procedure). It is only safe where every one of
the surviving voters takes part, and where the lost data centres cannot come back with the old
configuration meanwhile.

No command of dcctl does this yet: the tests that lose each site of a stretched layout prove it on real servers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.errors import ClusterError, SimulationError
from orchestrator.simulation.crew import Crew, OnProgress
from orchestrator.simulation.estate import KafkaNode, ZooKeeperNode
from orchestrator.simulation.readiness import await_listening, await_zookeeper
from orchestrator.simulation.running import Simulation

_POLL_S = 0.2
_ASK_TIMEOUT_S = 2.0
_FULL = ".full"
_SERVER = re.compile(r"server\.(\d+)=")
_GROUPING = re.compile(r"(group|weight)\.\d+=")
_VOTERS = "controller.quorum.voters="

Voter = KafkaNode | ZooKeeperNode


def force_quorum(
    simulation: Simulation,
    cluster: str,
    datacenters: Collection[str],
    on_progress: OnProgress,
    timeout_s: float = 120.0,
) -> None:
    """Make the voters in `datacenters` the whole quorum, and wait until every partition there has a leader.

    All of these data centres must be up, and all others away. Raises `SimulationError` where they are not,
    where the cluster has combined nodes (the procedure was seen to fail with them), or after `timeout_s`.
    """
    voters = list(_voters(simulation, cluster))
    kept = [voter for voter in voters if voter.dc in datacenters]
    _refuse_unsafe(simulation, cluster, kept, {voter.dc for voter in voters} - set(datacenters))
    ids = {_number(voter) for voter in kept}
    for voter in kept:
        files, path = simulation.site(voter.dc).files, _configuration(voter)
        if not _is_changed(simulation, voter):
            files.write(path + _FULL, files.read(path), is_private=True)
        fewer = zookeeper_voters_only if isinstance(voter, ZooKeeperNode) else kraft_voters_only
        files.write(path, fewer(files.read(path + _FULL).decode("utf-8"), ids))
    _restart(simulation, cluster, kept, on_progress, timeout_s)
    brokers = {node.node_id for node in simulation.estate.brokers_of(cluster) if node.dc in datacenters}
    crew = Crew(cluster, on_progress, timeout_s)
    crew.run([lambda: await_leaders(crew, simulation.cluster(cluster), brokers)])


def restore_quorum(simulation: Simulation, cluster: str, on_progress: OnProgress) -> None:
    """Give every voter that was told otherwise its full configuration back, and restart it.

    The data centres that were away keep theirs: start them next (`Host.restart`), because only together
    they are a quorum again. Returns when the voters run; brokers serve on meanwhile.
    """
    changed = [voter for voter in _voters(simulation, cluster) if _is_changed(simulation, voter)]
    for voter in changed:
        files, path = simulation.site(voter.dc).files, _configuration(voter)
        files.write(path, files.read(path + _FULL))
        files.remove(path + _FULL)
    for dc in {voter.dc for voter in changed}:
        names = [voter.program for voter in changed if voter.dc == dc]
        on_progress(cluster, f"restarting {', '.join(names)} with the full quorum")
        simulation.site(dc).stop(names)
        simulation.site(dc).start(names)


def await_leaders(crew: Crew, cluster: KafkaCluster, brokers: Collection[int]) -> None:
    """Wait until each partition with a replica on `brokers` is led by one of them, and no other is in sync.

    Without a quorum brokers go on telling what they knew last: only a changed ISR shows that it is back.
    """
    while True:
        try:
            topics = cluster.topics(cluster.topic_names(timeout_s=_ASK_TIMEOUT_S), timeout_s=_ASK_TIMEOUT_S)
        except ClusterError as error:
            crew.check(cluster.subject, error.problem)
            crew.pause(_POLL_S)
            continue
        waiting = [
            partition
            for topic in topics.values()
            for partition, leader, replicas, isr in zip(
                topic.partitions, topic.leaders, topic.replicas, topic.isr, strict=True
            )
            if set(replicas) & set(brokers) and not (leader in brokers and set(isr) <= set(brokers))
        ]
        crew.say(
            cluster.name,
            f"{len(waiting)} partitions without a leader" if waiting else "every partition is led",
        )
        if not waiting:
            return
        crew.check(cluster.subject, f"{len(waiting)} partitions have no leader, {waiting[0]} for one")
        crew.pause(_POLL_S)


def _voters(simulation: Simulation, cluster: str) -> Iterator[Voter]:
    yield from simulation.estate.zookeepers_of(cluster)
    yield from simulation.estate.controllers_of(cluster)


def _number(voter: Voter) -> int:
    return voter.server_id if isinstance(voter, ZooKeeperNode) else voter.node_id


def _configuration(voter: Voter) -> str:
    """Among the files of its host."""
    name = "zoo.cfg" if isinstance(voter, ZooKeeperNode) else "server.properties"
    return f"{voter.program}/{name}"


def _is_changed(simulation: Simulation, voter: Voter) -> bool:
    """Whether it has been told of fewer voters than there are."""
    files = simulation.site(voter.dc).files
    return files.can_be_reached and _configuration(voter) + _FULL in files.list(voter.program)


def _refuse_unsafe(
    simulation: Simulation, cluster: str, kept: Collection[Voter], others: Collection[str]
) -> None:
    subject = f"cluster {cluster}"
    if any(isinstance(voter, KafkaNode) and voter.is_broker for voter in kept):
        raise SimulationError(
            subject,
            "has combined nodes: brokers that are killed lose their place among the in-sync replicas",
            "no quorum of the survivors can be forced without losing the partitions' leaders",
        )
    if not kept:
        raise SimulationError(subject, "has no voter in the data centres that are left")
    states = {dc: simulation.site(dc).state for dc in {voter.dc for voter in kept}}
    down = [dc for dc, state in states.items() if state != "up"]
    if down:
        raise SimulationError(
            subject, f"{down[0]} is {states[down[0]]}: every surviving voter has to take part"
        )
    alive = [dc for dc in others if simulation.site(dc).state != "killed"]
    if alive:
        raise SimulationError(
            subject,
            f"{alive[0]} is {simulation.site(alive[0]).state}: two quorums could form",
            "kill it first",
        )


def _restart(
    simulation: Simulation, cluster: str, voters: Collection[Voter], on_progress: OnProgress, timeout_s: float
) -> None:
    """All of them at once: none of the old quorum may meet one of the new."""
    crew = Crew(cluster, on_progress, timeout_s)

    def restart(dc: str) -> None:
        site = simulation.site(dc)
        here = [voter for voter in voters if voter.dc == dc]
        names = [voter.program for voter in here]
        crew.say(dc, f"restarting {', '.join(names)}")
        site.stop(names)
        site.start(names)
        watch, clients = [site.watch(names)], simulation.backend.clients
        for voter in here:
            subject = f"{cluster}, {voter.program}"
            if isinstance(voter, ZooKeeperNode):
                await_zookeeper(crew, subject, clients, simulation.address(voter, "client"), watch)
            else:
                await_listening(crew, subject, clients, simulation.address(voter, "controller"), watch)

    crew.run([lambda dc=dc: restart(dc) for dc in {voter.dc for voter in voters}])  # type: ignore[misc]


def zookeeper_voters_only(text: str, kept: Collection[int]) -> str:
    """A zoo.cfg in which only these servers vote: other servers, groups and weights are commented out."""

    def line_of(line: str) -> str:
        server = _SERVER.match(line)
        is_out = _GROUPING.match(line) or (server is not None and int(server[1]) not in kept)
        return f"#{line}" if is_out else line

    return "".join(map(line_of, text.splitlines(keepends=True)))


def kraft_voters_only(text: str, kept: Collection[int]) -> str:
    """A server.properties whose static voters are only these."""

    def line_of(line: str) -> str:
        if not line.startswith(_VOTERS):
            return line
        voters = line.removeprefix(_VOTERS).strip().split(",")
        return _VOTERS + ",".join(one for one in voters if int(one.partition("@")[0]) in kept) + "\n"

    return "".join(map(line_of, text.splitlines(keepends=True)))
