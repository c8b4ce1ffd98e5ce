"""Addresses of a planned estate at which nothing runs: ports of one host, the same from everywhere."""

from __future__ import annotations

from orchestrator.simulation.addresses import Address
from orchestrator.simulation.estate import Estate, Server, endpoint_name


class Loopback:
    """See `simulation.addresses.Addresses`."""

    def __init__(self, estate: Estate, first: int = 20_000) -> None:
        self.ports = {name: first + number for number, name in enumerate(estate.endpoints())}

    def address(self, server: Server, purpose: str, *, seen_from: str) -> Address:  # noqa: ARG002
        """The same from everywhere."""
        return Address("127.0.0.1", self.ports[endpoint_name(server, purpose)])

    def binding(self, server: Server, purpose: str, *, seen_from: str) -> Address:
        """Where it is reached."""
        return self.address(server, purpose, seen_from=seen_from)
