"""Stopping and starting applications."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic.dataclasses import dataclass

from orchestrator.errors import DcctlError
from orchestrator.moves.ports import Hosts
from orchestrator.moves.results import Stopped
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Held,
    Nothing,
    Outcome,
    Partial,
    Reversible,
    Running,
    Unknown,
)
from orchestrator.wording import listed, plural


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class OfPlace:
    """Clients at the sites of a cluster; none named: at all of them."""

    cluster: str
    clients: tuple[str, ...]
    sites: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class StartClients(
    OfPlace,
    Effect[Nothing],
    name="start-clients",
    phase="redirect",
    title="Start applications at {cluster}",
    expected_s=3.0,
    timeout_s=60.0,
    irreversible="what applications write and commit at the new place cannot be undone",
):
    """Start applications at a cluster. Those that run already are left alone."""

    def frees(self) -> Iterable[Held]:
        """See `Effect`."""
        return held_stopped(self.clients)

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        found = run_clients_at(run, "start", self, run.step_id)
        return Done(Nothing(), found.message) if isinstance(found, Done) else found


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class StartElsewhere(
    OfPlace,
    Reversible,
    Effect[Nothing],
    name="start-elsewhere",
    phase="redirect",
    expected_s=3.0,
    timeout_s=60.0,
):
    """Start applications at other sites of their cluster, where they go on in the same logs."""

    @property
    def title(self) -> str:
        """See `Effect`."""
        return f"Start {listed(self.clients)} of {self.cluster} at {listed(self.sites)}"

    def frees(self) -> Iterable[Held]:
        """See `Effect`."""
        return held_stopped(self.clients)

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        found = run_clients_at(run, "start", self, run.step_id)
        return Done(Nothing(), found.message) if isinstance(found, Done) else found

    def undo(self, run: Running) -> Outcome[Nothing]:
        """Stop what was started there. Whom no host there has does not run there."""
        match run_clients_at(run, "stop", self, f"undo-{run.step_id}"):
            case Done(message=message):
                return Done(Nothing(), message)
            case Partial(message=message, detail=detail) | Unknown(message=message, detail=detail):
                if "left_out" in detail:
                    return Done(Nothing(), f"{message}: they do not run there")
                return Unknown(message, detail)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class StopClients(
    OfPlace,
    Reversible,
    Effect[Stopped],
    name="stop-clients",
    phase="fence",
    title="Stop applications at {cluster}",
    expected_s=3.0,
    timeout_s=90.0,
):
    """Stop applications at a cluster, cleanly. Those that do not run are left alone.

    `are_astray`: they work elsewhere, and should not run there at all.
    """

    are_astray: bool = False

    def holds(self) -> Iterable[Held]:
        """See `Effect`."""
        return () if self.are_astray else held_stopped(self.clients)

    def perform(self, run: Running) -> Outcome[Stopped]:
        """See `Effect`."""
        return stop_at(run, self)

    def undo(self, run: Running) -> Outcome[Nothing]:
        """Start what was stopped there."""
        return start_again(run, self)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class StopAnswering(
    OfPlace,
    Reversible,
    Effect[Stopped],
    name="stop-left-clients",
    phase="fence",
    title="Stop applications at {cluster}, where their hosts answer",
    expected_s=4.0,
    timeout_s=45.0,
):
    """Stop applications where their hosts answer. What runs on is denied all the same, so nothing waits."""

    def holds(self) -> Iterable[Held]:
        """See `Effect`."""
        return held_stopped(self.clients)

    def holds_surely(self, result: Stopped) -> bool:
        """See `Effect`."""
        return not result.not_stopped

    def perform(self, run: Running) -> Outcome[Stopped]:
        """See `Effect`."""
        if not self.clients:
            return Done(Stopped(clients=()), f"no application is to be stopped at {self.cluster}")
        try:
            found = stop_at(run, self)
        except DcctlError as error:
            found = Failed(error.problem)
        if isinstance(found, Done):
            return found
        stopped = Stopped(clients=self.clients, not_stopped=found.message)
        return Done(stopped, f"not all applications stopped: {found.message}")

    def undo(self, run: Running) -> Outcome[Nothing]:
        """Start what was stopped, where its hosts answer. Who is not reached is named, and not waited for."""
        if not self.clients:
            return Done(Nothing(), f"no application was to be stopped at {self.cluster}")
        try:
            found = start_again(run, self)
        except DcctlError as error:
            found = Failed(error.problem)
        if isinstance(found, Done):
            return found
        if run.is_cancelled():
            return found
        return Done(
            Nothing(), f"not all applications started again, start the others yourself: {found.message}"
        )


def held_stopped(clients: Iterable[str]) -> Iterable[Held]:
    """The clients; one that was started anywhere works."""
    return (Held(client, "stopped") for client in clients)


def stop_at(run: Running, of: OfPlace) -> Outcome[Stopped]:
    """Ask their hosts to stop them. Raises `PlaybookError`."""
    found = run_clients_at(run, "stop", of, run.step_id)
    if isinstance(found, Done):
        return Done(Stopped(clients=of.clients, hosts=found.result), found.message)
    return found


def start_again(run: Running, of: OfPlace) -> Outcome[Nothing]:
    """Start those that were stopped. Raises `PlaybookError`."""
    found = run_clients_at(run, "start", of, f"undo-{run.step_id}")
    match found:
        case Done():
            return Done(Nothing(), found.message)
        case Partial() | Unknown():
            # As long as one of them stands still it is not taken back.
            return found


def run_clients_at(
    run: Running, doing: Literal["start", "stop"], of: OfPlace, name: str
) -> Done[tuple[str, ...]] | Partial | Unknown:
    """Ask the hosts for all of them at once. Returns the hosts that did something.

    A host may do nothing and be content; a client counts only if one of its hosts did. Where some do not,
    detail is {"clients", "hosts", "left_out"}; where none does, it is not known what those hosts did. Raises
    `PlaybookError`.
    """
    clients = of.clients
    done = run.port(Hosts).run_clients(
        doing, of.cluster, clients, sites=of.sites, name=name, timeout_s=run.timeout_s
    )
    hosts, past = tuple(sorted(done.at_work)), {"start": "started", "stop": "stopped"}[doing]
    if done.left_out:
        detail = {"clients": list(clients), "hosts": list(hosts), "left_out": list(done.left_out)}
        said = f"no host has {past} {', '.join(done.left_out)}"
        some = [client for client in clients if client not in done.left_out]
        if not some:
            return Unknown(said, detail)
        return Partial(f"{said}; {past} on {', '.join(hosts)}: {', '.join(some)}", detail)
    return Done(hosts, f"{plural(len(clients), 'client')} {past} on {plural(max(1, len(hosts)), 'host')}")
