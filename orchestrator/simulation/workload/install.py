"""Putting the workload into a simulation: a configuration file and a supervised program per client.

Each client is installed at the site of its cluster, where it lives its first life and each one after a way
back, and at the site of its standby, if it has one. None is started; whoever moves applications starts them
by their program names.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import yaml

from orchestrator.adapters.files import write_whole
from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import spark_connector_jars
from orchestrator.adapters.spark_archive import spark_class_archive
from orchestrator.errors import SimulationError
from orchestrator.evidence.clients.config import (
    ConsumerConfig,
    ProducerConfig,
    QueryConfig,
    config_text,
    properties_text,
)
from orchestrator.evidence.clients.places import Place, places, topics_read, topics_read_back
from orchestrator.ports.program import Program
from orchestrator.simulation.backend import Host
from orchestrator.simulation.folders import Folders
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.workload.scenario import AT_END, Role, Scenario
from orchestrator.snapshot.clients import producer_client
from orchestrator.topology.consumer_kinds import KINDS, kind_named
from orchestrator.topology.landing import shared_landings
from orchestrator.topology.model import Consumer, Producer, Topology
from orchestrator.topology.reading import consumer_settings
from orchestrator.topology.spark import SparkQuery
from orchestrator.topology.standby import READ

_STOP_TIMEOUT_S = 20
# librdkafka takes extended regular expressions of the C library: no `(?…)`, no classes by a letter.
_UNKNOWN_TO_POSIX = re.compile(r"\(\?|\\[A-Za-z0-9]")


def install_workload(simulation: Simulation, scenario: Scenario) -> None:
    """Write every client's configuration and make its program known at each of its sites.

    Raises `SimulationError` where a site is not up, and `DownloadError` where Spark's connector
    cannot be had.
    """
    programs: dict[str, list[Program]] = {dc: [] for dc in simulation.sites}
    topology = simulation.topology
    shares = scenario.shares([producer.name for producer in topology.producers if not producer.canary])
    roles = scenario.roles_of(applied_groups(topology.consumers))
    after = Role(name="after the move", hold_lag_records=scenario.hold_after_records)
    for producer in topology.producers:
        for place in places(topology, producer):
            site = simulation.sites[place.dc]
            if producer.canary:
                programs[place.dc].append(_canary(simulation, "producer", producer, place))
                continue
            config = _producer_config(simulation, scenario, shares[producer.name], producer, place)
            how = "transactional" if config.transactional_id else "producer"
            programs[place.dc].append(_program(site, "producer", producer.name, config, module=how))
    for consumer in topology.consumers:
        for place in places(topology, consumer):
            if consumer.canary:
                programs[place.dc].append(_canary(simulation, "consumer", consumer, place))
                continue
            # Who shares a landing topic has to read it to its end before it goes home.
            finishes = consumer.landing == READ and shared_landings(topology, consumer)
            away = AT_END if finishes else after
            role = roles.get(consumer.name, AT_END) if place.is_home else away
            programs[place.dc].append(program_of(simulation, consumer, place, role))
    for dc, found in programs.items():
        simulation.sites[dc].add_programs(found)
    if topology.is_one_cluster:
        _tell_inventory(simulation)


def _tell_inventory(simulation: Simulation) -> None:
    """Each host has the programs of the clients that ever work at its site: see `installation`."""
    path = Folders(simulation.folder).inventory
    known = yaml.safe_load(path.read_text(encoding="utf-8"))
    for host in known["all"]["hosts"].values():
        host["clients_on_host"] = installed_programs(simulation.topology, host["dc"])
    write_whole(path, yaml.safe_dump(known, sort_keys=False))


@runtime_checkable
class Simulated(Protocol):
    """How one application of a kind is installed at one of its sites: its program, with what it reads there.

    `role`: how it behaves in its first life there. Raises as `install_workload` does.
    """

    def __call__(self, simulation: Simulation, consumer: Any, place: Place, role: Role) -> Program: ...


def program_of(simulation: Simulation, consumer: Consumer, place: Place, role: Role) -> Program:
    """The program of a consumer, by its kind. Raises `SimulationError` for a kind that has none."""
    simulated = kind_named(consumer.kind).simulated
    if not simulated:
        raise SimulationError(f"consumer {consumer.name}", f"a {consumer.noun} cannot be simulated")
    install = KINDS.part(consumer.kind, simulated, Simulated)  # type: ignore[type-abstract]
    return install(simulation, consumer, place, role)


def start_workload(simulation: Simulation, dc: str) -> None:
    """Start every client whose cluster is at `dc`, consumers first: they shall see the first record."""
    site = simulation.sites[dc]
    names = client_programs(simulation.topology, dc)
    site.start([name for name in names if not name.startswith("producer-")])
    site.start([name for name in names if name.startswith("producer-")])


def word_to_go_on(simulation: Simulation) -> Path:
    """The file for which producers wait between what is written beforehand and the steady load.

    Whoever has to catch up first, a Spark query above all, has the machine for itself meanwhile.
    """
    return simulation.ledgers / "go-on"


def stop_producers(simulation: Simulation, dc: str) -> None:
    """Let every producer at `dc` end cleanly: its last records are answered before it goes."""
    site = simulation.sites[dc]
    running = {name for name, state in site.states().items() if state == "RUNNING"}
    site.stop(sorted(name for name in running if name.startswith("producer-")))


def stop_consumers(simulation: Simulation, dc: str) -> None:
    """Let every application at `dc` that reads commit and end cleanly."""
    site = simulation.sites[dc]
    running = {name for name, state in site.states().items() if state == "RUNNING"}
    site.stop(sorted(running & {consumer.program for consumer in simulation.topology.consumers}))


def client_programs(topology: Topology, dc: str) -> list[str]:
    """Names of the programs of all clients that start their first life at `dc`, in file order."""

    def is_here(client: Consumer | Producer) -> bool:
        return places(topology, client)[0].dc == dc

    consumers = [consumer.program for consumer in topology.consumers if is_here(consumer)]
    return consumers + [producer_client(p.name) for p in topology.producers if is_here(p)]


def installed_programs(topology: Topology, dc: str) -> list[str]:
    """Names of the programs of all clients that ever work at `dc`, consumers first."""
    known: list[tuple[str, Consumer | Producer]] = [
        (consumer.program, consumer) for consumer in topology.consumers
    ]
    known += [(producer_client(producer.name), producer) for producer in topology.producers]
    return [name for name, client in known if dc in {place.dc for place in places(topology, client)}]


def applied_groups(consumers: Iterable[Consumer]) -> list[str]:
    """Names of consumers that play a role in a scenario, in file order: canaries do as they always do."""
    return [consumer.name for consumer in consumers if consumer.groups and not consumer.canary]


def _canary(simulation: Simulation, kind: str, client: Producer | Consumer, place: Place) -> Program:
    """The very command that a unit of a real estate runs, with the client's own login."""
    site = simulation.sites[place.dc]
    login = _login(simulation, client, place)
    properties = f"clients/{kind}-{client.name}.properties"
    site.files.write(properties, properties_text(login), is_private=True)
    words = (kind, client.name, str(simulation.topology_at(place.dc)), "--at", place.cluster)
    options = ("--ledgers", str(simulation.ledgers), "--properties", str(site.files.place(properties)))
    return Program(
        name=f"{kind}-{client.name}",
        command=(sys.executable, "-m", "orchestrator.cli.main", "canary", *words, *options),
        environment=_environment(site),
        stop_timeout_s=_STOP_TIMEOUT_S,
    )


def _login(simulation: Simulation, client: Producer | Consumer, place: Place) -> dict[str, str]:
    """How it reaches its cluster, and who it is; a consumer also says where it is, if that decides from whom
    it reads.
    """
    login = simulation.client_properties(place.cluster, client.principal or client.name, place.dc)
    if isinstance(client, Producer):
        return login
    return {**login, **consumer_settings(simulation.topology.clusters[place.cluster], place.dc)}


def _producer_config(
    simulation: Simulation, scenario: Scenario, share: float, producer: Producer, place: Place
) -> ProducerConfig:
    is_first, mark = place.is_home, producer.identified_by
    return ProducerConfig(
        name=producer.name,
        life=place.life,
        ledgers=str(simulation.ledgers),
        properties=_login(simulation, producer, place),
        topics=list(producer.topics),
        acks=producer.acks,
        headers={} if mark is None else {mark.header: mark.value},
        keys=scenario.keys,
        seed=scenario.seed,
        rate_records_per_s=scenario.rate_records_per_s * share,
        preload_records=scenario.preload_records(share) if is_first else 0,
        go_on_when=str(word_to_go_on(simulation)) if is_first else "",
        value_size_bytes=scenario.value_size_bytes,
        transactional_id=transactional_id(producer),
        sabotage_every=scenario.sabotage_every if place.life == scenario.sabotage_life else None,
        later={"preload_records": 0, "go_on_when": "", "sabotage_every": None},
    )


def transactional_id(producer: Producer) -> str:
    """Under which the one process that a simulation has of a producer writes; empty without transactions."""
    first = next(iter(producer.transactional_ids), "")
    return f"{first.removesuffix('*')}{producer.name}" if first.endswith("*") else first


def group_program(simulation: Simulation, consumer: Consumer, place: Place, role: Role) -> Program:
    """See `Simulated`."""
    config = _consumer_config(simulation, consumer, place, role)
    return _program(simulation.sites[place.dc], "consumer", consumer.name, config)


def query_program(simulation: Simulation, consumer: SparkQuery, place: Place, role: Role) -> Program:  # noqa: ARG001
    """See `Simulated`. It gets the Java that the servers run on, wherever that was found."""
    site = simulation.sites[place.dc]
    program = _program(site, "spark", consumer.name, _query_config(simulation, site, consumer, place))
    return replace(program, environment={**program.environment, "JAVA_HOME": str(find_java().home)})


def _consumer_config(
    simulation: Simulation, consumer: Consumer, place: Place, played: Role
) -> ConsumerConfig:
    """It plays its role in its first life there, and reads to the end in later ones.

    After a move it goes on from nothing but given positions.
    """
    topology, is_first = simulation.topology, place.is_home
    at_end = {"hold_lag_records": 0, "max_rate_records_per_s": None, "stop_after_records": None}
    read = topics_read(topology, consumer, place)
    back = topics_read_back(topology, consumer) if is_first else read
    return ConsumerConfig(
        name=consumer.name,
        group=consumer.groups[0],
        life=place.life,
        ledgers=str(simulation.ledgers),
        properties=_login(simulation, consumer, place),
        topics=subscription(topology, consumer, place, read),
        offset_reset="earliest" if is_first else "error",
        hold_lag_records=played.hold_lag_records,
        max_rate_records_per_s=played.max_rate_records_per_s,
        stop_after_records=played.stop_after_records,
        later={
            "topics": subscription(topology, consumer, place, back),
            "offset_reset": "error",
            **at_end,
        },
    )


def subscription(topology: Topology, consumer: Consumer, place: Place, names: Sequence[str]) -> list[str]:
    """What a consumer that reads these topics at a place subscribes to: its pattern, and what is not matched.

    By names alone where the pattern would match more there than the consumer is to read, and where librdkafka
    does not understand it.
    """
    if consumer.pattern is None or _UNKNOWN_TO_POSIX.search(consumer.pattern):
        return list(names)
    matched = {name for name in topology.names_at(place.cluster) if re.fullmatch(consumer.pattern, name)}
    if not matched or not matched <= set(names):
        return list(names)
    return [f"^({consumer.pattern})$", *(name for name in names if name not in matched)]


def _query_config(simulation: Simulation, site: Host, consumer: SparkQuery, place: Place) -> QueryConfig:
    topology, is_first = simulation.topology, place.is_home
    checkpoint = consumer.checkpoint if is_first else consumer.standby_checkpoint
    if checkpoint is None:
        raise SimulationError(
            f"consumer {consumer.name}", "has no checkpoint path at this site", "add it to the topology file"
        )
    read = topics_read(topology, consumer, place)
    archive = spark_class_archive()
    login = _login(simulation, consumer, place)
    return QueryConfig(
        name=consumer.name,
        life=place.life,
        ledgers=str(simulation.ledgers),
        # librdkafka reads what is committed unless told otherwise, the Java client of a query does not.
        properties={**login, "isolation.level": "read_committed"},
        topics=read,
        checkpoint=checkpoint,
        jars=[str(jar) for jar in spark_connector_jars()],
        scratch=str(site.files.place(f"clients/spark-{consumer.name}-scratch")),
        class_archive="" if archive is None else str(archive),
        later={"topics": topics_read_back(topology, consumer) if is_first else read},
    )


_MODULES = {
    "producer": "orchestrator.evidence.clients.producer",
    "transactional": "orchestrator.evidence.clients.transactional",
    "consumer": "orchestrator.evidence.clients.consumer",
    "spark": "orchestrator.simulation.workload.spark_query",
}


def _program(
    site: Host,
    kind: str,
    name: str,
    config: ProducerConfig | ConsumerConfig | QueryConfig,
    *,
    module: str = "",
) -> Program:
    path = f"clients/{kind}-{name}.json"
    site.files.write(path, config_text(config), is_private=True)
    return Program(
        name=f"{kind}-{name}",
        command=(sys.executable, "-m", _MODULES[module or kind], str(site.files.place(path))),
        environment=_environment(site),
        stop_timeout_s=_STOP_TIMEOUT_S,
    )


def _environment(site: Host) -> dict[str, str]:
    """Temporary files inside the site."""
    site.files.make_folder("clients/tmp")
    return {"TMPDIR": str(site.files.place("clients/tmp"))}
