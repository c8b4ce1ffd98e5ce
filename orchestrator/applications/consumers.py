"""The consumers of a file that an effect names."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.errors import DcctlError
from orchestrator.runs.effect import Running
from orchestrator.topology.model import Consumer, Topology


def consumers_named(run: Running, names: Iterable[str]) -> tuple[Consumer, ...]:
    """Those of the run's file with these names, wherever they work by it, in file order."""
    wanted = set(names)
    return tuple(consumer for consumer in run.port(Topology).consumers if consumer.name in wanted)


def groups_named(run: Running, names: Iterable[str]) -> dict[str, str]:
    """The group ids of consumers of the run's file, each with what people call its consumer."""
    return {consumer.group_id: consumer.called for consumer in consumers_named(run, names)}


def consumer_named(run: Running, name: str) -> Consumer:
    """The one with this name. Raises `DcctlError` where the file has none."""
    for consumer in consumers_named(run, [name]):
        return consumer
    raise DcctlError(f"topology {run.port(Topology).name}", f"the file has no consumer called {name}")
