"""What all questions to one cluster share: who is away answers nothing for as long as it is waited for."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.errors import ClusterError
from orchestrator.ports.servers import TopicDescription
from orchestrator.values import TopicPartition
from tests.twin.clusters import Log, TwinCluster
from tests.twin.crew import Crew
from tests.twin.record import Record

CODES = {"gone": "_TRANSPORT", "silent": "_TIMED_OUT"}


class Asked:
    """What all questions to one cluster share."""

    def __init__(self, cluster: TwinCluster, record: Record, crew: Crew) -> None:
        self.cluster, self.record, self.crew = cluster, record, crew

    @property
    def name(self) -> str:
        return self.cluster.name

    @property
    def subject(self) -> str:
        return f"cluster {self.cluster.name}"

    def error(self, doing: str, code: str) -> ClusterError:
        return ClusterError(
            self.subject, f"{doing}: {code.strip('_').lower()} ({code})", "is the cluster up?", code
        )

    def reached(self, doing: str, timeout_s: float) -> None:
        """Raise what a client meets where no broker answers, after its time."""
        state = self.cluster.reach
        if state != "up":
            self.crew.pass_time(timeout_s)
            raise self.error(doing, CODES[state])

    def led(self, tp: TopicPartition, doing: str, timeout_s: float) -> Log:
        log = self.cluster.log(tp)
        if log is None:
            raise ClusterError(f"{self.subject}, {tp}", f"{doing}: unknown", code="UNKNOWN_TOPIC_OR_PART")
        if not self.cluster.is_led(log):
            self.crew.pass_time(timeout_s)
            raise self.error(f"{doing} {tp}", "_TIMED_OUT")
        return log

    def coordinated(self, group: str, doing: str, timeout_s: float) -> None:
        if not self.cluster.is_coordinated(group):
            self.crew.pass_time(timeout_s)
            raise self.error(f"{doing} {group}", "_TIMED_OUT")


def described(cluster: TwinCluster, names: Iterable[str]) -> dict[str, TopicDescription]:
    """Topics as a cluster describes them."""
    return {
        name: TopicDescription(
            name,
            topic.topic_id,
            tuple(log.leader for log in topic.logs),
            tuple(log.replicas for log in topic.logs),
            tuple(log.isr for log in topic.logs),
        )
        for name in sorted(set(names))
        if (topic := cluster.topics.get(name)) is not None
    }
