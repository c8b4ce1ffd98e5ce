"""Kafka Connect over its REST interface: connectors, their state and their offsets."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx

from orchestrator.errors import ConnectError
from orchestrator.ports.connector import ConnectorStatus, TaskStatus
from orchestrator.values import TopicPartition

_REBALANCE_POLL_S = 0.2
_REBALANCE = "rebalance"
# The workers rebalance; a worker has not started yet; a proxy before it does not reach it.
_PASSING = (409, 502, 503, 504)
# The second is what a worker says with status 500 while it cannot join its group (HerderRequestHandler).
_PASSING_WORDS = (_REBALANCE, "Request timed out")
# No worker has seen such a request.
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)

IsDone = Callable[[], bool]


class ConnectCluster:
    """The workers that run the mirrors into one cluster. Any of them answers for all."""

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
        self._answered_last = ""
        self._patience_s = timeout_s
        self._access: dict[str, Any] = {"auth": auth, "ca_location": ca_location}
        self._client = httpx.Client(timeout=timeout_s, auth=auth, verify=_trusted(name, ca_location))
        if not self.urls:
            raise ConnectError(
                f"cluster {name}",
                "the topology file has no Connect workers for it",
                f"add clusters.{name}.connect, or use the file that `dcctl sim up FILE` printed",
            )

    def within(self, timeout_s: float) -> ConnectCluster:
        """The same workers, waited for so long at most."""
        others = ConnectCluster(self.name, self.urls, timeout_s, **self._access)
        others._answered_last = self._answered_last
        return others

    def connectors(self) -> dict[str, ConnectorStatus]:
        """Status of every connector by name."""
        answer = self._request("GET", "/connectors?expand=status")
        with _expected(self.name, "GET /connectors"):
            return {name: connector_status(entry["status"]) for name, entry in answer.items()}

    def described(self) -> dict[str, tuple[dict[str, str], ConnectorStatus]]:
        """Configuration and status of every connector by name, in one call."""
        answer = self._request("GET", "/connectors?expand=info&expand=status")
        with _expected(self.name, "GET /connectors"):
            return {
                name: (dict(entry["info"]["config"]), connector_status(entry["status"]))
                for name, entry in answer.items()
            }

    def names(self) -> frozenset[str]:
        """Names of all connectors, those too that never ran and so have no status."""
        answer = self._request("GET", "/connectors")
        with _expected(self.name, "GET /connectors"):
            return frozenset(answer)

    def configuration(self, connector: str) -> dict[str, str]:
        """The configuration of one connector."""
        answer = self._request("GET", f"/connectors/{connector}/config")
        with _expected(self.name, f"GET /connectors/{connector}/config"):
            return dict(answer)

    def writes_in_transactions(self, connector: str) -> bool:
        """Whether the workers have exactly-once support for source connectors switched on.

        Nothing shows a worker's own settings; but one that has not refuses a configuration that requires it
        (`DistributedHerder.validateExactlyOnceSupport`). Nothing is changed by asking.
        """
        asked = {**self.configuration(connector), "exactly.once.support": "required"}
        plugin = str(asked.get("connector.class", "")).rpartition(".")[2]
        path = f"/connector-plugins/{plugin}/config/validate"
        answer = self._request("PUT", path, asked)
        with _expected(self.name, f"PUT {path}"):
            errors = [
                str(error)
                for entry in answer["configs"]
                if entry["value"]["name"] == "exactly.once.support"
                for error in entry["value"]["errors"]
            ]
        return not any("does not have exactly-once source support enabled" in error for error in errors)

    def configure(self, connector: str, config: Mapping[str, str]) -> None:
        """Create a connector or change its configuration."""
        self._request("PUT", f"/connectors/{connector}/config", dict(config))

    def create_stopped(self, connector: str, config: Mapping[str, str]) -> None:
        """Create a connector that runs nothing until it is resumed, so that its offsets can be set before."""
        body = {"name": connector, "config": dict(config), "initial_state": "STOPPED"}
        wanted = {**config, "name": connector}

        def is_done() -> bool:
            return (
                connector in self.names() and {**self.configuration(connector), "name": connector} == wanted
            )

        self._request("POST", "/connectors", body, is_done)

    def delete(self, connector: str) -> None:
        """Remove a connector; its offsets stay."""
        self._request("DELETE", f"/connectors/{connector}", None, lambda: connector not in self.names())

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
        with _expected(self.name, f"GET /connectors/{connector}/offsets"):
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

        def is_done() -> bool:
            found = self.source_offsets(connector)
            return all(found.get(tp) == offset for tp, offset in offsets.items())

        self._request("PATCH", f"/connectors/{connector}/offsets", body, is_done)

    def _request(self, method: str, path: str, body: object = None, is_done: IsDone | None = None) -> Any:
        """While the workers rebalance they answer 409 or 500 and change nothing.

        Then what only looks is asked again for a while here. What changes something is asked again by its
        caller, who knows whether it may still be asked for.
        """
        deadline = time.monotonic() + self._patience_s
        while True:
            try:
                return self._ask(method, path, body, is_done)
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

    def _ask(self, method: str, path: str, body: object, is_done: IsDone | None = None) -> Any:
        """Ask one worker after the other, the one that answered last first, until one answers for Connect.

        A worker that is away, starting or cut off from its group does not speak for the others, nor does
        whatever else listens at an address. What must not be done twice is looked for (`is_done`) before it
        is sent once more, where an earlier worker may have done it.
        """
        failures = []
        is_open = False
        for url in self._in_turn():
            if is_open and is_done is not None and is_done():
                return None
            try:
                answer = self._client.request(method, url.rstrip("/") + path, json=body)
            except httpx.HTTPError as error:
                failures.append(_Failure(f"{url}: {error or type(error).__name__}", 0, is_passing=True))
                is_open |= not isinstance(error, _NEVER_SENT)
                continue
            failure, result = _read(answer, f"{method} {path}")
            if failure is None:
                self._answered_last = url
                return result
            if answer.status_code < 500 and not failure.is_foreign:
                raise ConnectError(f"Connect at {self.name}", failure.problem, is_passing=failure.is_passing)
            failures.append(failure._replace(problem=f"{url}: {failure.problem}"))
            is_open |= answer.status_code >= 500
        raise self._all_failed(failures)

    def _in_turn(self) -> list[str]:
        return sorted(self.urls, key=lambda url: url != self._answered_last)

    def _all_failed(self, failures: Sequence[_Failure]) -> ConnectError:
        """Of several failures what a worker said tells more than that another one is away."""
        problems = "; ".join(failure.problem for failure in failures)
        is_passing = any(failure.is_passing for failure in failures)
        if any(failure.status for failure in failures):
            return ConnectError(f"Connect at {self.name}", problems, is_passing=is_passing)
        return ConnectError(
            f"Connect at {self.name}",
            f"no worker answers ({problems})",
            "is the worker up, and is the address right? One that has just started answers once its "
            "connectors run: wait for that, and run the same command again",
            is_passing=True,
        )


def connector_status(answer: Mapping[str, Any]) -> ConnectorStatus:
    """One connector's status (`ConnectorStateInfo`). Raises `KeyError` or `TypeError` for another shape."""
    own = answer["connector"]
    tasks = (
        TaskStatus(int(task["id"]), str(task["state"]), str(task.get("trace") or ""))
        for task in answer["tasks"]
    )
    return ConnectorStatus(str(own["state"]), tuple(tasks), str(own.get("trace") or ""))


class _Failure(NamedTuple):
    """Why one address did not do. `status`: of its HTTP answer, 0 without one.

    `is_foreign`: what answered does not speak as Connect does.
    """

    problem: str
    status: int
    is_passing: bool
    is_foreign: bool = False


def _read(answer: httpx.Response, asked: str) -> tuple[_Failure | None, Any]:
    """Why an answer is none, or its content."""
    status = answer.status_code
    try:
        content = answer.json() if answer.content else None
    except ValueError:
        problem = f"{asked} answered {status}, and not as Connect does: {answer.text[:200]!r}"
        return _Failure(problem, status, is_passing=status in _PASSING, is_foreign=True), None
    if answer.is_success:
        return None, content
    said = str(content.get("message", answer.text)) if isinstance(content, dict) else answer.text[:200]
    is_passing = status in _PASSING or any(word in said for word in _PASSING_WORDS)
    # Connect always has a list of connectors.
    is_foreign = status == httpx.codes.NOT_FOUND and asked.partition("?")[0].endswith(" /connectors")
    return _Failure(f"{asked} answered {status}: {said}", status, is_passing, is_foreign), None


@contextmanager
def _expected(name: str, asked: str) -> Iterator[None]:
    """Translates what goes wrong in an answer of another shape. Raises `ConnectError`."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ConnectError(
            f"Connect at {name}",
            f"{asked} was answered in another form than Connect's ({type(error).__name__}: {error})",
            "is the address that of a Connect worker?",
        ) from None


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
