"""How the mirror is, as far as the target can tell: gaps without a word, and a look again and again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from orchestrator.replication.engine import UNKNOWN, MirrorHealth
from orchestrator.snapshot.samples import SampledEnd
from orchestrator.values import TopicPartition


def silent_gaps(
    health: MirrorHealth, ends: Mapping[TopicPartition, SampledEnd], recreated: Collection[str]
) -> dict[TopicPartition, str]:
    """Source partitions of which records went by without being copied, or will.

    The source was purged beyond the mirror's position, or is shorter than it: an engine may go on from the
    earliest offset in both cases, without a word. Or it is another topic of the same name
    (`recreated`): once its log has grown past the mirror's position, its beginning is passed over.
    """
    found = {}
    for tp, position in (health.replicated or {}).items():
        sampled = ends.get(tp)
        if sampled is None:
            continue
        end = sampled.end
        if position < end.start_offset:
            found[tp] = (
                f"{end.start_offset - position} records were deleted by retention before they were copied"
            )
        elif sampled.sampled_at_s > health.at_s and position > end.end_offset:
            why = "the topic was deleted and created again, and " if tp.topic in recreated else ""
            found[tp] = f"{why}the source's log ends at {end.end_offset}, but the mirror is at {position}"
    return found


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
