"""Whether anything listens at an address: seconds before a Kafka client gives up on it."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from orchestrator.ports.hosts import Listening


def listening(addresses: Sequence[str], timeout_s: float) -> dict[str, Listening]:
    """For each `host:port`: does it take a connection, refuse it, or not answer within `timeout_s`?

    A name that does not resolve counts as silent: nothing has refused anything.
    """
    with ThreadPoolExecutor(max_workers=max(1, min(16, len(addresses)))) as pool:
        answers = pool.map(lambda address: _listening(address, timeout_s), addresses)
        return dict(zip(addresses, answers, strict=True))


def _listening(address: str, timeout_s: float) -> Listening:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=timeout_s):
            return "yes"
    except ConnectionRefusedError:
        return "refused"
    except (OSError, ValueError):
        return "silent"
