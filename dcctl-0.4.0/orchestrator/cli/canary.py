"""`dcctl canary`: a producer or a consumer of dcctl's own, by which the moves of an estate are measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import typer

if TYPE_CHECKING:
    from orchestrator.topology.model import Topology


_NAME = typer.Argument(..., metavar="NAME", help="A client of the file with `canary: true`.")
_FILE = typer.Argument(..., help="A topology file with addresses.")
_AT = typer.Option(..., "--at", metavar="CLUSTER", help="The cluster that this one works at.")
_LEDGERS = typer.Option(
    ..., "--ledgers", metavar="DIR", help="Where it writes down what it does; outside both sites."
)
_PROPERTIES = typer.Option(
    None, "--properties", metavar="FILE", help="Its own login: librdkafka properties, `name=value` a line."
)
_RATE = typer.Option(10.0, "--rate", min=0.1, max=1000.0, help="Records a second.")

# What says who a client is; the operator's must not be a canary's.
_LOGINS = ("sasl.username", "ssl.key.location", "ssl.keystore.location", "ssl.key.pem")


class _Client(Protocol):
    is_stopping: bool

    def run(self) -> None:
        """Work until told to stop."""


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    group = typer.Typer(no_args_is_help=True, help="Clients of dcctl's own that measure moves.")
    for command in (producer, consumer):
        group.command(command.__name__)(command)
    app.add_typer(group, name="canary")


def producer(  # noqa: PLR0917 - typer passes them by name
    name: str = _NAME,
    file: Path = _FILE,
    at: str = _AT,
    ledgers: Path = _LEDGERS,
    properties: Path | None = _PROPERTIES,
    rate: float = _RATE,
) -> None:
    """Write numbered records and every answer to them; runs until it is stopped."""
    from orchestrator.cli.files import given_topology
    from orchestrator.evidence.audit.ledgers import lives
    from orchestrator.evidence.clients.canary import canary_producer
    from orchestrator.evidence.clients.config import in_its_life
    from orchestrator.evidence.clients.producer import WorkloadProducer

    topology = given_topology(file)
    folder = _existing(ledgers)
    login = _login(topology, at, properties)
    config = canary_producer(
        topology, name, at, ledgers=str(folder), properties=login, rate_records_per_s=rate
    )
    lived = in_its_life(config, lives(folder, "producers", name))
    _work(f"canary {name} at {at}", folder, lambda: WorkloadProducer(lived))


def consumer(  # noqa: PLR0917 - typer passes them by name
    name: str = _NAME,
    file: Path = _FILE,
    at: str = _AT,
    ledgers: Path = _LEDGERS,
    properties: Path | None = _PROPERTIES,
    rate: float = _RATE,
    behind: int = typer.Option(
        0, "--behind", min=0, metavar="N", help="At its own cluster, stay N records behind the end."
    ),
) -> None:
    """Read what canary producers write, and note each record; runs until it is stopped."""
    from orchestrator.cli.files import given_topology
    from orchestrator.evidence.audit.ledgers import lives
    from orchestrator.evidence.clients.canary import canary_consumer
    from orchestrator.evidence.clients.config import in_its_life
    from orchestrator.evidence.clients.consumer import WorkloadConsumer

    topology = given_topology(file)
    folder = _existing(ledgers)
    login = _login(topology, at, properties)
    config = canary_consumer(
        topology,
        name,
        at,
        ledgers=str(folder),
        properties=login,
        rate_records_per_s=rate,
        behind_records=behind,
    )
    lived = in_its_life(config, lives(folder, "consumers", name))
    _work(f"canary {name} at {at}", folder, lambda: WorkloadConsumer(lived))


def _existing(ledgers: Path) -> Path:
    """A place that is not mounted must not be made on this disk."""
    from orchestrator.errors import DcctlError

    if not ledgers.is_dir():
        raise DcctlError(
            f"--ledgers {ledgers}",
            "there is no such folder",
            "is the file system of the third site mounted? Create the folder there once",
        )
    return ledgers.absolute()


def _login(topology: Topology, cluster: str, file: Path | None) -> dict[str, Any]:
    """The cluster's properties with the canary's own over them. Raises where it would be the operator."""
    from orchestrator.adapters.kafka.client import client_properties
    from orchestrator.adapters.secrets import resolve_secrets
    from orchestrator.errors import UsageError
    from orchestrator.evidence.clients.config import read_properties

    if cluster not in topology.clusters:
        known = ", ".join(topology.clusters)
        raise UsageError(f"--at {cluster}", "the file has no such cluster", f"it has: {known}")
    described = topology.clusters[cluster]
    own = {} if file is None else resolve_secrets(read_properties(file), str(file))
    operators = [key for key in _LOGINS if key in described.client and key not in own]
    if operators:
        raise UsageError(
            f"clusters.{cluster}.client",
            f"{operators[0]} is the operator's, whom no access rule keeps off: a canary has to be fenced "
            "like an application",
            f"--properties FILE with {operators[0]} of the canary",
        )
    return client_properties(cluster, described.bootstrap, {**described.client, **own})


def _work(subject: str, ledgers: Path, connected: Callable[[], _Client]) -> None:
    """Run one client until SIGTERM or SIGINT. Without a ledger it does not work: nobody could tell of it."""
    import signal

    from orchestrator.adapters.kafka.client import translated_errors
    from orchestrator.errors import DcctlError

    try:
        with translated_errors(subject, "working"):
            client = connected()

            def stop(_signal: int, _frame: object) -> None:
                client.is_stopping = True

            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, stop)
            client.run()
    except OSError as error:
        hint = "is the third place there, and has it room?"
        raise DcctlError(f"--ledgers {ledgers}", f"{subject} cannot write: {error.strerror}", hint) from None
