"""Moving replicas: begun by one call, done by Kafka in the background, waited for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import ClassVar, Self

from pydantic.dataclasses import dataclass
from typing_extensions import TypedDict  # pydantic reads no other one before Python 3.12

from orchestrator.errors import ClusterError
from orchestrator.reconcile.batch import Replacing
from orchestrator.reconcile.ports import ReconciledClusters, topics_now
from orchestrator.reconcile.topics import OnTopics
from orchestrator.runs.effect import EFFECT_CONFIG, Done, Failed, Nothing, Outcome, Running, Unknown
from orchestrator.values import TopicPartition
from orchestrator.wording import listed, plural

# Copying may take a day, and each look asks for the settings as well.
_POLL_S = 2.0
# Brokers learn of what the controller has done a moment later: ten seconds of standing still are a failure.
_STILL_POLLS = 5
# Five minutes in which nobody answers are no passing trouble: the lock is not held for a day because of it.
_SILENT_POLLS = 150
_BYTES_PER_S = 20_000_000


class Placed(TypedDict):
    """The brokers that shall have a partition, and those that had it."""

    replicas: list[int]
    was: list[int]


class TopicMoved(TypedDict):
    """The partitions of a topic that move, by their numbers."""

    partitions: dict[str, Placed]


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class MoveReplicas(
    Replacing,
    OnTopics,
    name="move-replicas",
    phase="replicas",
    title="Move replicas of",
    expected_s=2.0,
    timeout_s=24 * 3600.0,
):
    """Begin to move; asked twice for the same it goes on.

    `copied_bytes`: how much goes to brokers that did not have it (None: not known). It grows by itself: two
    moves are the same whatever it is.
    """

    AT_ONCE: ClassVar[int] = 200
    EACH_S: ClassVar[float] = 0.05
    LANES: ClassVar[int] = 1
    PLACES_REPLICAS: ClassVar[bool] = True

    topics: dict[str, TopicMoved]
    copied_bytes: int | None = field(default=None, compare=False)

    @classmethod
    def joined(cls, works: Sequence[Self]) -> Self:
        """See `Batch`."""
        known = [work.copied_bytes for work in works if work.copied_bytes is not None]
        return replace(super().joined(works), copied_bytes=sum(known) if len(known) == len(works) else None)

    @property
    def weight(self) -> int:
        """How many partitions move."""
        return sum(len(topic["partitions"]) for topic in self.topics.values())

    @property
    def title(self) -> str:
        """See `Effect`."""
        size = (
            "an unknown amount of data" if self.copied_bytes is None else f"{self.copied_bytes / 1e6:,.0f} MB"
        )
        return f"{super().title}, {size}"

    @property
    def expected_s(self) -> float:
        """See `Effect`."""
        return round(super().expected_s + (self.copied_bytes or 0) / _BYTES_PER_S, 2)

    @property
    def makes_fewer(self) -> bool:
        """Whether a partition has fewer replicas afterwards."""
        entries = (entry for topic in self.topics.values() for entry in topic["partitions"].values())
        return any(len(entry["replicas"]) < len(entry["was"]) for entry in entries)

    def put(self, run: Running, *, back: bool) -> Outcome[Nothing]:
        """See `Replacing`. A copy that is under way is called off by the way back."""
        moves = self._places(back=back)
        run.port(ReconciledClusters).at(self.cluster).kafka.alter_reassignments(moves)
        return Done(Nothing(), f"reassignment of {plural(len(moves), 'partition')} asked for")

    def see(self, run: Running, *, back: bool) -> Outcome[Nothing]:
        """See `Replacing`: every partition lies there, and nothing is copied any more."""
        kafka = run.port(ReconciledClusters).at(self.cluster).kafka
        waiting = self._places(back=back)
        elsewhere: list[str] = []
        still = 0
        silent: list[str] = []

        def is_there() -> bool:
            nonlocal still
            try:
                busy = kafka.list_reassignments()
                found = topics_now(kafka, self.topics)
            except ClusterError as error:
                # Kafka copies on, whoever does not answer now: what was begun is waited for.
                silent.append(f"{error.subject}: {error.problem}")
                return len(silent) > _SILENT_POLLS
            silent.clear()
            for partition in list(waiting):
                topic = found.get(partition.topic)
                replicas = topic.replicas[partition.partition] if topic else ()
                if partition not in busy and set(replicas) == set(waiting[partition]):
                    del waiting[partition]
            elsewhere[:] = [str(tp) for tp in waiting if tp not in busy]
            # Nothing is copied, and still it is not there: it was never begun, or called off.
            still = still + 1 if len(elsewhere) == len(waiting) else 0
            return not waiting or still > _STILL_POLLS

        run.await_true(is_there, run.timeout_s, poll_s=_POLL_S)
        if not waiting:
            return Done(Nothing(), f"{plural(self.weight, 'partition')} moved")
        if silent:
            return Unknown(f"whether the reassignment is done is unknown: {silent[-1]}")
        if len(elsewhere) == len(waiting):
            return Failed(f"partitions not reassigned: {listed(elsewhere)}")
        return Unknown(f"partitions still being copied: {listed(map(str, waiting))}")

    def _places(self, *, back: bool) -> dict[TopicPartition, list[int]]:
        return {
            TopicPartition(name, int(number)): entry["was"] if back else entry["replicas"]
            for name, topic in self.topics.items()
            for number, entry in topic["partitions"].items()
        }


def bytes_to_copy(
    topic: str, partitions: Mapping[str, Placed], sizes: Mapping[TopicPartition, int]
) -> int | None:
    """Bytes for brokers that did not have them; None where the size of a partition is not known."""
    try:
        return sum(
            sizes[TopicPartition(topic, int(number))] * len(set(entry["replicas"]) - set(entry["was"]))
            for number, entry in partitions.items()
        )
    except KeyError:
        return None
