"""Keeping the copies of Spark checkpoints, each in a thread of its own: copying may take its time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any

from orchestrator.adapters.checkpoint_copy import (
    CheckpointCopier,
    OriginalMovedError,
    OtherCopierError,
    copy_of,
)
from orchestrator.adapters.checkpoint_files import local_checkpoint
from orchestrator.errors import DcctlError
from orchestrator.snapshot.samples import CheckpointCopy
from orchestrator.topology.spark import SparkQuery


class CopyKeeper:
    """See `watch.keeping.Keeping`. Follows the checkpoints of Spark queries: how far each copy has come."""

    def __init__(
        self, consumers: Iterable[SparkQuery], watcher: str, log: Any, interval_s: float = 0.5
    ) -> None:
        self._watcher = watcher
        self._log = log
        self._interval_s = interval_s
        self._stopped = threading.Event()
        self._copies: dict[str, CheckpointCopy] = {}
        self._threads = []
        for consumer in consumers:
            thread = threading.Thread(
                target=self._follow, args=(consumer,), name=f"copy-{consumer.name}", daemon=True
            )
            self._threads.append(thread)

    def start(self) -> None:
        """Begin to follow."""
        for thread in self._threads:
            thread.start()

    def stop(self, timeout_s: float = 2.0) -> None:
        """End after the pass under way; one that takes longer is cut off, which does no harm."""
        self._stopped.set()
        for thread in self._threads:
            thread.join(timeout_s)

    def words(self) -> tuple[CheckpointCopy, ...]:
        """The newest word on each copy."""
        return tuple(dict(self._copies).values())

    def _follow(self, consumer: SparkQuery) -> None:
        copier = None
        while True:
            try:
                copier = copier or self._copier(consumer)
                self._say(self._followed(consumer, copier))
            except OtherCopierError:
                pass  # the other watcher says how far it came
            except (OriginalMovedError, DcctlError, OSError) as error:
                self._say_problem(consumer, str(error))
            except Exception as error:  # noqa: BLE001 - a file that cannot be read ends no thread
                self._say_problem(consumer, f"bug: the pass was lost, the next one follows: {error!r}")
            if self._stopped.wait(self._interval_s):
                return

    @staticmethod
    def _copier(consumer: SparkQuery) -> CheckpointCopier:
        subject = f"consumer {consumer.name}"
        if consumer.checkpoint is None or consumer.standby_checkpoint is None:
            raise DcctlError(
                subject, "has no checkpoint or no standby_checkpoint", "name both in the topology file"
            )
        original = local_checkpoint(subject, consumer.checkpoint)
        return CheckpointCopier(original, copy_of(local_checkpoint(subject, consumer.standby_checkpoint)))

    def _followed(self, consumer: SparkQuery, copier: CheckpointCopier) -> CheckpointCopy:
        begun_at_s = time.time()
        done = copier.follow()
        return CheckpointCopy(
            watcher=self._watcher,
            query=consumer.name,
            at_s=begun_at_s,
            batch=done.batch,
            committed_at_s=done.committed_at_s,
            source_batch=done.source_batch,
            path=str(copier.copy),
        )

    def _say_problem(self, consumer: SparkQuery, problem: str) -> None:
        """The state as it was, with its old time, and what is in the way now."""
        known = self._copies.get(consumer.name)
        self._say(
            CheckpointCopy(
                watcher=self._watcher,
                query=consumer.name,
                at_s=known.at_s if known else 0.0,
                batch=known.batch if known else None,
                committed_at_s=known.committed_at_s if known else None,
                source_batch=known.source_batch if known else None,
                path=known.path if known else "",
                problem=problem,
            )
        )

    def _say(self, copy: CheckpointCopy) -> None:
        known = self._copies.get(copy.query)
        self._copies[copy.query] = copy
        if known is None or known.problem != copy.problem:
            if copy.problem:
                self._log.warning("checkpoint copy", query=copy.query, problem=copy.problem)
            else:
                self._log.info("checkpoint copy follows", query=copy.query, batch=copy.batch)
