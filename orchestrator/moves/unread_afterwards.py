"""How much a consumer has unread, reads again and reads out of order in one topic after a move. Pure.

The figures are those of the predicted loss and re-read, and log ends and positions of the picture. Where a
log is written, or a consumer reads, until somebody is stopped, nobody knows beforehand what will be unread
then: that is None, and the reason says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from orchestrator.moves.foretold import Foretold
from orchestrator.moves.positions import TargetPosition
from orchestrator.moves.read_afterwards import Read, in_short
from orchestrator.moves.situation import Situation
from orchestrator.moves.way import Leg
from orchestrator.runs.afterwards import TopicRead
from orchestrator.values import LogEnd, TopicPartition

Bounds = Mapping[str, Mapping[str, int]]
"""By a topic's name at its home: records at least, expected and at most; what cannot be told is left out."""
Said = tuple[int | None, str]
"""A number, or None and why."""

_KEY = "at_most"


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """What else a plan predicts. `lost`, `late`: records of each topic; `accept_reread`: records that may be
    read again where a place answers, as a person accepts.
    """

    lost: Bounds
    late: Bounds
    accept_reread: int = 0


def figures_of(s: Situation, read: Read, known: Foretold, foreseen: Foreseen, newer_in: str) -> TopicRead:
    """A topic that a consumer reads, with its figures. `newer_in`: see `TopicRead`."""
    return _Figures(s, read, known, foreseen, newer_in).row()


@dataclass(frozen=True, slots=True)
class _Figures:
    s: Situation
    read: Read
    known: Foretold
    foreseen: Foreseen
    newer_in: str

    def row(self) -> TopicRead:
        s, read = self.s, self.read
        late, why_late = self._out_of_order()
        plain = TopicRead(
            topic=read.topic,
            begins=read.begins,
            left=read.left,
            route=in_short(read.route) if read.left else "",
            newer_in=self.newer_in,
            out_of_order_at_most=late,
        )
        if read.topic in self.known.kept:
            reason = "its group reads it there already, and goes on where it is"
            return replace(plain, begins="own-position", left="", route="", reread_at_most=0, reason=reason)
        if read.begins == "own-position":
            return replace(plain, reread_at_most=0, reason=f"its position at {s.entered} is read in the move")
        if read.begins == "fenced-end":
            why = self._written_by_others()
            at_most = None if why else 0
            return replace(plain, unread_now=0, unread_at_most=at_most, reread_at_most=0, reason=why)
        if read.begins == "log-start":
            return self._from_the_start(plain)
        if self._is_brought_back:
            reason = f"its position in {read.left} is led there by the map of the way back, read in the move"
            return replace(plain, reason=reason)
        now, why_now = self._unread_now()
        at_most, why = (None, why_now) if now is None else self._unread_at_most(now)
        again, why_again = self._again()
        return replace(
            plain,
            unread_now=now,
            unread_at_most=at_most,
            reread_at_most=again,
            reread_if_source_returns=self._again_if_source_returns(),
            reason="; ".join(dict.fromkeys(filter(None, (why, why_again, why_late)))),
        )

    @property
    def _is_brought_back(self) -> bool:
        """Whether a landing topic is gone on in by the map of a way back: the picture has none."""
        route = self.read.route
        return len(route) == 1 and route[0].is_inverse and route[0].mirror.is_back

    @property
    def _here(self) -> list[TopicPartition]:
        return [TopicPartition(self.read.left, number) for number in range(self.read.partitions)]

    @property
    def _there(self) -> list[TopicPartition]:
        return [TopicPartition(self.read.topic, number) for number in range(self.read.partitions)]

    @property
    def _placed(self) -> dict[TopicPartition, TargetPosition]:
        """Where its position is at the place entered, as the maps are now."""
        return {
            row.target_partition: row
            for row in self.known.placed
            if (row.topic, row.target_topic) == (self.read.left, self.read.topic)
        }

    def _written_by_others(self) -> str:
        s, name = self.s, self.read.name
        if s.topology.topic(name, s.entered) is not None:
            return f"others write {name} at {s.entered} meanwhile"
        if name in s.way.written_early and s.way.reach != "whole":
            return f"producers that move themselves may have written {name} at {s.entered} since the loss"
        state = s.seen.coordination.value
        if state is None:
            return f"whether anybody writes {name} at {s.entered} is not known"
        moved = (known.cluster for (_, topic), known in state.primaries.items() if topic == name)
        return f"{name} is written at {s.entered} already" if s.entered in moved else ""

    def _from_the_start(self, plain: TopicRead) -> TopicRead:
        logs = self.s.target.log_ends.value or {}
        there = [logs[tp] for tp in self._there if tp in logs]
        if len(there) < self.read.partitions:
            return replace(
                plain, reason=f"the log of {self.read.topic} at {self.s.entered} was not looked at"
            )
        now = sum(log.end_offset - log.start_offset for log in there)
        why = self._written_by_others()
        at_most = None if why else now
        return replace(plain, unread_now=now, unread_at_most=at_most, reread_at_most=now, reason=why)

    def _unread_now(self) -> Said:
        """By its own log at the place left where that answers; else behind its place at the one entered."""
        s, read = self.s, self.read
        there = self._behind({tp: row.target_offset for tp, row in self._placed.items()}, self._there)
        is_at_origin = s.case != "back" and bool(read.route) and read.route[-1].is_inverse
        if there is not None and (s.way.reach != "whole" or is_at_origin):
            return there, ""
        here, logs = None, s.source.log_ends.value
        if self.known.committed is not None and logs is not None and all(tp in logs for tp in self._here):
            starts = {tp: self.known.committed.get(tp, logs[tp].start_offset) for tp in self._here}
            here = _sum_behind(starts, logs)
        found = there if here is None else here
        return found, "" if found is not None else f"where it stands in {read.left} at {s.left} is not known"

    def _behind(
        self, offsets: Mapping[TopicPartition, int | None], wanted: list[TopicPartition]
    ) -> int | None:
        """Offsets behind these at the place entered; None where one of them, or its log, is not known."""
        logs = self.s.target.log_ends.value or {}
        known = {tp: at for tp in wanted if (at := offsets.get(tp)) is not None and tp in logs}
        return _sum_behind(known, logs) if wanted and len(known) == len(wanted) else None

    def _unread_at_most(self, now: int) -> Said:
        """Once it begins there, from what is unread now."""
        s, read = self.s, self.read
        if s.case == "gone":
            return self._of_a_lost_place(now)
        if self._brings_what_was_lost:
            # Nothing is added to the copies but the tail that comes back, and what it reads there is less.
            late, why = self._back_late()
            return (None, why) if late is None else (now + late + self.foreseen.accept_reread, "")
        if s.case == "partial":
            return None, f"what answers at {s.left} is written and read until it is fenced"
        if read.name in s.way.topics:
            return None, "producers write and it reads until they are stopped"
        return None, f"it reads until it is stopped, and {read.topic} goes on being written"

    def _of_a_lost_place(self, now: int) -> Said:
        s, read = self.s, self.read
        if not read.route or read.route[-1].is_inverse:
            return None, f"{read.topic} goes on being written at {s.entered}"
        mirror = read.route[-1].mirror
        if read.route != (Leg(mirror=mirror),) or mirror not in s.way.drains:
            return None, f"what the mirror {mirror} brings meanwhile is not known"
        if s.target.stands_still(self._there) and s.copying.states.value is not None:
            return now, ""
        lost = self.foreseen.lost.get(read.name, {}).get(_KEY)
        if lost is None:
            return None, f"how much of {read.name} is still under way to {s.entered} is not known"
        return now + lost, ""

    def _again(self) -> Said:
        read = self.read
        if self.s.way.reach == "whole":
            # What comes back late it may have read before the loss.
            late, why = self._back_late() if self._brings_what_was_lost else (0, "")
            return (None, why) if late is None else (late + self.foreseen.accept_reread, "")
        found = self.known.again.get(read.left)
        if found is None:
            return None, f"how much it reads again of {read.left} cannot be told from what was sampled"
        return found, ""

    def _again_if_source_returns(self) -> int | None:
        """What it may have read of the tail that comes late, or has surely read of what never came."""
        s, read = self.s, self.read
        if s.way.reach == "whole" or s.way.main is None or read.route != (Leg(mirror=s.feed),):
            return sum(row.never_came for row in self._placed.values())
        return self._late

    @property
    def _late(self) -> int | None:
        """Records of the topic that come late, at most; None where that is not known."""
        return self.foreseen.late.get(self.read.name, {}).get(_KEY)

    def _back_late(self) -> Said:
        """Those, where they come in the move."""
        late = self._late
        return late, "" if late is not None else f"how much of {self.read.name} comes back late is not known"

    @property
    def _brings_what_was_lost(self) -> bool:
        """Whether it goes home to a topic whose tail comes back in the move."""
        route = self.read.route
        is_own = len(route) == 1 and route[0].is_inverse
        return self.s.case == "back" and is_own and self.read.name in self.s.way.topics

    def _out_of_order(self) -> Said:
        """Only what comes late, where newer records are read elsewhere: a log alone is in order."""
        s, read = self.s, self.read
        is_planned = s.way.reach == "whole" and s.case != "back"
        is_late_here = read.topic == read.name if s.case == "back" else bool(read.left)
        if not self.newer_in or is_planned or not is_late_here:
            return 0, ""
        late = self._late
        return late, "" if late is not None else f"how much of {read.name} comes late is not known"


def _sum_behind(offsets: Mapping[TopicPartition, int], logs: Mapping[TopicPartition, LogEnd]) -> int:
    return sum(max(0, logs[tp].end_offset - max(at, logs[tp].start_offset)) for tp, at in offsets.items())
