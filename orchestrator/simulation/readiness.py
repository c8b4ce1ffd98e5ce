"""Waiting for servers that were started: until they serve, or until it is clear that they will not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from orchestrator.adapters.kafka.client import TOO_FEW_BROKERS
from orchestrator.errors import ClusterError
from orchestrator.ports.admin_values import NewTopic
from orchestrator.simulation.addresses import Address
from orchestrator.simulation.backend import Watch
from orchestrator.simulation.clients import Clients, ClusterClient
from orchestrator.simulation.crew import Crew
from orchestrator.values import Acl
from orchestrator.wording import plural

_POLL_S = 0.2


def await_brokers(
    crew: Crew, name: str, cluster: ClusterClient, expected: int, watch: Sequence[Watch]
) -> None:
    """Wait until all brokers of a cluster are registered and serve."""
    seen = -1
    while True:
        _check(watch)
        try:
            brokers = len(cluster.brokers())
        except ClusterError:
            brokers = 0
        if brokers != seen:
            seen = brokers
            crew.say(name, f"{seen} of {expected} brokers")
        if brokers >= expected:
            return
        crew.check(f"cluster {name}", f"{seen} of {expected} brokers are up")
        crew.pause(_POLL_S)


def await_made_ready(
    crew: Crew,
    cluster: ClusterClient,
    rules: Collection[Acl],
    topics: Mapping[str, NewTopic],
    watch: Sequence[Watch],
) -> None:
    """Make a new cluster's rules and topics, as soon as its controller knows enough brokers for them.

    In ZooKeeper mode the broker that is controller may hear of the others later than the one that answered.
    """
    while True:
        _check(watch)
        try:
            cluster.make_ready(rules, topics)
        except ClusterError as error:
            if error.code != TOO_FEW_BROKERS:
                raise
            crew.check(error.subject, error.problem)
            crew.pause(_POLL_S)
        else:
            return


def await_in_sync(crew: Crew, name: str, cluster: ClusterClient, watch: Sequence[Watch]) -> None:
    """Wait until every partition has a leader, and every replica on a living broker is in sync.

    Before that a restarted cluster answers, but its high watermarks may stand still.
    """
    while True:
        _check(watch)
        try:
            behind = cluster.not_in_sync()
        except ClusterError as error:
            crew.check(f"cluster {name}", error.problem)
            crew.pause(_POLL_S)
            continue
        crew.say(name, f"{plural(len(behind), 'partition')} not in sync" if behind else "in sync")
        if not behind:
            return
        crew.check(f"cluster {name}", f"not in sync: {plural(len(behind), 'partition')}, {behind[0]} for one")
        crew.pause(_POLL_S)


def await_worker(crew: Crew, name: str, cluster: ClusterClient, watch: Watch) -> None:
    """Wait until a cluster's Connect workers answer as members of their group."""
    while True:
        watch.check()
        problem = cluster.connect_problem()
        if not problem:
            crew.say(f"Connect at {name}", "answers")
            return
        crew.check(f"Connect at {name}", problem)
        crew.pause(_POLL_S)


def await_zookeeper(
    crew: Crew,
    subject: str,
    clients: Clients,
    address: Address,
    watch: Sequence[Watch],
    *,
    authority: str | None = None,
) -> None:
    """Wait until a ZooKeeper serves: it stands alone, or is a member of a quorum (`srvr` names its mode).

    With the certificate of an `authority` it is asked by TLS.
    """
    while not clients.zookeeper_mode(address, authority):
        _check(watch)
        crew.check(subject, "this ZooKeeper does not serve")
        crew.pause(_POLL_S)


def await_listening(
    crew: Crew, subject: str, clients: Clients, address: Address, watch: Sequence[Watch]
) -> None:
    """Wait until a server accepts connections."""
    while not clients.is_listening(address):
        _check(watch)
        crew.check(subject, f"nothing listens at {address}")
        crew.pause(_POLL_S)


def _check(watch: Sequence[Watch]) -> None:
    for one in watch:
        one.check()
