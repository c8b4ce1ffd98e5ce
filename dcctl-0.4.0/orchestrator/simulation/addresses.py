"""Where a simulation's servers are reached: an address depends on where it is seen from. Pure."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from orchestrator.simulation.estate import Estate, KafkaNode, Server

OPERATOR = "operator"
"""The place where dcctl runs. The other places are the data centres, and `estate.COORDINATION`."""


class Address(NamedTuple):
    """A host, by name or number, and a TCP port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Addresses(Protocol):
    """The addresses of all servers, by what they are for: client, controller, peer, election or rest."""

    def address(self, server: Server, purpose: str, *, seen_from: str) -> Address:
        """Where whoever is at the place `seen_from` connects to."""

    def binding(self, server: Server, purpose: str, *, seen_from: str) -> Address:
        """Where the server itself listens for those who see it from there."""


def bootstrap(estate: Estate, at: Addresses, cluster: str, seen_from: str) -> tuple[str, ...]:
    """Client addresses of one cluster, `host:port` each."""
    brokers = estate.brokers_of(cluster)
    return tuple(str(at.address(broker, "client", seen_from=seen_from)) for broker in brokers)


def rest_urls(estate: Estate, at: Addresses, cluster: str, seen_from: str, scheme: str) -> tuple[str, ...]:
    """REST addresses of one cluster's Connect workers."""
    workers = estate.workers_of(cluster)
    return tuple(f"{scheme}://{at.address(worker, 'rest', seen_from=seen_from)}" for worker in workers)


def ports_seen(estate: Estate, at: Addresses) -> dict[str, int]:
    """Every port as the operator sees it, by what it is for: `west/broker-1/client`, …"""
    return {
        name: at.address(server, purpose, seen_from=OPERATOR).port
        for name, (server, purpose) in estate.endpoints().items()
    }


class Listener(NamedTuple):
    """One listener of a broker: where it binds, and what it tells its clients to connect to."""

    binding: Address
    advertised: Address


def client_listeners(broker: KafkaNode, at: Addresses) -> dict[str, Listener]:
    """Listeners by name: CLIENT for the data centres, and OPERATOR where dcctl sees the broker otherwise.

    A broker tells a client the addresses of the listener that the client has come by (KIP-103).
    """
    places = {"CLIENT": broker.dc, "OPERATOR": OPERATOR}
    found = {
        name: Listener(
            at.binding(broker, "client", seen_from=place), at.address(broker, "client", seen_from=place)
        )
        for name, place in places.items()
    }
    if found["OPERATOR"] == found["CLIENT"]:
        del found["OPERATOR"]
    return found
