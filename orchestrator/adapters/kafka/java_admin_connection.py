"""One cluster's Admin inside the shared Java process: made when needed, made again after the process died."""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError

from orchestrator.adapters.java.client_properties import java_client_properties
from orchestrator.adapters.kafka.client import client_properties
from orchestrator.adapters.kafka.java_admin_bulk import Bulk, Outcome
from orchestrator.adapters.kafka.java_admin_jvm import (
    Jvm,
    java_cluster_error,
    java_errors,
    shared_jvm,
    without_wrapping,
)
from orchestrator.errors import ClusterError
from orchestrator.values import TopicPartition
from orchestrator.wording import and_n_more

# Admin ends each call at its own deadline; ours only guards against it not doing so.
_GRACE_MS = 2_000
_JAAS_SECRET = re.compile(r'(password|clientSecret)="(?:[^"\\]|\\.)*"')


@dataclass(frozen=True, slots=True)
class JavaSession:
    """Kafka's Admin for one cluster, and the tools of its process."""

    jvm: Jvm
    admin: Any
    bulk: Bulk

    @property
    def java(self) -> Any:
        """Java's packages."""
        return self.jvm.gateway.jvm

    @property
    def common(self) -> Any:
        """The package `org.apache.kafka.common`."""
        return self.java.org.apache.kafka.common

    @property
    def classes(self) -> Any:
        """The package of the Admin's own classes."""
        return self.java.org.apache.kafka.clients.admin

    def end(self) -> None:
        """End the connections to the cluster, if the process still runs."""
        if self.jvm.is_alive:
            with suppress(Py4JError, OSError):
                self.admin.close(self.java.java.time.Duration.ZERO)

    def options(self, call: str, timeout_s: float) -> Any:
        """`<call>Options` with the deadline."""
        return getattr(self.classes, f"{call}Options")().timeoutMs(round(timeout_s * 1000))

    def answer(self, future: Any, timeout_s: float) -> Any:
        """The plain value of one `KafkaFuture`."""
        unit = self.java.java.util.concurrent.TimeUnit.MILLISECONDS
        return self.bulk.plain(future.get(round(timeout_s * 1000) + _GRACE_MS, unit))

    def outcomes(self, futures: Any, timeout_s: float) -> dict[str, Outcome]:
        """The outcome of each of many futures; one without any counts as timed out."""
        late = f"Timeout: no answer within {timeout_s:g} s"
        found = self.bulk.outcomes(futures, round(timeout_s * 1000) + _GRACE_MS, late)
        return {
            key: outcome if outcome.error is None else Outcome(None, without_wrapping(outcome.error))
            for key, outcome in found.items()
        }


class JavaConnection:
    """What every call shares. Closed or let go of, the cluster's connections end; the process does not."""

    def __init__(self, name: str, bootstrap: Sequence[str], client: Mapping[str, str]) -> None:
        """`client` are librdkafka's properties, as the topology file has them; secrets by reference.

        Nothing is started yet. Raises `DcctlError` for a secret that is not there, and `ClusterError` for
        properties that Java has no words for.
        """
        self.name = name
        self._properties = {
            "client.id": "dcctl",
            # Nobody asks us for telemetry (KIP-714), and the first answer comes sooner.
            "enable.metrics.push": "false",
            **java_client_properties(client_properties(name, bootstrap, client), f"clusters.{name}.client"),
        }
        self._guard = threading.Lock()
        self._session: JavaSession | None = None
        self._at_end = weakref.finalize(self, _nothing)

    @property
    def subject(self) -> str:
        """How errors name it."""
        return f"cluster {self.name}"

    def close(self) -> None:
        """End the connections to the cluster; a later call opens new ones."""
        with self._guard:
            self._session = None
            self._at_end()

    @contextmanager
    def _asking(self, doing: str) -> Iterator[JavaSession]:
        """The session for one question; whatever Java throws meanwhile is told as an error while `doing`."""
        session = self._opened()
        with java_errors(self.subject, doing):
            yield session

    def _opened(self) -> JavaSession:
        with self._guard:
            jvm = shared_jvm()
            if self._session is None or self._session.jvm is not jvm:
                try:
                    with java_errors(self.subject, "opening a connection"):
                        admin = jvm.gateway.jvm.org.apache.kafka.clients.admin.Admin.create(self._properties)
                        self._session = JavaSession(jvm, admin, jvm.bulk)
                        # Whoever forgets to close it would leave Kafka's thread behind, which looks for
                        # brokers that are gone for as long as the process lives.
                        self._at_end = weakref.finalize(self, self._session.end)
                        self._at_end.atexit = False
                except ClusterError as error:
                    # Kafka repeats a setting that it refuses, which may be the one with the secret.
                    shown = _JAAS_SECRET.sub(r'\1="…"', error.problem)
                    raise ClusterError(error.subject, shown, error.hint, error.code) from None
            return self._session

    def _raise_first(self, what: str, doing: str, errors: Mapping[str, str]) -> None:
        """Raise `ClusterError` about the first of those that failed, and say how many more did."""
        if not errors:
            return
        key = min(errors)
        more = f" ({and_n_more(len(errors) - 1)})" if len(errors) > 1 else ""
        raise java_cluster_error(f"{self.subject}, {what} {key}{more}", doing, errors[key])


def _nothing() -> None:
    """Of a connection that was never opened."""


def partition_of(text: str) -> TopicPartition:
    """The partition that Kafka writes as `topic-0`."""
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))
