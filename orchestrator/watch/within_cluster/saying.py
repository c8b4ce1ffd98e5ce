"""The newest word of a watcher, written to the ensemble by a thread of its own: that costs no round."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import DcctlError
from orchestrator.runs.live.coordination import coordination_connection
from orchestrator.topology.model import Topology
from orchestrator.watch.within_cluster.said import WatcherSaid, decode, encode, events_path, said_path

_AGAIN_S = 2.0
_DEADLINE_S = 5.0
_SAME_AFTER_S = 2.0


class Saying:
    """Keeps what it was given last where others read it, each half second at most. Start, and stop."""

    def __init__(self, topology: Topology, cluster: str, site: str, log: Any, every_s: float = 0.5) -> None:
        self._topology, self._log, self._every_s = topology, log, every_s
        self._path = f"{said_path(topology.name, cluster)}/{site}"
        self._newest: WatcherSaid | None = None
        self._said: WatcherSaid | None = None
        self._events = b""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="saying", daemon=True)
        self._problem = ""

    def before(self) -> WatcherSaid | None:
        """What was said last at this site, by whoever watched before. Raises `DcctlError`."""
        coordination = coordination_connection(self._topology)
        coordination.open()
        try:
            found, events = coordination.read(self._path), coordination.read(events_path(self._path))
        finally:
            coordination.close()
        return None if found is None else decode(found, events or b"")

    def say(self, said: WatcherSaid) -> None:
        """To be written as soon as it can be; an older word that was not is given up."""
        self._newest = said

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, with a last word where the ensemble answers."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(_DEADLINE_S)

    def _run(self) -> None:
        while True:
            is_last = self._stopped.is_set()
            try:
                coordination = coordination_connection(self._topology)
                coordination.open()
                try:
                    self._write_on(coordination)
                finally:
                    coordination.close()
            except DcctlError as error:
                if f"{error.subject}: {error.problem}" != self._problem:
                    self._problem = f"{error.subject}: {error.problem}"
                    self._log.warning("what was seen is not in the ensemble", problem=self._problem)
            if is_last or self._stopped.is_set():
                return
            self._stopped.wait(_AGAIN_S)

    def _is_due(self, newest: WatcherSaid) -> bool:
        """A reading that says the same is written less often: each write stays in the logs of an ensemble."""
        said = self._said
        if said is None or newest.seen.at_s - said.seen.at_s >= _SAME_AFTER_S:
            return True
        return newest != replace(said, seen=replace(said.seen, at_s=newest.seen.at_s))

    def _write_on(self, coordination: Coordination) -> None:
        while True:
            is_last = self._stopped.is_set()
            newest = self._newest
            if newest is not None and (is_last or self._is_due(newest)):
                reading, events = encode(newest)
                if events != self._events:
                    coordination.write(events_path(self._path), events)
                coordination.write(self._path, reading)
                self._said, self._events = newest, events
                if self._problem:
                    self._log.info("what was seen is in the ensemble again")
                    self._problem = ""
            if is_last:
                return
            self._stopped.wait(self._every_s)
