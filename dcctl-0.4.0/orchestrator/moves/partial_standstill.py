"""Seeing that what can be read of a sick cluster stands still, and how much of it nobody can read yet."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic.dataclasses import dataclass

from orchestrator.errors import ClusterError
from orchestrator.moves.fence import IN_SYNC_S, STANDSTILL_S
from orchestrator.moves.log_standstill import Standstill, beyond_in_words
from orchestrator.moves.partial_rules import READ_TIMEOUT_S
from orchestrator.moves.ports import PartialClusters, PartialLook
from orchestrator.moves.results import PartlyStanding, RulesHeard
from orchestrator.moves.standstill import epochs_of, writers_of
from orchestrator.ports.clock import Clock
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Failed,
    Handle,
    Look,
    Outcome,
    Running,
    Unknown,
)
from orchestrator.runs.ports import Clusters
from orchestrator.snapshot.partial_view import named
from orchestrator.topology.model import Topology
from orchestrator.values import Acl, LogEnd, LogReach, TopicPartition

ELECTION_S = 12.0
"""A broker that died a moment ago has new leaders after its session: so long they are waited for."""
SLOW_S = 20.0
"""So much longer take looks at a site of which brokers hang."""
_LISTED = 4
_POLL_S = 0.3
_HEARD_TIMEOUT_S = 5.0


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class AwaitPartStanding(
    Look[PartlyStanding],
    name="await-left-standing",
    phase="fence",
    title="Verify that no readable log at {cluster} grows for {standstill_s:g} s",
    expected_s=STANDSTILL_S + 1.5,
    timeout_s=STANDSTILL_S + IN_SYNC_S + SLOW_S,
):
    """See every log of a cluster's topics that can be read stand still; the others are unknown, by partition.

    New leaders are waited for a moment where there is a controller, and so is what the plan could read, and
    anything at all: what nobody has looked at does not stand still. A replica that hangs is waited for until
    it is out of sync, if somebody is there to find it so; what leaders then still hold beyond what can be
    read is said, and the account counts it. What still advances is named. A broker that answers only now has
    to have heard of the rules as well.

    `home`: the cluster where the file has the topics. `rules`: those that deny there; none where nobody can
    be kept from writing. `unread`: partitions whose log could not be read as the plan was made. Seconds: each
    log stands still for `standstill_s`; what cannot be read has `election_s` to become readable, what
    replicas lack has `in_sync_s`, and who still writes `patience_s`.
    """

    cluster: str
    home: str
    topics: tuple[str, ...]
    rules: tuple[Acl, ...]
    unread: tuple[str, ...]
    heard: Handle[RulesHeard] | None = None
    standstill_s: float = STANDSTILL_S
    election_s: float = ELECTION_S
    in_sync_s: float = IN_SYNC_S
    patience_s: float = STANDSTILL_S + ELECTION_S + SLOW_S

    @property
    def is_fenced(self) -> bool:
        """Whether applications are denied there."""
        return bool(self.rules)

    def perform(self, run: Running) -> Outcome[PartlyStanding]:
        """See `Effect`."""
        begun_at_s = run.port(Clock).now_s()
        with run.port(PartialClusters).left(self.cluster, READ_TIMEOUT_S) as reader:
            looks = _Looks(run, self, reader)
            is_done = run.await_true(looks.are_over, run.timeout_s, poll_s=_POLL_S)
            silent, brokers = sorted(reader.silent), set(reader.brokers)
        if run.is_cancelled():
            return Failed("interrupted")
        if not (is_done and looks.standing.is_at_rest(looks.begun_s)):
            return self._not_at_rest(run, looks, begun_at_s)
        problem = looks.problem() or self._unheard(run, brokers)
        if problem:
            return Unknown(problem)
        standing, beyond = looks.standing, looks.standing.beyond
        result = PartlyStanding(
            ends=standing.ends,
            starts={tp: log.start_offset for tp, log in looks.logs.items()},
            epochs=epochs_of(looks.logs),
            log_ends=standing.log_ends,
            unread={str(tp): why for tp, why in sorted(looks.unread.items())},
            silent=tuple(silent),
            is_fenced=self.is_fenced,
        )
        said = f"{len(looks.logs)} of {len(looks.partitions)} partitions of {self.cluster} received no record"
        said += "" if self.is_fenced else ", and no producer is denied there"
        said += f"; records above the high watermark: {beyond_in_words(beyond, _LISTED)}" if beyond else ""
        return Done(result, said + (f"; unknown: {named(looks.unread)}" if looks.unread else ""))

    def _not_at_rest(self, run: Running, looks: _Looks, begun_at_s: float) -> Failed:
        writing = looks.standing.written(looks.begun_s)
        if not writing:
            return Failed(
                f"replicas at {self.cluster} have come into sync, or become "
                "readable, only now: run the command again"
            )
        found = writers_of(run.port(Clusters), self.cluster, writing, begun_at_s)
        return Failed(
            f"still written at {self.cluster}: {named(found)}. Stop these "
            f"producers, or the brokers of {self.cluster}",
            {"still_written": {str(tp): said for tp, said in found.items()}},
        )

    def _unheard(self, run: Running, brokers: set[int]) -> str:
        """Who answers only now, and is not known to have heard of the rules."""
        late = set() if self.heard is None else brokers - set(run.of(self.heard).heard)
        if not late:
            return ""
        unheard = run.port(Clusters).await_brokers(self.cluster, _HEARD_TIMEOUT_S, brokers=late)
        return (
            f"brokers that answer only now, and may not know the access rules yet: {unheard}"
            if unheard
            else ""
        )


class _Looks:
    """Look after look at what an effect waits for. `begun_s`: when the last one began."""

    def __init__(self, run: Running, awaited: AwaitPartStanding, reader: PartialLook) -> None:
        topology = run.port(Topology)
        known = [(name, topology.topic(name, awaited.home)) for name in awaited.topics]
        self.partitions = tuple(
            TopicPartition(name, number)
            for name, topic in known
            if topic is not None
            for number in range(topic.partitions)
        )
        self.standing = Standstill(awaited.standstill_s)
        self.logs: dict[TopicPartition, LogEnd] = {}
        self.unread: dict[TopicPartition, str] = {}
        self._now_s = run.port(Clock).monotonic_s
        self.begun_s = self._first_s = self._now_s()
        self._reader = reader
        self._is_fenced = awaited.is_fenced
        self._planned = set(awaited.unread)
        self._patience_s = awaited.election_s
        self._written_s = awaited.patience_s
        # Without a controller no replica leaves those in sync.
        self._in_sync_s = awaited.in_sync_s if awaited.is_fenced else awaited.election_s

    def are_over(self) -> bool:
        """Look once more: whether all stands still, or what is missing was waited for long enough."""
        # A look takes its time: nothing is known to stand still from before it, or until after it.
        self.begun_s = self._now_s()
        found = self._reader.partitions(self.partitions, anew=True)
        self.logs = {tp: place.log for tp, place in found.items() if place.log is not None}
        self.unread = {tp: place.problem for tp, place in found.items() if place.log is None}
        self.standing.look(self._reaches(), self._now_s())
        waited_s = self.begun_s - self._first_s
        if not self.standing.is_at_rest(self.begun_s):
            return waited_s > self._written_s and bool(self.standing.written(self.begun_s))
        if waited_s < self._patience_s and (self._is_unread_waited_for or not self._are_all_told):
            return False
        return not self.standing.beyond or waited_s >= self._in_sync_s

    @property
    def _is_unread_waited_for(self) -> bool:
        return not self.logs or any(self._is_fenced or str(tp) not in self._planned for tp in self.unread)

    @property
    def _are_all_told(self) -> bool:
        return len(self.standing.log_ends) == len(self.logs)

    def _reaches(self) -> dict[TopicPartition, LogReach]:
        """How far each log reaches; where nobody tells its end, at least how far it can be read."""
        told: Mapping[TopicPartition, LogReach | ClusterError] = self._reader.reaches(self.logs)
        reaches = {}
        for tp, log in self.logs.items():
            said = told[tp]
            reaches[tp] = LogReach(log.end_offset) if isinstance(said, ClusterError) else said
        return reaches

    def problem(self) -> str:
        """Why what was seen is too little to go on with; empty if it is not."""
        if not self.logs and not self._is_fenced:
            return (
                f"no log can be read, so whether records are written is unknown: {named(self.unread)}. "
                "Stop the brokers, then use --attest-down"
            )
        new = {tp: why for tp, why in self.unread.items() if str(tp) not in self._planned}
        if new:
            return (
                f"partitions that could be read when the plan was made, and cannot any more: {named(new)}. "
                "Run the command again for a new plan"
            )
        return ""
