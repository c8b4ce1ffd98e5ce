"""A long-lived writer: for the few records a second that the watcher keeps writing."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import Producer

from orchestrator.adapters.kafka.client import cluster_error, logger, translated_errors
from orchestrator.errors import ClusterError


class UnacknowledgedError(ClusterError):
    """Not all records of a batch are known to be there. `acknowledged`: the keys of those that are."""

    acknowledged: frozenset[bytes] = frozenset()


class RecordWriter:
    """Writes records to one topic, in order and acknowledged by all replicas in sync.

    A failure closes the client and forgets everything still queued, so no record can be written
    later behind the back of a caller who was told that it failed; the next `write` starts anew.
    """

    def __init__(self, name: str, properties: Mapping[str, Any], topic: str) -> None:
        self._subject = f"cluster {name}, topic {topic}"
        self._properties = dict(properties)
        self._topic = topic
        self._producer: Producer | None = None

    def write(self, records: Iterable[tuple[bytes, bytes | None]], timeout_s: float) -> None:
        """Write records of different keys and wait until all are acknowledged.

        Raises `UnacknowledgedError`, which tells those that are.
        """
        acknowledged: list[bytes] = []
        try:
            self._write(records, timeout_s, acknowledged)
        except ClusterError as error:
            self.close()
            told = UnacknowledgedError(error.subject, error.problem, error.hint, code=error.code)
            told.acknowledged = frozenset(acknowledged)
            raise told from None
        except BaseException:
            self.close()
            raise

    def _write(
        self, records: Iterable[tuple[bytes, bytes | None]], timeout_s: float, acknowledged: list[bytes]
    ) -> None:
        failures: list[object] = []

        def on_delivery(error: object, message: Any) -> None:
            if error is not None:
                failures.append(error)
            else:
                acknowledged.append(message.key())

        deadline = time.monotonic() + timeout_s
        with translated_errors(self._subject, "writing records"):
            producer = self._open(timeout_s)
            for key, value in records:
                self._produce(producer, key, value, on_delivery, deadline)
            unsent = producer.flush(max(0.0, deadline - time.monotonic()))
        if failures:
            raise cluster_error(self._subject, "writing records", failures[0])
        if unsent:
            raise ClusterError(self._subject, f"{unsent} records not acknowledged within {timeout_s:g} s")

    def close(self) -> None:
        """Forget what is queued and close the connections."""
        if self._producer is not None:
            self._producer.purge(in_queue=True, in_flight=True, blocking=False)
            self._producer = None

    def _produce(
        self, producer: Producer, key: bytes, value: bytes | None, on_delivery: Any, deadline: float
    ) -> None:
        while True:
            try:
                producer.produce(self._topic, key=key, value=value, on_delivery=on_delivery)
            except BufferError:  # the local queue is full: let it drain
                if time.monotonic() > deadline:
                    raise ClusterError(self._subject, "the queue of records to write is full") from None
                producer.poll(0.05)
                continue
            producer.poll(0)
            return

    def _open(self, timeout_s: float) -> Producer:
        if self._producer is None:
            settings = {
                **self._properties,
                "enable.idempotence": True,
                # Whoever deleted a topic did not mean it to come back with the defaults of the brokers.
                "allow.auto.create.topics": False,
                "linger.ms": 0,
                "message.timeout.ms": max(1000, int(timeout_s * 1000)),
                "socket.timeout.ms": max(1000, int(timeout_s * 1000)),
                "retry.backoff.ms": 50,
            }
            self._producer = Producer(settings, logger=logger)
        return self._producer
