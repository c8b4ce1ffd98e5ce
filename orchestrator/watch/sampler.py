"""Sampling rounds: everything that a failover needs from the source, or the word that it is away."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from orchestrator.adapters.clock import SystemClock
from orchestrator.ports.clock import Times
from orchestrator.ports.hosts import Listening
from orchestrator.snapshot.samples import Cause, group_subject, topic_subject
from orchestrator.values import TopicPartition
from orchestrator.watch.asking import Asked, Units
from orchestrator.watch.logs import Logs, LogsRead
from orchestrator.watch.recorder import SourceReading
from orchestrator.watch.source import Answer, Ends, Groups, Inventory, Positions, Source

_PROBE_EVERY_S = 0.2
# While brokers take connections and answer nothing: later by a share of the time for which they do.
_PROBE_LATER, _PROBE_AT_MOST_S = 0.25, 30.0
_GRACE_S = 0.2
_OTHER_GROUPS_EVERY_S = 15.0
_STUCK_AFTER_S = 3.0
# A part of the source that stays silent is asked by a new client now and then, less and less often.
_NEW_CLIENT_S, _NEW_CLIENT_AT_MOST_S = 10.0, 120.0
# A question lives on when its round is over: an answer that comes late still says what held when it was put.
_LATE_S = 5.0
# What a busy machine gets through: 10,000 partitions took 2 to 4 s of two cores that had other work.
_PER_S = 4_000
_NAMED = 5


@dataclass(slots=True)
class _Got:
    """What came in one round: positions, for how many leaders the log ends, and problems by what was asked.

    `late`: to questions of earlier rounds, with the time of the question.
    """

    ends: int = 0
    positions: dict[str, Mapping[TopicPartition, int]] = field(default_factory=dict)
    late: dict[str, Asked] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


class SourceSampler:
    """Samples one source cluster, in rounds that end as soon as it is clear how they end.

    At once where every broker refuses connections; after `timeout_s` where none takes one; after
    `patience_s` where some do and do not answer: frozen, or only busy, or asked for thousands of partitions,
    for which they get longer. A busy source that was taken for a lost one would leave no samples just when
    everything is slow. Who was silent the last time is asked again and not waited for.

    `topics` are the mirrored source topics, `groups` the consumer groups that the topology names; other
    groups with positions in these topics are found by asking now and then. `copies` are what a failback
    has brought there: of these only positions are sampled.
    """

    def __init__(
        self,
        source: Source,
        bootstrap: Iterable[str],
        topics: Iterable[str],
        groups: Iterable[str],
        *,
        copies: Iterable[str] = (),
        timeout_s: float = 1.0,
        patience_s: float = 2.5,
        clock: Times | None = None,
    ) -> None:
        self._source = source
        self._clock = clock or SystemClock()
        self._logs = Logs(topics, bootstrap)
        self._read_topics = frozenset(topics) | frozenset(copies)
        self._named = frozenset(groups)
        self._found: set[str] = set()
        self._scouts: frozenset[str] = frozenset()
        self._timeout_s, self._patience_s = timeout_s, patience_s
        self._groups, self._leaders = Units[str](), Units[int]()
        self._inventory, self._listing = Units[str](), Units[str]()
        self._listing_due = 0.0
        self._question = self._round = 0
        self._got = _Got()
        self._cluster_id = ""
        self._stuck_since: float | None = None
        self._silent_since: float | None = None
        self._new_client_s = _NEW_CLIENT_S
        self._slow_s = 0.0
        self._mute_since_s: float | None = None
        self._probe_due_s = 0.0

    def expect(self, groups: Iterable[str]) -> None:
        """Ask for these as well, though they were not found yet: earlier watchers knew of them."""
        self._found |= set(groups) - self._named

    def warm_up(self, timeout_s: float) -> None:
        """Connect, so that the first round is not taken for a failure. Nothing is raised."""
        if self._listening() != "refused":
            self._source.warm_up(timeout_s)

    def close(self) -> None:
        """Wait for no question that is still under way."""
        self._source.close()

    def sample(self) -> SourceReading:
        """One round. Never raises for anything that the source does."""
        self._round += 1
        self._got = _Got()
        begun = Asked(self._clock.now_s(), self._clock.monotonic_s(), self._round)
        if self._listening() == "refused":
            reading = self._failed(begun, "refused", "every broker refuses connections")
        else:
            self._ask(begun)
            self._gather(begun)
            reading = self._reading(begun)
        self._reconnect_if_stuck(reading)
        return replace(reading, steady_s=begun.steady_s + reading.ended_at_s - begun.at_s)

    @property
    def _patience_now_s(self) -> float:
        return self._patience_s + (self._logs.count + len(self._found) + len(self._named)) / _PER_S

    def _ask(self, asked: Asked) -> None:
        """Put every question that is due and not under way."""
        timeout_s = self._patience_now_s + _LATE_S
        self._ask_inventory(asked)
        if self._listing_due <= asked.steady_s and self._listing.free([""]):
            self._listing.ask([""], self._next_question(), asked)
            self._source.ask_groups(self._question, timeout_s)
        self._ask_ends(asked)
        groups = self._groups.free(self._expected | self._scouts)
        self._scouts = frozenset()
        if groups:
            self._groups.ask(groups, self._next_question(), asked)
            self._source.ask_positions(self._question, groups, self._read_topics, timeout_s)

    def _ask_inventory(self, asked: Asked) -> None:
        if self._logs.is_inventory_due(asked.steady_s) and self._inventory.free([""]):
            self._inventory.ask([""], self._next_question(), asked)
            self._source.ask_inventory(self._question, self._logs.topics, self._patience_now_s)

    def _ask_ends(self, asked: Asked) -> None:
        by_leader = self._logs.by_leader()
        for leader in self._leaders.free(by_leader):
            self._leaders.ask([leader], self._next_question(), asked)
            timeout_s = self._patience_now_s + _LATE_S
            self._source.ask_ends(self._question, leader, by_leader[leader], timeout_s)

    def _next_question(self) -> int:
        self._question += 1
        return self._question

    def _listening(self) -> Listening:
        """Whether a broker takes connections; while none answers, its word that it does holds for a while.

        The machine of a frozen broker keeps some fifty connections for it, and takes no more: soon it would
        look like one that is gone to whoever has to tell the two apart.
        """
        now_s = self._clock.monotonic_s()
        if self._mute_since_s is not None and now_s < self._probe_due_s:
            return "yes"
        found = self._source.listening(self._logs.addresses)
        if found != "yes":
            self._mute_since_s = None
            return found
        self._mute_since_s = now_s if self._mute_since_s is None else self._mute_since_s
        later_s = _PROBE_LATER * (now_s - self._mute_since_s)
        self._probe_due_s = now_s + min(max(_PROBE_EVERY_S, later_s), _PROBE_AT_MOST_S)
        return found

    def _gather(self, begun: Asked) -> None:
        """Take answers until all have come that can be expected, or it is clear that they will not."""
        while True:
            waited_s = self._clock.monotonic_s() - begun.steady_s
            limit_s = self._wait_at_most_s()
            if not self._got.positions and not self._got.ends:
                limit_s = max(limit_s, self._wait_for_any_s())
            if waited_s >= limit_s:
                break
            answer = self._source.next(min(_PROBE_EVERY_S, limit_s - waited_s))
            if answer is not None:
                self._take(answer, begun)
                continue
            found = self._listening()
            if found == "refused" or (found == "silent" and waited_s >= self._timeout_s):
                break
        while (answer := self._source.next(0.0)) is not None:
            self._take(answer, begun)

    def _wait_at_most_s(self) -> float:
        """How long a round may last, by who still owes an answer to its own questions."""
        asked = (self._groups, self._leaders)
        if any(units.is_awaited(self._round) for units in asked):
            return self._patience_now_s
        if self._logs.needs_inventory and self._inventory.owes(self._round):
            return self._patience_now_s
        return _GRACE_S if any(units.owes(self._round) for units in asked) else 0.0

    def _wait_for_any_s(self) -> float:
        """How long for any answer at all, before a round says that there was none."""
        is_any_due = self._groups.is_awaited() or self._leaders.is_awaited()
        return max(self._patience_now_s, self._slow_s) if is_any_due else 0.0

    def _take(self, answer: Answer, begun: Asked) -> None:
        if isinstance(answer, Positions):
            self._take_positions(answer)
        elif isinstance(answer, Ends):
            self._take_ends(answer)
            self._ask_inventory(begun)
        elif isinstance(answer, Inventory):
            self._take_inventory(answer)
            self._ask_inventory(begun)
            self._ask_ends(begun)
        else:
            self._take_groups(answer)

    def _take_positions(self, answer: Positions) -> None:
        for group, offsets in answer.offsets.items():
            asked = self._groups.answered(group, answer.question)
            if asked is None:
                continue
            if group not in self._named:
                (self._found.add if offsets else self._found.discard)(group)
            self._got.positions[group] = offsets
            self._note_pace(asked)
            if asked.round != self._round:
                self._got.late[group_subject(group)] = asked
        for group, problem in answer.problems.items():
            if self._groups.answered(group, answer.question) is not None and group in self._expected:
                self._got.problems[group] = f"group {group}: {problem}"
        if answer.is_last:
            self._groups.over(answer.question)

    def _take_ends(self, answer: Ends) -> None:
        if answer.is_silent:
            self._leaders.over(answer.question)
            return
        asked = self._leaders.answered(answer.leader, answer.question)
        if asked is None:
            return
        if answer.problem:
            self._got.problems["log ends"] = f"log ends: {answer.problem}"
            self._logs.refresh(asked.steady_s + 1.0)
        else:
            self._got.ends += 1
            self._note_pace(asked)
        self._logs.take_ends(answer.ends, asked, self._clock.monotonic_s())

    def _note_pace(self, asked: Asked) -> None:
        """Where everything takes long, a round without any answer has to be waited for as long as that."""
        self._mute_since_s = None
        took_s = self._clock.monotonic_s() - asked.steady_s
        self._slow_s = min(1.5 * took_s, self._patience_now_s + _LATE_S)

    def _take_inventory(self, answer: Inventory) -> None:
        asked = self._inventory.answered("", answer.question)
        if asked is None:
            return
        if answer.problem:
            self._got.problems["topics"] = f"topics: {answer.problem}"
            self._logs.inventory_failed(asked)
        else:
            self._cluster_id = answer.cluster_id
            self._logs.take_inventory(answer.topics, answer.addresses, asked)

    def _take_groups(self, answer: Groups) -> None:
        asked = self._listing.answered("", answer.question)
        if asked is None:
            return
        self._scouts = answer.groups - self._expected
        if not answer.problem:
            self._found &= answer.groups
            self._listing_due = asked.steady_s + _OTHER_GROUPS_EVERY_S

    @property
    def _expected(self) -> frozenset[str]:
        return self._named | self._found

    def _reading(self, begun: Asked) -> SourceReading:
        ended_s = self._clock.monotonic_s()
        got, logs = self._got, self._logs.read(self._round, ended_s)
        late = {**got.late, **logs.late}
        on_time = {group for group in got.positions if group_subject(group) not in late}
        silent = self._expected - on_time
        missed = logs.missed | {group_subject(group) for group in silent}
        if missed and not logs.ends and not got.positions:
            return self._failed(begun, *self._why_failed(begun))
        is_only_late = not on_time and not any(topic_subject(tp.topic) not in late for tp in logs.ends)
        # A round that got nothing but late answers tells of the time at which those were asked for.
        newest = max(late.values(), key=lambda asked: asked.steady_s, default=begun)
        told = newest if is_only_late and late else begun
        return SourceReading(
            begun_at_s=_at_s(told, begun),
            ended_at_s=self._ended_at_s(begun),
            outcome="partial" if missed else "good",
            reason=self._why_partial(logs, silent - got.problems.keys()),
            ends_at_s=(begun.at_s, self._ended_at_s(begun)) if logs.is_any_on_time else None,
            ends=logs.ends,
            topic_ids=logs.topic_ids,
            positions=got.positions,
            missed=frozenset(missed),
            late={subject: _at_s(asked, begun) for subject, asked in late.items()},
            cluster_id=self._cluster_id,
        )

    def _ended_at_s(self, begun: Asked) -> float:
        """By the clock as it was at the round's begin: nobody sets that in the middle of a round."""
        return begun.at_s + self._clock.monotonic_s() - begun.steady_s

    def _why_partial(self, logs: LogsRead, silent: Collection[str]) -> str:
        reasons = sorted(set(self._got.problems.values()))
        if logs.missed and "log ends" not in self._got.problems:
            reasons.append("log ends: no answer in time")
        if silent:
            names = ", ".join(sorted(silent)[:_NAMED]) + (", …" if len(silent) > _NAMED else "")
            reasons.append(
                f"positions of {len(silent)} of {len(self._expected)} groups: no answer in time ({names})"
            )
        return "; ".join(reasons)

    def _why_failed(self, begun: Asked) -> tuple[Cause, str]:
        """A source that died during the round is known by its refusals, not by what it left unsaid."""
        if self._listening() == "refused":
            return "refused", "every broker refuses connections"
        problems = sorted(set(self._got.problems.values()))[:_NAMED]
        if self._got.problems.keys() - {"topics"}:
            return "error", "; ".join(problems)
        waited_s = self._clock.monotonic_s() - begun.steady_s
        return "silent", "; ".join([f"no answer within {waited_s:.1f} s", *problems])

    def _failed(self, begun: Asked, cause: Cause, reason: str) -> SourceReading:
        return SourceReading(
            begun_at_s=begun.at_s,
            ended_at_s=self._ended_at_s(begun),
            outcome="failed",
            cause=cause,
            reason=reason,
        )

    def _reconnect_if_stuck(self, reading: SourceReading) -> None:
        """Give up connections that have brought nothing for a while, now and then for silent brokers.

        librdkafka may need minutes to recover from a broker that was frozen for seconds and answers any
        new client at once; seen with 2.16 and SIGSTOP. A new client costs a second without samples, so where
        only a part is silent it is tried less and less often.
        """
        now_s = self._clock.monotonic_s()
        is_stuck = reading.outcome == "failed" and reading.cause != "refused" and not self._source.is_starting
        is_silent = bool(self._groups.silent or self._leaders.silent)
        self._stuck_since = (
            (self._stuck_since if self._stuck_since is not None else now_s) if is_stuck else None
        )
        self._silent_since = (
            (self._silent_since if self._silent_since is not None else now_s) if is_silent else None
        )
        if not is_silent:
            self._new_client_s = _NEW_CLIENT_S
        if self._stuck_since is not None and now_s - self._stuck_since >= _STUCK_AFTER_S:
            self._reset()
        elif self._silent_since is not None and now_s - self._silent_since >= self._new_client_s:
            self._new_client_s = min(2 * self._new_client_s, _NEW_CLIENT_AT_MOST_S)
            self._reset()

    def _reset(self) -> None:
        self._source.reset()
        for units in (self._groups, self._leaders, self._inventory, self._listing):
            units.forget()
        self._stuck_since = self._silent_since = None
        self._logs.refresh()
        self._listing_due = 0.0


def _at_s(asked: Asked, now: Asked) -> float:
    """When that was asked, by the clock as it is now: it may have been set since."""
    return now.at_s - (now.steady_s - asked.steady_s)
