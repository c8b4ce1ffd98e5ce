"""Kafka Connect over its REST interface: connectors, their state and their offsets."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from orchestrator.errors import ConnectError
from orchestrator.values import TopicPartition


class ConnectCluster:
    """The workers that run the mirrors into one cluster. Any worker answers; the first that does is used."""

    def __init__(
        self, name: str, urls: Sequence[str], auth: tuple[str, str] | None = None, timeout_s: float = 10.0
    ) -> None:
        self.name = name
        self.urls = tuple(urls)
        self._client = httpx.Client(timeout=timeout_s, auth=auth)
        if not self.urls:
            raise ConnectError(
                f"cluster {name}",
                "the topology file has no Connect workers for it",
                f"add clusters.{name}.connect, or use the file that `dcctl sim up` printed",
            )

    def connectors(self) -> dict[str, dict[str, Any]]:
        """Status of every connector by name: `connector.state`, `tasks[].state` as Connect reports them."""
        answer = self._request("GET", "/connectors?expand=status")
        return {name: entry["status"] for name, entry in answer.items()}

    def configuration(self, connector: str) -> dict[str, str]:
        """The configuration of one connector."""
        return dict(self._request("GET", f"/connectors/{connector}/config"))

    def create(self, connector: str, config: Mapping[str, str], initial_state: str = "RUNNING") -> None:
        """Create a connector in its initial state (RUNNING, PAUSED or STOPPED)."""
        self._request(
            "POST", "/connectors", {"name": connector, "config": dict(config), "initial_state": initial_state}
        )

    def configure(self, connector: str, config: Mapping[str, str]) -> None:
        """Create a connector or change its configuration."""
        self._request("PUT", f"/connectors/{connector}/config", dict(config))

    def delete(self, connector: str) -> None:
        """Remove a connector; its offsets stay."""
        self._request("DELETE", f"/connectors/{connector}")

    def stop(self, connector: str) -> None:
        """Ask for STOPPED; returns at once. `await_state` waits for it."""
        self._request("PUT", f"/connectors/{connector}/stop")

    def resume(self, connector: str) -> None:
        """Ask for RUNNING; returns at once."""
        self._request("PUT", f"/connectors/{connector}/resume")

    def await_state(self, connectors: Sequence[str], state: str, timeout_s: float = 30.0) -> None:
        """Wait until every connector is in `state`, with no task left (STOPPED) or every task RUNNING.

        Raises `ConnectError` naming those that are not, and in which state they are.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            found = self.connectors()
            waiting = {name: _state(found.get(name)) for name in connectors}
            waiting = {name: seen for name, seen in waiting.items() if seen != state}
            if not waiting:
                return
            if time.monotonic() > deadline:
                listed = ", ".join(f"{name} is {seen}" for name, seen in sorted(waiting.items()))
                raise ConnectError(
                    f"Connect at {self.name}", f"expected {state} within {timeout_s:g} s: {listed}"
                )
            time.sleep(0.1)

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

    def _request(self, method: str, path: str, body: object = None) -> Any:
        problem = ""
        for url in self.urls:
            try:
                answer = self._client.request(method, url.rstrip("/") + path, json=body)
            except httpx.HTTPError as error:
                problem = f"{url}: {error or type(error).__name__}"
                continue
            if answer.is_success:
                return answer.json() if answer.content else None
            raise ConnectError(
                f"Connect at {self.name}",
                f"{method} {path} answered {answer.status_code}: {_message(answer)}",
            )
        raise ConnectError(
            f"Connect at {self.name}",
            f"no worker answers ({problem})",
            "is the worker up, and is the address right?",
        )


def _message(answer: httpx.Response) -> str:
    try:
        return str(answer.json().get("message", answer.text))
    except ValueError:
        return answer.text[:200]


def _state(status: Mapping[str, Any] | None) -> str:
    if status is None:
        return "missing"
    state = str(status["connector"]["state"])
    tasks = [str(task["state"]) for task in status["tasks"]]
    if state == "STOPPED":
        return "STOPPED" if not tasks else "STOPPING"
    if not tasks:
        return "WITHOUT TASKS"
    return next((task for task in tasks if task != "RUNNING"), state)
