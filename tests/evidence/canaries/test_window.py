"""The part of a canary's ledgers by which a run is judged: where it begins, where it ends, what is in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.evidence.canaries.window import (
    beginning,
    begun_ms,
    first_given,
    processed_within,
    reached,
    sends_after,
    sends_before,
)
from orchestrator.values import TopicPartition

LOG = TopicPartition("canary", 0)


def ack(sequence: int, sent_ms: int, *, offset: int = 0, resent: int = 0) -> str:
    """An acknowledgement, as the producer writes it down."""
    return f"ack,{sequence},,canary,0,{offset},{sent_ms},{sent_ms + 5},{resent},,.\n"


def intent(first: int, until: int, *, resent: int = 0) -> str:
    """An announcement."""
    return f"intent,{first},{until},,,,,1000,{resent},,.\n"


def test_it_begins_at_a_number_whose_predecessor_is_known_and_older() -> None:
    """Neither at one of the same moment, nor behind a gap, nor before the time that was asked for."""
    lines = [
        intent(0, 10),
        ack(0, 1000),
        ack(1, 1100),
        ack(3, 1300),  # 2 timed out: nobody knows which side of the cut it is on
        ack(4, 1300),  # the same moment
        ack(5, 1301),  # too near
        ack(6, 1400),
    ]
    assert beginning(lines, 0) == (1, 1100)
    assert beginning(lines, 1101) == (6, 1400)
    assert beginning(lines, 1500) is None


def test_it_does_not_begin_among_what_was_sent_again() -> None:
    """Those bear a new time and an old number."""
    lines = [intent(3, 6, resent=1), intent(6, 9)]
    lines += [ack(3, 2000, resent=1), ack(4, 2010, resent=1), ack(5, 2020, resent=1)]
    lines += [ack(6, 2100), ack(7, 2200)]
    assert beginning(lines, 0) == (7, 2200)


def test_it_begins_where_announcements_are_known() -> None:
    """The first lines of a ledger that was cut back are answers to what it no longer has."""
    assert beginning([ack(7, 1000), ack(8, 1100), intent(9, 11), ack(9, 1200), ack(10, 1300)], 0) == (9, 1200)


def test_a_torn_line_says_nothing() -> None:
    """Not even where it begins."""
    torn = "ack,1,,canary,0,1,11"
    assert beginning([intent(0, 9), ack(0, 1000), torn], 0) is None
    assert list(sends_before([torn, intent(0, 9)[:-3]], 0)) == []


def test_what_was_written_behind_the_end_of_the_log_is_not_looked_at() -> None:
    """Neither missing nor strange nor open. A number without an answer stays announced: it may be there."""
    lines = [intent(5, 10), ack(5, 1000, offset=0), ack(7, 1200, offset=1), ack(8, 1300, offset=2)]
    kept = [tuple(line.split(",")[:3]) for line in sends_after(lines, {LOG: 2})]
    assert kept == [("intent", "5", "8"), ("intent", "9", "10"), ("ack", "5", ""), ("ack", "7", "")]
    assert list(sends_after([intent(5, 6), ack(5, 1000, offset=9)], {LOG: 2})) == []


def test_refusals_of_the_fence_that_ended_the_life_are_its_own() -> None:
    """A later move denied the producer; what was refused long before that is this life's."""
    refused = [
        f"failed,{n},,,,,1,{at_ms},0,TOPIC_AUTHORIZATION_FAILED,.\n" for n, at_ms in ((2, 3000), (3, 9000))
    ]
    lines = [intent(0, 5), ack(0, 1000), refused[0], ack(1, 9500), refused[1]]
    assert [line.split(",")[1] for line in sends_after(lines, {}, was_left=True) if "failed" in line] == ["2"]
    assert [line.split(",")[1] for line in sends_after(lines, {}) if "failed" in line] == ["2", "3"]


def test_comparisons_of_clocks_stay() -> None:
    """They have no number of a record."""
    clock = "clock,,12,,,62000,,1001,,,."
    assert list(sends_before([f"{clock}\n", intent(0, 3)], 5)) == [clock]
    assert list(sends_after([f"{clock}\n"], {})) == [clock]


def test_readers_are_cut_by_number_before_the_move_and_by_offset_after_it() -> None:
    """A record that its producer owed stands in the landing topic with an old number: it counts there."""
    before = ["canary,0,0,w,3,1,1000,.\n", "canary,0,1,w,4,1,1000,.\n"]
    assert len(list(processed_within(before, {"w": 4}, {}, {}))) == 1
    after = ["west.canary,0,9,w,3,1,1000,.\n", "canary,0,0,w,2,2,1000,.\n", "canary,0,1,w,9,2,1000,.\n"]
    kept = list(processed_within(after, {"w": 4}, {LOG: 1}, {LOG: 0}))
    assert kept == ["canary,0,0,w,2,2,1000,."]
    assert list(processed_within(after, {"w": 4}, {LOG: 2}, {LOG: 1})) == ["canary,0,1,w,9,2,1000,."]


def test_how_far_a_reader_is_and_when_a_writer_began() -> None:
    """The newest commit; the first line with a time."""
    lines = [
        "start,,,,1000,,.\n",
        "assigned,canary,0,4,1000,,.\n",
        "commit,canary,0,9,1000,,.\n",
        "commit,canary,0,",
    ]
    assert reached(lines) == {LOG: 9}
    assert begun_ms(["event,sequence\n", "start,0,,,,,,1234,,,.\n"]) == 1234
    assert begun_ms([]) is None


def test_where_a_reader_went_on_is_its_first_position_of_a_ledger_that_goes_back_so_far() -> None:
    """One that was cut back begins with something else, and tells nothing of it."""
    lines = ["start,,,,1000,,.\n", "assigned,canary,0,4,1000,,.\n", "assigned,canary,0,9,2000,,.\n"]
    unset = TopicPartition("canary", 1)
    assert first_given([*lines, "assigned,canary,1,,1000,,.\n"]) == {LOG: 4, unset: None}
    assert first_given(lines[1:]) is None
    assert first_given([]) is None


@dataclass
class History:
    """What one producer sent in one life: the log it made, and its ledger."""

    log: list[tuple[int, int]] = field(default_factory=list)
    ledger: list[str] = field(default_factory=list)


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Announced in blocks, sent in order, each arriving or not, answered or not."""
    made, number, now_ms, announced = History(), draw(st.integers(0, 5)), 1000, 0
    announced = number
    for _ in range(draw(st.integers(0, 40))):
        if number == announced:
            announced = number + draw(st.integers(1, 4))
            made.ledger.append(intent(number, announced))
        now_ms += draw(st.integers(0, 5))
        fate = draw(st.sampled_from(["acked", "acked", "acked", "unanswered", "failed"]))
        if fate == "acked" or (fate == "unanswered" and draw(st.booleans())):
            made.log.append((number, now_ms))
        if fate == "acked":
            made.ledger.append(ack(number, now_ms, offset=len(made.log) - 1))
        number += 1
    return made


@given(history=histories(), from_ms=st.integers(1000, 1200))
def test_the_log_from_that_time_on_is_the_ledger_from_that_number_on(history: History, from_ms: int) -> None:
    """Looked up by time, the log holds nothing that the cut ledger does not know, and all that it knows."""
    begin = beginning(history.ledger, from_ms)
    if begin is None:
        return
    # Kafka may look a millisecond earlier: a time is handed over as seconds.
    start = next(i for i, (_, sent_ms) in enumerate(history.log) if sent_ms >= begin.sent_ms - 1)
    there = {number for number, _ in history.log[start:]}
    cut = [line.split(",") for line in sends_before(history.ledger, begin.sequence)]
    acked = {int(fields[1]) for fields in cut if fields[0] == "ack"}
    announced = {
        number for fields in cut if fields[0] == "intent" for number in range(int(fields[1]), int(fields[2]))
    }
    assert acked <= there <= announced
    assert min(announced) == begin.sequence
