"""Kafka Connect over its REST interface: connectors, their state and their offsets."""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from orchestrator.errors import ConnectError
from orchestrator.values import TopicPartition

_REBALANCE_POLL_S = 0.2
_REBALANCE = "rebalance"
# The workers rebalance; a worker has not started yet.
_PASSING = (409, 503)


class ConnectCluster:
    """The workers that run the mirrors into one cluster. Any worker answers; the first that does is used."""

    def __init__(
        self,
        name: str,
        urls: Sequence[str],
        timeout_s: float = 10.0,
        *,
        auth: tuple[str, str] | None = None,
        ca_location: str | None = None,
    ) -> None:
        """`auth` is user and password (HTTP basic), `ca_location` a PEM file for `https` addresses.

        Raises `ConnectError` without an address, or with a `ca_location` that cannot be used.
        """
        self.name = name
        self.urls = tuple(urls)
        self._patience_s = timeout_s
        self._access: dict[str, Any] = {"auth": auth, "ca_location": ca_location}
        self._client = httpx.Client(timeout=timeout_s, auth=auth, verify=_trusted(name, ca_location))
        if not self.urls:
            raise ConnectError(
                f"cluster {name}",
                "the topology file has no Connect workers for it",
                f"add clusters.{name}.connect, or use the file that `dcctl sim up` printed",
            )

    def within(self, timeout_s: float) -> ConnectCluster:
        """The same workers, waited for so long at most."""
        return ConnectCluster(self.name, self.urls, timeout_s, **self._access)

    def connectors(self) -> dict[str, dict[str, Any]]:
        """Status of every connector by name: `connector.state`, `tasks[].state` as Connect reports them."""
        answer = self._request("GET", "/connectors?expand=status")
        return {name: entry["status"] for name, entry in answer.items()}

    def described(self) -> dict[str, tuple[dict[str, str], dict[str, Any]]]:
        """Configuration and status of every connector by name, in one call."""
        answer = self._request("GET", "/connectors?expand=info&expand=status")
        return {name: (dict(entry["info"]["config"]), entry["status"]) for name, entry in answer.items()}

    def names(self) -> frozenset[str]:
        """Names of all connectors, those too that never ran and so have no status."""
        return frozenset(self._request("GET", "/connectors"))

    def configuration(self, connector: str) -> dict[str, str]:
        """The configuration of one connector."""
        return dict(self._request("GET", f"/connectors/{connector}/config"))

    def configure(self, connector: str, config: Mapping[str, str]) -> None:
        """Create a connector or change its configuration."""
        self._request("PUT", f"/connectors/{connector}/config", dict(config))

    def create_stopped(self, connector: str, config: Mapping[str, str]) -> None:
        """Create a connector that runs nothing until it is resumed, so that its offsets can be set before."""
        body = {"name": connector, "config": dict(config), "initial_state": "STOPPED"}
        self._request("POST", "/connectors", body)

    def delete(self, connector: str) -> None:
        """Remove a connector; its offsets stay."""
        self._request("DELETE", f"/connectors/{connector}")

    def stop(self, connector: str) -> None:
        """Ask for STOPPED; returns at once."""
        self._request("PUT", f"/connectors/{connector}/stop")

    def resume(self, connector: str) -> None:
        """Ask for RUNNING; returns at once."""
        self._request("PUT", f"/connectors/{connector}/resume")

    def restart(self, connector: str) -> None:
        """Start a connector and its tasks anew, those that have failed; returns at once."""
        self._request("POST", f"/connectors/{connector}/restart?includeTasks=true&onlyFailed=true")

    def source_offsets(self, connector: str) -> dict[TopicPartition, int]:
        """Of a MirrorMaker source connector: the last source offset read, per source partition."""
        answer = self._request("GET", f"/connectors/{connector}/offsets")
        return {
            TopicPartition(entry["partition"]["topic"], int(entry["partition"]["partition"])): int(
                entry["offset"]["offset"]
            )
            for entry in answer.get("offsets", [])
            if entry.get("offset")
        }

    def set_source_offsets(
        self, connector: str, cluster: str, offsets: Mapping[TopicPartition, int | None]
    ) -> None:
        """Of a stopped MirrorMaker source connector: the last source offset read, None for nothing read yet.

        `cluster` is the alias of its source. Partitions that are not named keep what they have. Connect
        refuses negative offsets: a partition that starts at its beginning has none.
        """
        body = {
            "offsets": [
                {
                    "partition": {"cluster": cluster, "topic": tp.topic, "partition": tp.partition},
                    "offset": None if offset is None else {"offset": offset},
                }
                for tp, offset in sorted(offsets.items())
            ]
        }
        self._request("PATCH", f"/connectors/{connector}/offsets", body)

    def _request(self, method: str, path: str, body: object = None) -> Any:
        """While the workers rebalance they answer 409 or 500 and change nothing.

        Then what only looks is asked again for a while here. What changes something is asked again by its
        caller, who knows whether it may still be asked for.
        """
        deadline = time.monotonic() + self._patience_s
        while True:
            try:
                return self._ask(method, path, body)
            except ConnectError as error:
                if method != "GET" or _REBALANCE not in error.problem:
                    raise
                if time.monotonic() > deadline:
                    raise ConnectError(
                        error.subject,
                        f"still rebalances after {self._patience_s:g} s ({error.problem})",
                        "do its workers see each other? Their logs tell who keeps joining and leaving",
                        is_passing=True,
                    ) from None
            time.sleep(_REBALANCE_POLL_S)

    def _ask(self, method: str, path: str, body: object) -> Any:
        problem = ""
        for url in self.urls:
            try:
                answer = self._client.request(method, url.rstrip("/") + path, json=body)
            except httpx.HTTPError as error:
                problem = f"{url}: {error or type(error).__name__}"
                continue
            if answer.is_success:
                return answer.json() if answer.content else None
            said = _message(answer)
            raise ConnectError(
                f"Connect at {self.name}",
                f"{method} {path} answered {answer.status_code}: {said}",
                is_passing=answer.status_code in _PASSING or _REBALANCE in said,
            )
        raise ConnectError(
            f"Connect at {self.name}",
            f"no worker answers ({problem})",
            "is the worker up, and is the address right?",
            is_passing=True,
        )


def _trusted(name: str, ca_location: str | None) -> ssl.SSLContext | bool:
    if ca_location is None:
        return True
    try:
        return ssl.create_default_context(cafile=ca_location)
    except (OSError, ssl.SSLError) as error:
        raise ConnectError(
            f"Connect at {name}",
            f"cannot use {ca_location}: {error.strerror or error}",
            f"check clusters.{name}.connect_client.ca_location",
        ) from None


def _message(answer: httpx.Response) -> str:
    try:
        return str(answer.json().get("message", answer.text))
    except ValueError:
        return answer.text[:200]
