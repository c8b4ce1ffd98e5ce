"""Seeing that nothing is written at a cluster any more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pydantic.dataclasses import dataclass

from orchestrator.errors import ClusterError, DcctlError
from orchestrator.moves.fence import IN_SYNC_S, STANDSTILL_S
from orchestrator.moves.log_standstill import Standstill, beyond_in_words
from orchestrator.moves.results import StandingLogs
from orchestrator.ports.clock import Clock
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Failed,
    Look,
    Outcome,
    Running,
    Unknown,
)
from orchestrator.runs.ports import Clusters
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.wording import listed, plural

_LISTED = 5
_POLL_S = 0.25
_PATIENCE_S = 12.0
"""For so long is who still writes waited for, and who does not tell where its logs end."""


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class AwaitNoWrites(
    Look[StandingLogs],
    name="await-no-writes",
    phase="fence",
    title="Verify that no log at {cluster} grows for {standstill_s:g} s, and that its replicas are in sync",
    expected_s=STANDSTILL_S + 0.2,
    timeout_s=STANDSTILL_S + IN_SYNC_S,
):
    """See every log stand still for a while; what its leader has all replicas in sync have (`Standstill`).

    What still advances is named, with its producers. A replica that hangs is waited for until it is out of
    sync. What cannot be asked is not known to be silent, and where a log ends cannot be taken from how far it
    can be read.
    """

    cluster: str
    topics: tuple[str, ...]
    standstill_s: float = STANDSTILL_S
    patience_s: float = STANDSTILL_S + _PATIENCE_S

    def perform(self, run: Running) -> Outcome[StandingLogs]:
        """See `Effect`."""
        clusters, clock = run.port(Clusters), run.port(Clock)
        cluster, standing = clusters.cluster(self.cluster), Standstill(self.standstill_s)
        begun_s = now_s = clock.monotonic_s()
        begun_at_s = clock.now_s()
        untold: dict[TopicPartition, str] = {}
        try:
            described = cluster.topics(self.topics)
            partitions = [tp for topic in described.values() for tp in topic.partitions]
            addresses = list(cluster.brokers().values())
            with clusters.log_end_reader(self.cluster) as reader:

                def take_look() -> None:
                    nonlocal now_s
                    # A look takes its time: nothing is known to stand still from before it or until after it.
                    now_s = clock.monotonic_s()
                    told = reader.reaches(addresses, partitions)
                    untold.clear()
                    untold.update(
                        {tp: said.problem for tp, said in told.items() if isinstance(said, ClusterError)}
                    )
                    reaches = {tp: said for tp, said in told.items() if not isinstance(said, ClusterError)}
                    standing.look(reaches, clock.monotonic_s())

                def is_over() -> bool:
                    take_look()
                    if standing.is_reached(now_s) and not untold:
                        return True
                    return now_s - begun_s > self.patience_s and bool(untold or standing.written(now_s))

                take_look()
                run.await_true(is_over, run.timeout_s, poll_s=_POLL_S)
            if standing.is_reached(now_s) and not untold:
                logs = cluster.log_ends(partitions)
                starts = {tp: log.start_offset for tp, log in logs.items()}
                stood = StandingLogs(standing.ends, starts, epochs_of(logs))
                return Done(
                    stood,
                    f"{plural(len(partitions), 'partition')} of {self.cluster} received "
                    f"no record for {self.standstill_s:g} s",
                )
        except ClusterError as error:
            return Unknown(f"the logs at {self.cluster} cannot be read: {error.problem}")
        if not run.may_write():
            return Failed("the run was interrupted")
        writing = standing.written(now_s)
        return self._still_written(run, writing, begun_at_s) if writing else self._not_known(standing, untold)

    def _not_known(self, standing: Standstill, untold: Mapping[TopicPartition, str]) -> Failed | Unknown:
        """Nobody writes any more, and yet the logs do not stand still."""
        if untold:
            listed = "; ".join(f"{tp}: {why}" for tp, why in sorted(untold.items())[:_LISTED])
            return Unknown(
                f"the log end offsets of {plural(len(untold), 'partition')} at {self.cluster} are unknown "
                f"(the high watermark does not give them): {listed}"
            )
        beyond = standing.beyond
        if not beyond:
            return Failed(f"replicas at {self.cluster} have come into sync only now: run the command again")
        return Failed(
            f"{plural(sum(beyond.values()), 'record')} at leaders of {self.cluster} "
            "may still be acknowledged, because an "
            f"in-sync replica does not follow: {beyond_in_words(beyond, _LISTED)}. "
            f"Repair or stop the broker of that replica",
            {"beyond": {str(tp): records for tp, records in beyond.items()}},
        )

    def _still_written(self, run: Running, writing: Sequence[TopicPartition], since_s: float) -> Failed:
        found = writers_of(run.port(Clusters), self.cluster, writing, since_s)
        said = listed((found[tp] for tp in writing), _LISTED, "partitions more", separator="; ")
        return Failed(
            f"still written at {self.cluster}: {said}. The producer's principal is not among those denied, "
            "or is a super user: then only closing its listener helps",
            {"still_written": {str(tp): found[tp] for tp in writing}},
        )


def epochs_of(logs: Mapping[TopicPartition, LogEnd]) -> dict[TopicPartition, int]:
    """The leader epochs of logs, as far as they were told."""
    return {tp: log.leader_epoch for tp, log in logs.items() if log.leader_epoch >= 0}


def writers_of(
    clusters: Clusters, cluster: str, partitions: Iterable[TopicPartition], since_s: float
) -> dict[TopicPartition, str]:
    """Each partition with the producers that its leader saw writing lately, as far as it remembers any.

    Only idempotent producers leave a state at the leader; for others nothing but the address of the
    client tells who they are, and that only the broker's request log has. `since_s`: Unix seconds.
    """
    wanted = list(partitions)
    try:
        states = clusters.cluster(cluster).describe_producers(wanted)
    except DcctlError as error:
        return {tp: f"{tp} (its producers are unknown: {error.problem})" for tp in wanted}
    found: dict[TopicPartition, str] = {}
    for tp in wanted:
        late = [state for state in states.get(tp, ()) if state.last_at_s >= since_s]
        ids = ", ".join(f"producer id {state.producer_id}" for state in late)
        found[tp] = f"{tp} by {ids or 'a producer without an id (not idempotent)'}"
    return found
