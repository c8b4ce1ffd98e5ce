"""How the mirror is, as far as the target can tell: states, lag, heartbeats."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from orchestrator.errors import ClusterError, ConnectError
from orchestrator.ports.servers import Connect, Kafka
from orchestrator.replication.connectors import connector_names
from orchestrator.replication.formats import decode_heartbeat
from orchestrator.replication.lag import lag_records
from orchestrator.snapshot.samples import SampledEnd
from orchestrator.topology.model import Replication
from orchestrator.values import LogEnd, TopicPartition

UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorHealth:
    """One look at a mirror. What could not be asked is absent, and `problems` says why.

    `at_s`: when the look began. `states`: connector -> RUNNING, PAUSED, STOPPED, FAILED, MISSING, or the
    worst state of its tasks; UNKNOWN where Connect does not say.
    `replicated`: next source offset after the last that Connect has stored as copied.
    `heartbeat_at_s`: when the newest heartbeat that arrived was written at the source.
    """

    at_s: float
    states: Mapping[str, str] = field(default_factory=dict)
    replicated: Mapping[TopicPartition, int] | None = None
    heartbeat_at_s: float | None = None
    problems: tuple[str, ...] = ()

    def lag_records(self, ends: Mapping[TopicPartition, LogEnd]) -> dict[TopicPartition, int]:
        """See `replication.lag`; nothing where Connect does not tell its offsets."""
        if self.replicated is None:
            return {}
        return lag_records(ends, {tp: following - 1 for tp, following in self.replicated.items()})

    def gaps(
        self, ends: Mapping[TopicPartition, SampledEnd], made_anew: Collection[str]
    ) -> dict[TopicPartition, str]:
        """Source partitions of which records went by without being copied, or will.

        The source was purged beyond the mirror's position, or is shorter than it: MirrorMaker goes on
        from the earliest offset in both cases, without a word. Or it is another topic of the same name
        (`made_anew`): once its log has grown past the mirror's position, its beginning is passed over.
        """
        found = {}
        for tp, position in (self.replicated or {}).items():
            sampled = ends.get(tp)
            if sampled is None:
                continue
            end = sampled.end
            if position < end.start_offset:
                found[tp] = f"{end.start_offset - position} records were purged before they were copied"
            elif sampled.sampled_at_s > self.at_s and position > end.end_offset:
                why = "it was made anew, and " if tp.topic in made_anew else ""
                found[tp] = f"{why}the source's log ends at {end.end_offset}, the mirror stands at {position}"
        return found


def mirror_health(cluster: Kafka, connect: Connect, mirror: Replication) -> MirrorHealth:
    """Ask Connect and the target about one mirror. Never raises for what they say or leave unsaid.

    A connector of which Connect says nothing is UNKNOWN.
    """
    at_s, problems = time.time(), list[str]()
    names = connector_names(mirror)
    states = dict.fromkeys(names, UNKNOWN)
    replicated: dict[TopicPartition, int] | None = None
    with _noted(problems, ""):
        known = connect.connectors()
        states |= {name: _worst_state(known.get(name)) for name in names}
        if states[names.checkpoint] == "WITHOUT TASKS":
            # It has a task only while it finds groups to write checkpoints for.
            states[names.checkpoint] = "RUNNING"
        problems += [f"connector {name} is {state}" for name, state in states.items() if state != "RUNNING"]
        if names.source in known:
            offsets = connect.source_offsets(names.source)
            replicated = {tp: offset + 1 for tp, offset in offsets.items() if tp.topic in mirror.topics}
    heartbeat_at_s = None
    with _noted(problems, "heartbeats: "):
        heartbeat_at_s = newest_heartbeat_s(cluster, mirror)
    return MirrorHealth(
        at_s=at_s,
        states=states,
        replicated=replicated,
        heartbeat_at_s=heartbeat_at_s,
        problems=tuple(problems),
    )


@contextmanager
def _noted(problems: list[str], asked: str) -> Iterator[None]:
    """What goes wrong inside is a problem in words: a proxy, or a foreign record, may say anything."""
    try:
        yield
    except (ConnectError, ClusterError) as error:
        problems.append(f"{asked}{error.problem}")
    except Exception as error:  # noqa: BLE001 - what was said cannot be read, whatever it was
        problems.append(f"{asked}an answer cannot be read: {error!r}")


def newest_heartbeat_s(cluster: Kafka, mirror: Replication) -> float | None:
    """When the newest heartbeat that came through the mirror was written at the source (Unix seconds)."""
    topic = mirror.mirrored_topic("heartbeats")
    partition = TopicPartition(topic, 0)
    if not cluster.topics([topic], 5.0):
        return None
    log = cluster.log_ends([partition], 5.0)[partition]
    start = max(log.start_offset, log.end_offset - 3)
    newest = None
    for chunk in cluster.read_records({partition: (start, log.end_offset)}, 5.0):
        for record in chunk:
            if record.key is not None and record.value is not None:
                heartbeat = decode_heartbeat(record.key, record.value)
                newest = max(newest or 0.0, heartbeat.timestamp_ms / 1000)
    return newest


class HealthKeeper:
    """Looks at a mirror again and again in a thread of its own; a slow worker holds up nothing else."""

    def __init__(self, look: Callable[[], MirrorHealth], log: Any, interval_s: float = 3.0) -> None:
        self._look, self._log, self._interval_s = look, log, interval_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="health", daemon=True)
        self.newest: MirrorHealth | None = None

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """End; a look under way is not waited for."""
        self._stopped.set()

    def _run(self) -> None:
        said: tuple[str, ...] = ()
        while not self._stopped.is_set():
            health = self._looked()
            self.newest = health
            if health.problems != said:
                if health.problems:
                    self._log.warning("mirror", problems=list(health.problems))
                else:
                    self._log.info("mirror runs", states=dict(health.states))
                said = health.problems
            self._stopped.wait(self._interval_s)

    def _looked(self) -> MirrorHealth:
        """A look that fails says that nothing is known now; what the last one said does not stay."""
        begun_at_s = time.time()
        try:
            return self._look()
        except Exception as error:  # noqa: BLE001 - the next look may do better
            names = self.newest.states if self.newest is not None else ()
            problem = f"bug: the look was lost, the next one follows: {error!r}"
            return MirrorHealth(at_s=begun_at_s, states=dict.fromkeys(names, UNKNOWN), problems=(problem,))


def _worst_state(status: Mapping[str, Any] | None) -> str:
    if status is None:
        return "MISSING"
    states = [str(status["connector"]["state"]), *(str(task["state"]) for task in status["tasks"])]
    if states == ["RUNNING"]:
        return "WITHOUT TASKS"
    return next((state for state in states if state != "RUNNING"), "RUNNING")
