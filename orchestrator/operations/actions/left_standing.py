"""Seeing that what can be read of a sick cluster stands still, and how much of it nobody can read yet."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.engine import Results, StepOutcome
from orchestrator.errors import ClusterError
from orchestrator.moves.standstill import writers_of
from orchestrator.operations.actions.declaring import look
from orchestrator.operations.actions.leaving import named
from orchestrator.operations.actions.leaving_rules import READ_TIMEOUT_S
from orchestrator.operations.left import LeftReader
from orchestrator.operations.session import Session
from orchestrator.planning.offsets_json import offsets_to_json
from orchestrator.planning.plan import Step
from orchestrator.planning.positions import source_partitions
from orchestrator.planning.standstill import Standstill, beyond_in_words
from orchestrator.values import LogEnd, LogReach, TopicPartition

_LISTED = 4
_POLL_S = 0.3
_HEARD_TIMEOUT_S = 5.0


@look
def await_left_standing(session: Session, step: Step, results: Results) -> StepOutcome:
    """Every log that can be read stands still for a while; what cannot be read is unknown, by partition.

    New leaders are waited for a moment where there is a controller, and so is what the plan could read, and
    anything at all: what nobody has looked at does not stand still. A replica that hangs is waited for until
    it is out of sync, if somebody is there to find it so; what leaders then still hold beyond what can be
    read is said, and the account counts it. What still advances is named. A broker that answers only now has
    to have heard of the rules as well.
    """
    cluster, begun_at_s = str(step.arguments["cluster"]), session.clock.now_s()
    with LeftReader(session.servers, session.topology, cluster, READ_TIMEOUT_S) as reader:
        looks = _Looks(session, step, reader)
        is_done = session.await_true(looks.are_over, step.timeout_s, poll_s=_POLL_S)
        silent, brokers = sorted(reader.silent), set(reader.brokers)
    if session.is_cancelled():
        return StepOutcome("failed", "interrupted")
    if not (is_done and looks.standing.is_at_rest(looks.begun_s)):
        return _not_at_rest(session, cluster, looks, begun_at_s)
    problem = looks.problem() or _unheard(session, cluster, brokers, results)
    if problem:
        return StepOutcome("unknown", problem)
    standing, beyond = looks.standing, looks.standing.beyond
    result = {
        "ends": offsets_to_json(standing.ends),
        "starts": offsets_to_json({tp: log.start_offset for tp, log in looks.logs.items()}),
        "log_ends": offsets_to_json(standing.log_ends),
        "unread": {str(tp): why for tp, why in sorted(looks.unread.items())},
        "silent": silent,
        "fenced": looks.is_fenced,
    }
    said = f"{len(looks.logs)} of {len(looks.partitions)} partitions stand still"
    said += "" if looks.is_fenced else ", and nobody is kept from writing"
    said += f"; records that nobody can read yet: {beyond_in_words(beyond, _LISTED)}" if beyond else ""
    return StepOutcome("ok", said + (f"; unknown: {named(looks.unread)}" if looks.unread else ""), result)


class _Looks:
    """Look after look at what a step waits for. `begun_s`: when the last one began."""

    def __init__(self, session: Session, step: Step, reader: LeftReader) -> None:
        self.partitions = source_partitions(session.topology, session.estate.mirror)
        self.is_fenced = bool(step.arguments["rules"])
        self.standing = Standstill(float(step.arguments["standstill_s"]))
        self.logs: dict[TopicPartition, LogEnd] = {}
        self.unread: dict[TopicPartition, str] = {}
        self._now_s = session.clock.monotonic_s
        self.begun_s = self._first_s = self._now_s()
        self._reader = reader
        self._planned = set(step.arguments.get("unread", ()))
        self._patience_s = float(step.arguments["election_s"])
        # A plan of an earlier version has one time for all.
        self._written_s = float(step.arguments.get("patience_s", step.timeout_s))
        in_sync_s = float(step.arguments.get("in_sync_s", self._patience_s))
        # Without a controller no replica leaves those in sync.
        self._in_sync_s = in_sync_s if self.is_fenced else self._patience_s

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
        return not self.logs or any(self.is_fenced or str(tp) not in self._planned for tp in self.unread)

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
        if not self.logs and not self.is_fenced:
            return (
                f"no log can be read, so nobody knows whether it is written: {named(self.unread)}. "
                "Once its brokers are stopped: --attest-down"
            )
        new = {tp: why for tp, why in self.unread.items() if str(tp) not in self._planned}
        if new:
            return (
                f"no log can be read of what could be when this was planned: {named(new)}. "
                "A new plan judges what is known of it"
            )
        return ""


def _not_at_rest(session: Session, cluster: str, looks: _Looks, begun_at_s: float) -> StepOutcome:
    writing = looks.standing.written(looks.begun_s)
    if not writing:
        return StepOutcome("failed", "replicas have come into sync, or into sight, only now: run it again")
    found = writers_of(session, cluster, writing, begun_at_s)
    return StepOutcome(
        "failed",
        f"still written: {named(found)}. Stop who writes there, or its brokers",
        {"still_written": {str(tp): said for tp, said in found.items()}},
    )


def _unheard(session: Session, cluster: str, brokers: set[int], results: Results) -> str:
    """Who answers only now, and is not known to have heard of the rules."""
    late = brokers - set(results.get("deny", {}).get("heard", brokers))
    unheard = session.await_brokers(cluster, _HEARD_TIMEOUT_S, brokers=late) if late else ""
    return f"answers by now, and is not known to have heard of the rules: {unheard}" if unheard else ""
