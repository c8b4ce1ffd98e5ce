"""Applications on hosts: producers that write where they may, groups that read and commit, Spark queries.

What a producer was acknowledged and what a consumer has processed is kept, so that a test can tell what was lost,
skipped or written at both sides.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from orchestrator.adapters.ansible import check_installed
from orchestrator.adapters.checkpoint_files import numbered
from orchestrator.errors import PlaybookError
from orchestrator.ports.hosts import HostsTold
from orchestrator.replication.positions_back import reverse_mirror
from orchestrator.snapshot.clients import producer_client, producer_clients
from orchestrator.topology.counterparts import counterparts_read
from orchestrator.topology.instances import sites_of
from orchestrator.topology.model import Consumer, Producer, Topology
from orchestrator.topology.spark import SparkQuery, queries_of
from orchestrator.values import ReplicaEnd, TopicPartition
from tests.twin.clusters import Log, State, TwinCluster, TwinRecord
from tests.twin.crew import EPOCH_S, Crew
from tests.twin.record import Record
from tests.twin.services import TwinServices

RATE_PER_S = 20.0
_COMMITS_EVERY_S, _BATCH_EVERY_S = 0.5, 2.0


@dataclass
class Ledger:
    """What really happened. Records by (producer, number)."""

    acknowledged: dict[tuple[str, int], str] = field(default_factory=dict)
    """Record -> cluster that acknowledged it."""
    written_at: list[tuple[float, str, str]] = field(default_factory=list)
    """Virtual seconds, producer, cluster: where each producer was acknowledged, moment by moment."""
    processed: dict[str, dict[bytes, int]] = field(default_factory=dict)
    """Consumer -> record -> how often."""
    committed: list[tuple[float, str, str]] = field(default_factory=list)
    """Virtual seconds, group, cluster of each commit."""


@dataclass
class Client:
    """One application at one data centre. `rate_per_s`: records written, or read at most (None: all)."""

    name: str
    dc: str
    is_running: bool = False
    rate_per_s: float | None = None
    owes: float = 0.0
    since_s: float = 0.0
    next_s: float = 0.0
    positions: dict[TopicPartition, int] = field(default_factory=dict)
    batch: int = -1


class Applications:
    """All of them, on one host a data centre. `reach` says whether a data centre's hosts answer."""

    def __init__(self, topology: Topology, clusters: Mapping[str, TwinCluster]) -> None:
        self.topology, self.clusters = topology, clusters
        self.ledger = Ledger()
        self.reach: dict[str, State] = dict.fromkeys(topology.datacenters, "up")
        self.clients: dict[tuple[str, str], Client] = {}
        self.numbers: dict[str, int] = {}
        for cluster in topology.clusters:
            for name in _programs_of(topology, cluster):
                for dc in topology.datacenters:
                    self.clients[dc, name] = Client(name, dc)
                for home in _homes_of(topology, cluster, name):
                    self.clients[home, name].is_running = True
        self._producers = {producer_client(p.name): p for p in topology.producers}
        self._groups = {c.program: c for c in topology.consumers if c.groups}
        self._queries = {query.program: query for _, query in queries_of(topology)}
        for consumer in self._groups.values():
            place = clusters[consumer.cluster]
            partitions = place.partitions(self.topics_at(consumer, place))
            place.group(consumer.group_id).offsets |= dict.fromkeys(partitions, 0)

    def hosts(self) -> dict[str, dict[str, Any]]:
        """The inventory: one host a data centre."""
        return {
            f"app-{dc}": {
                "dc": dc,
                "service_manager": "systemd",
                "clients_on_host": sorted(name for at, name in self.clients if at == dc),
            }
            for dc in self.topology.datacenters
        }

    def cluster_at(self, dc: str) -> TwinCluster:
        """The cluster that applications of a data centre work at."""
        return next(
            self.clusters[name]
            for name, described in self.topology.clusters.items()
            if dc in described.datacenters
        )

    def set_running(self, client: Client, is_running: bool, now_s: float) -> None:
        """Start or stop one; a group leaves as it stops."""
        client.is_running, client.since_s, client.owes = is_running, now_s, 0.0
        client.next_s = now_s + _COMMITS_EVERY_S
        consumer = self._groups.get(client.name)
        if consumer is not None and not is_running:
            cluster = self.cluster_at(client.dc)
            if cluster.lets_in and client.positions and self._may_read(consumer, cluster):
                self._commit(client, consumer, cluster, now_s)
            self._leave(client, consumer, cluster, now_s)

    def live(self, now_s: float, seconds: float) -> None:
        """Everybody who runs and whose site is there works on."""
        for client in self.clients.values():
            if not client.is_running or self.reach[client.dc] != "up":
                continue
            if client.name in self._producers:
                self._produce(client, self._producers[client.name], now_s, seconds)
            elif client.name in self._groups:
                self._consume(client, self._groups[client.name], now_s, seconds)
            elif now_s >= client.next_s:
                client.next_s = now_s + _BATCH_EVERY_S
                self._run_batch(client, self._queries[client.name], now_s)

    def _produce(self, client: Client, producer: Producer, now_s: float, seconds: float) -> None:
        cluster = self.cluster_at(client.dc)
        client.owes += (RATE_PER_S if client.rate_per_s is None else client.rate_per_s) * seconds
        if not cluster.lets_in:
            client.owes = min(client.owes, 1.0)
            return
        partitions = cluster.partitions(producer.topics)
        headers: tuple[tuple[str, bytes | None], ...] = ()
        if producer.identified_by is not None:
            headers = ((producer.identified_by.header, producer.identified_by.value.encode()),)
        while client.owes >= 1.0 and partitions:
            client.owes -= 1.0
            number = self.numbers.get(producer.name, 0)
            tp = partitions[number % len(partitions)]
            if not cluster.may(str(producer.principal), "WRITE", "TOPIC", tp.topic):
                return
            self.numbers[producer.name] = number + 1
            value = f"{producer.name}:{number}".encode()
            record = TwinRecord(EPOCH_S + now_s, None, value, headers)
            has_all, marked = producer.acks == "all", bool(producer.transactional_ids)
            if cluster.append(tp, record, who=producer.name, acks_all=has_all, in_transaction=marked):
                self.ledger.acknowledged[producer.name, number] = cluster.name
                last = self.ledger.written_at[-1] if self.ledger.written_at else None
                if last is None or last != (now_s, producer.name, cluster.name):
                    self.ledger.written_at.append((now_s, producer.name, cluster.name))

    def topics_at(self, consumer: Consumer, cluster: TwinCluster) -> list[str]:
        """What a consumer reads at a cluster: after a move the copies and what is written there anew."""
        own = self.topology.topics_read(consumer)
        if cluster.name == consumer.cluster:
            if consumer.pattern is not None:  # also what the file's producers bring there from elsewhere
                landed = {name for mirror in self.topology.replication for name in mirror.topics}
                there = (name for name in cluster.topics if name in landed)
                own = (*own, *(name for name in there if re.fullmatch(consumer.pattern, name)))
            back = [
                reverse_mirror(mirror).mirrored_topic(name)
                for mirror in self.topology.replication
                if mirror.source == cluster.name and mirror.policy != "identity"
                # From an active site nothing is brought back but what its own mirror brings.
                if self.topology.mirror(mirror.target, mirror.source) is None
                for name in mirror.topics
                if name in own
            ]
            return [name for name in dict.fromkeys((*own, *back)) if name in cluster.topics]
        mirror = self.topology.mirror(consumer.cluster, cluster.name)
        if mirror is None or self.topology.mirror(mirror.target, mirror.source) is not None:
            read = counterparts_read(self.topology, consumer, cluster.name)
            copies = [found.entered for _, found in read if found is not None]
            own = own if consumer.landing in {None, "read"} else ()
        else:
            copies = [mirror.mirrored_topic(name) for name in own]
        return [name for name in dict.fromkeys((*copies, *own)) if name in cluster.topics]

    def _may_read(self, consumer: Consumer, cluster: TwinCluster) -> bool:
        who = str(consumer.principal)
        return cluster.may(who, "READ", "GROUP", consumer.group_id) and all(
            cluster.may(who, "READ", "TOPIC", topic) for topic in self.topics_at(consumer, cluster)
        )

    def _consume(self, client: Client, consumer: Consumer, now_s: float, seconds: float) -> None:
        cluster = self.cluster_at(client.dc)
        group = cluster.group(consumer.group_id)
        if not cluster.lets_in or not cluster.is_coordinated(consumer.group_id):
            return
        if not self._may_read(consumer, cluster):
            self._leave(client, consumer, cluster, now_s)
            return
        if client.name not in group.members:
            self._divide_anew(cluster, consumer.group_id, now_s)
            group.members[client.name] = tuple(self.topics_at(consumer, cluster))
            client.positions = {}
            client.owes = 0.0
        leader = (
            self._groups[next(iter(group.members))].principal
            if group.members.keys() <= self._groups.keys()
            else None
        )
        subscribed = {topic for topics in group.members.values() for topic in topics}
        group.hidden = {
            topic for topic in subscribed if leader and not cluster.may(leader, "DESCRIBE", "TOPIC", topic)
        }
        client.owes += float("inf") if client.rate_per_s is None else client.rate_per_s * seconds
        seen = self.ledger.processed.setdefault(consumer.name, {})
        for tp in group.assigned(cluster.partitions(self.topics_at(consumer, cluster)), client.name):
            log = cluster.log(tp)
            if log is None or not cluster.is_led(log):
                continue
            # auto.offset.reset=latest: what nobody has given a position begins at the end.
            at = client.positions.get(tp, group.offsets.get(tp, log.readable_end))
            while at < log.readable_end and client.owes >= 1.0:
                record = log.records[at]
                if record is not None and record.value is not None:
                    seen[record.value] = seen.get(record.value, 0) + 1
                    client.owes -= 1.0
                at += 1
            client.positions[tp] = at
        if client.rate_per_s is None:
            client.owes = 0.0
        if now_s >= client.next_s:
            client.next_s = now_s + _COMMITS_EVERY_S
            self._commit(client, consumer, cluster, now_s)

    def _leave(self, client: Client, consumer: Consumer, cluster: TwinCluster, now_s: float) -> None:
        client.positions = {}
        if cluster.group(consumer.group_id).members.pop(client.name, None) is not None:
            self._divide_anew(cluster, consumer.group_id, now_s)

    def _divide_anew(self, cluster: TwinCluster, group: str, now_s: float) -> None:
        """Members give their partitions back, and commit before they do."""
        for client in self.clients.values():
            consumer = self._groups.get(client.name)
            if consumer is None or consumer.group_id != group or self.cluster_at(client.dc) is not cluster:
                continue
            # Whoever is no member has lost what it knew with its site, and commits nothing of it.
            if client.positions and client.is_running and client.name in cluster.group(group).members:
                self._commit(client, consumer, cluster, now_s)
                client.positions = {}

    def _commit(self, client: Client, consumer: Consumer, cluster: TwinCluster, now_s: float) -> None:
        if cluster.is_coordinated(consumer.group_id):
            cluster.group(consumer.group_id).offsets.update(client.positions)
            self.ledger.committed.append((now_s, consumer.name, cluster.name))

    def _run_batch(self, client: Client, query: SparkQuery, now_s: float) -> None:
        """One batch more of a query, written as Spark writes it: offsets, state, commit."""
        cluster = self.cluster_at(client.dc)
        if not cluster.lets_in or not self._may_read(query, cluster):
            return
        folder = Path(str(query.checkpoint if cluster.name == query.cluster else query.standby_checkpoint))
        partitions = cluster.partitions(self.topics_at(query, cluster))
        batches = numbered(folder / "offsets")
        known = spark_offsets(folder, batches[-1]) if batches else {}
        if not batches:
            _write(folder / "metadata", f'{{"id":"{query.name}-{client.dc}"}}', now_s)
            _write(
                folder / "sources" / "0" / "0", "\0v1\n" + _offsets_text(dict.fromkeys(partitions, 0)), now_s
            )
        seen = self.ledger.processed.setdefault(query.name, {})
        ends: dict[TopicPartition, int] = {}
        for tp in partitions:
            log = cluster.log(tp)
            assert log is not None
            first = known.get(tp, log.start)
            ends[tp] = max(first, log.readable_end)
            for record in log.records[first : ends[tp]]:
                if record is not None and record.value is not None:
                    seen[record.value] = seen.get(record.value, 0) + 1
        batch = batches[-1] + 1 if batches else 0
        _write(folder / "offsets" / str(batch), f"v1\n{{}}\n{_offsets_text(ends)}", now_s)
        _write(folder / "state" / "0" / "0" / f"{batch + 1}.snapshot", str(batch), now_s)
        _write(folder / "commits" / str(batch), 'v1\n{"nextBatchWatermarkMs":0}', now_s)
        client.batch = batch


def _programs_of(topology: Topology, cluster: str) -> Iterable[str]:
    """What hosts run of a cluster's applications; those that move themselves come last."""
    yield from producer_clients(topology, cluster)
    known = (c for c in topology.consumers_of(cluster) if c.groups or isinstance(c, SparkQuery))
    yield from (consumer.program for consumer in known)
    producers = topology.producers_of(cluster)
    yield from (producer_client(producer.name) for producer in producers if producer.moved_by == "itself")


def _homes_of(topology: Topology, cluster: str, program: str) -> tuple[str, ...]:
    """The site where an application begins: the first one that the file names, or of its cluster."""
    producers = {producer_client(one.name): one for one in topology.producers_of(cluster)}
    consumers = {one.program: one for one in topology.consumers_of(cluster)}
    return sites_of(topology, (producers | consumers)[program])[:1]


def spark_offsets(folder: Path, batch: int) -> dict[TopicPartition, int]:
    """What the one source of a query had read to by a batch."""
    lines = (folder / "offsets" / str(batch)).read_text(encoding="utf-8").splitlines()
    found: dict[str, dict[str, int]] = json.loads(lines[2])
    return {TopicPartition(topic, int(p)): at for topic, ends in found.items() for p, at in ends.items()}


def _offsets_text(offsets: Mapping[TopicPartition, int]) -> str:
    by_topic: dict[str, dict[str, int]] = {}
    for tp, offset in sorted(offsets.items()):
        by_topic.setdefault(tp.topic, {})[str(tp.partition)] = offset
    return json.dumps(by_topic)


def _write(file: Path, text: str, now_s: float) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    os.utime(file, (EPOCH_S + now_s, EPOCH_S + now_s))


class TwinPlaybooks:
    """See `runs.live.servers.Playbooks`: starts and stops applications at once."""

    check_installed = staticmethod(check_installed)

    def __init__(
        self, applications: Applications, services: TwinServices, record: Record, crew: Crew
    ) -> None:
        self._applications, self._services = applications, services
        self._record, self._crew = record, crew
        self.own: dict[str, Callable[[], None]] = {}

    def hosts(self, inventory: Path) -> dict[str, dict[str, Any]]:  # noqa: ARG002 - there is one
        found = self._applications.hosts()
        for host in found.values():
            host["dcctl_servers"] = {server: {"unit": server} for server in self._services.at(host["dc"])}
        return found

    def run(
        self,
        name: str,
        *,
        inventory: Path,  # noqa: ARG002 - there is one
        variables: Mapping[str, Any],
        folder: Path,  # noqa: ARG002 - nothing is said
        timeout_s: float,  # noqa: ARG002 - it is done at once
        is_cancelled: Callable[[], bool],  # noqa: ARG002 - it is done at once
    ) -> frozenset[str]:
        doing = name.partition("-")[0]
        known, at_work = self._applications, set()
        for dc in variables["datacenters"]:
            if known.reach[dc] != "up":
                raise PlaybookError(f"playbook {name}", f"app-{dc}, task “Ask”: no route to host")
            wanted = [known.clients[dc, c] for c in variables["clients"] if (dc, c) in known.clients]
            at_work |= {f"app-{dc}"} if wanted else set()
            for client in wanted:
                if client.is_running == (doing == "start"):
                    continue

                def change(client: Any = client) -> None:
                    known.set_running(client, doing == "start", self._crew.now_s)

                kind, _, application = client.name.partition("-")
                self._record.do(
                    f"{doing} client",
                    dc,
                    f"{kind} {application}",
                    change,
                    failed=lambda why: PlaybookError(f"playbook {name}", why),
                )
        if not at_work:
            raise PlaybookError(f"playbook {name}", "no host had anything to do")
        return frozenset(at_work)

    def ask(
        self,
        name: str,
        *,
        inventory: Path,  # noqa: ARG002 - there is one
        variables: Mapping[str, Any],
        folder: Path,  # noqa: ARG002 - nothing is said
        timeout_s: float,  # noqa: ARG002 - it is done at once
        is_cancelled: Callable[[], bool],  # noqa: ARG002 - it is done at once
    ) -> HostsTold:
        """`services.yml` and `replica-logs.yml`; or `voters.yml`: at all hosts each of the four things before
        the next.
        """
        if name == "services.yml":
            return self._services.ask(name, variables)
        sites = variables["datacenters"]
        away = {f"host-{dc}": "no route to host" for dc in sites if self._applications.reach[dc] != "up"}
        if name == "replica-logs.yml":
            return HostsTold(self._logs_told({*sites} - {host.removeprefix("host-") for host in away}), away)
        if away and len(variables) > 1:
            return HostsTold({}, away)
        return self._voters_told(variables, away)

    def _voters_told(self, variables: Mapping[str, Any], away: dict[str, str]) -> HostsTold:
        name, sites = "voters.yml", variables["datacenters"]
        clusters = self._applications.clusters.values()
        here = {
            voter.server: (cluster, voter)
            for cluster in clusters
            for voter in cluster.quorum.voters.values()
            if voter.site in sites and f"host-{voter.site}" not in away
        }
        named = {server for key in ("stop", "start", "read", "changes") for server in variables.get(key, ())}
        silent = {server for server, (_, voter) in here.items() if not voter.is_told}
        away |= {f"host-of-{server}": "no route to host" for server in silent if server in (named or here)}
        if silent & named:
            return HostsTold({}, away)
        here = {server: known for server, known in here.items() if server not in silent}

        def do(verb: str, server: str, change: Callable[[], None]) -> None:
            cluster = here[server][0]
            self._record.do(
                verb, cluster.name, server, change, failed=lambda why: PlaybookError(f"playbook {name}", why)
            )

        for server in variables.get("stop", ()):
            do("stop voter", server, partial(here[server][0].quorum.set_started, here[server][1], False))
        for server, change in variables.get("changes", {}).items():
            wrong: list[str] = []
            do("change file", server, lambda s=server, c=change, w=wrong: w.append(here[s][1].change(c)))
            if any(wrong):
                return HostsTold({}, {f"host-{here[server][1].site}": wrong[0]})
        stood = {
            server: here[server][1].told()
            for server in variables.get("read") or here
            if variables.get("start")
        }
        if ahead := _went_on_without(variables.get("furthest") or {}, stood):
            return HostsTold({}, {f"host-{sites[0]}": f"{ahead} went on without it: nothing was started"})
        for server in variables.get("start", ()):
            do("start voter", server, partial(here[server][0].quorum.set_started, here[server][1], True))
        told: dict[str, Any] = {}
        for server in variables.get("read") or here:
            voter = here[server][1]
            host = told.setdefault(f"host-{voter.site}", {"dc": voter.site, "servers": {}, "stood": {}})
            host["servers"][server] = voter.told()
            host["stood"] |= {server: stood[server]} if server in stood else {}
        return HostsTold(told, away)

    def _logs_told(self, sites: Collection[str]) -> dict[str, Any]:
        """The logs of brokers at these sites: one that was left behind ends where it was."""
        told: dict[str, Any] = {}
        for cluster in self._applications.clusters.values():
            for number, broker in cluster.brokers.items():
                if broker.dc in sites:
                    host = told.setdefault(f"host-{broker.dc}", {"dc": broker.dc, "servers": {}})
                    logs = {
                        f"{name}-{at}": _log_told(log, number)
                        for name, topic in cluster.topics.items()
                        for at, log in enumerate(topic.logs)
                        if number in log.replicas
                    }
                    host["servers"][f"broker-{number}"] = {"id": number, "logs": logs}
        return told

    def run_own(
        self,
        playbook: Path,
        *,
        inventory: Path | None,  # noqa: ARG002 - there is one
        variables: Mapping[str, Any],  # noqa: ARG002 - it is the test's own
        folder: Path,  # noqa: ARG002 - nothing is said
        timeout_s: float,  # noqa: ARG002 - it is done at once
        is_cancelled: Callable[[], bool],  # noqa: ARG002 - it is done at once
    ) -> frozenset[str]:
        self._record.do(
            "run playbook",
            "hosts",
            playbook.name,
            self.own.get(playbook.name, lambda: None),
            failed=lambda why: PlaybookError(f"playbook {playbook}", why),
        )
        return frozenset({"localhost"})


def _went_on_without(furthest: Mapping[str, Any], stood: Mapping[str, Mapping[str, Any]]) -> str:
    """As `playbooks/voters.yml` asks before it starts anybody."""
    own = stood.get(furthest.get("server", ""), {})
    if not furthest or (own.get("epoch"), own.get("end")) != (furthest["epoch"], furthest["end"]):
        return ""
    return ", ".join(name for name, log in stood.items() if log["epoch"] > furthest["epoch"])


def _log_told(log: Log, broker: int) -> dict[str, Any]:
    left = log.behind.get(broker)
    if isinstance(left, ReplicaEnd):
        return {"epoch": left.leader_epoch, "end": left.log_end, "epochs": []}
    return {"epoch": log.epoch, "end": log.end, "epochs": sorted(map(list, log.epochs.items()))}
