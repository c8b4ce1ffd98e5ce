"""The guard of one broker, event by event."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.guards.boot_guard import BootGuardStatus
from orchestrator.guards.guard_events import (
    Ask,
    Begun,
    Ended,
    Event,
    Exit,
    Heard,
    Instruction,
    Kill,
    LeaveTurn,
    Listens,
    Log,
    PassOn,
    Saying,
    Start,
    Stop,
    TakeTurn,
    Ticked,
    Told,
    TurnAnswered,
)
from orchestrator.guards.guarding import GOOD_FOR_S, SETTLES_AFTER_S, Guard, decide

OPEN = BootGuardStatus(True, "nothing has led away")
CLOSED = BootGuardStatus(False, "east has taken over")
OPENING = Saying("opening", OPEN.reason)


NEW = Guard()


def after(*events: Event, guard: Guard = NEW) -> tuple[Guard, list[Instruction]]:
    """The guard after all of these, and what the last one asked for, without lines for the log."""
    done: Iterable[Instruction] = ()
    for event in events:
        guard, done = decide(guard, event)
    return guard, [instruction for instruction in done if not isinstance(instruction, Log)]


STARTED = (Begun(0.0, 10.0), Heard(0.1, OPEN), Heard(0.2, OPEN, said=OPENING))
SHUT = (Begun(0.0, 10.0), Heard(0.1, CLOSED))


def settled() -> Guard:
    guard, _ = after(*STARTED, Listens(3.0), Ticked(3.1 + SETTLES_AFTER_S))
    guard, _ = after(Heard(3.3 + SETTLES_AFTER_S, OPEN, said=OPENING), guard=guard)
    return guard


def test_it_says_that_it_opens_before_it_is_told_that_it_may() -> None:
    """An answer from before it was said does not count."""
    assert after(Begun(0.0, 10.0))[1] == [Ask(None)]
    guard, done = after(Begun(0.0, 10.0), Heard(0.1, OPEN))
    assert done == [Ask(OPENING)]
    assert after(Heard(0.2, OPEN, said=OPENING), guard=guard)[1] == [Start(is_open=True)]
    assert after(Heard(0.2, OPEN, said=None), guard=guard)[1] == [Ask(OPENING)]
    assert after(Heard(0.2, CLOSED, said=OPENING), guard=guard)[1][0] == Start(is_open=False)


def test_an_answer_that_comes_late_opens_nothing() -> None:
    """What was asked for longer ago than it counts is as good as no answer."""
    guard, done = after(*STARTED[:2], Heard(0.1 + GOOD_FOR_S, OPEN, said=OPENING))
    assert (guard.phase, done[0]) == ("closed", Start(is_open=False))
    assert "too late" in guard.reason


def test_nobody_answers_at_the_start() -> None:
    """It is asked until the time is over, then it starts closed."""
    guard, done = after(Begun(0.0, 10.0), Heard(3.0, None, "no answer"))
    assert done == []
    assert after(Ticked(3.6), guard=guard)[1] == [Ask(None)]
    guard, done = after(Heard(10.5, None, "no answer"), guard=guard)
    assert done[0] == Start(is_open=False)
    assert guard.says == Saying("closed", "no answer")


def test_told_closed_while_it_starts_open_it_is_killed_and_started_closed() -> None:
    """A failover has begun meanwhile. That it is closed is said when it is."""
    guard, _ = after(*STARTED, Ticked(1.3))
    guard, done = after(Heard(1.4, CLOSED, said=OPENING), guard=guard)
    assert done == [Kill()]
    guard, done = after(Ended(1.5, -9), guard=guard)
    assert done == [Start(is_open=False), Ask(Saying("closed", CLOSED.reason))]


def test_without_an_answer_for_long_a_starting_broker_is_killed() -> None:
    """No answer is closed here as at the start: who moves applications away counts on that."""
    guard, _ = after(*STARTED)
    asked_at_s = guard.asked_at_s
    for now_s in range(1, int(GOOD_FOR_S)):
        guard, done = after(Ticked(now_s + 0.1), Heard(now_s + 0.2, None, "no answer"), guard=guard)
        assert Kill() not in done
    assert after(Ticked(asked_at_s + GOOD_FOR_S), guard=guard)[1] == [Kill()]
    assert after(Heard(asked_at_s + GOOD_FOR_S + 1, None), guard=guard)[0].phase == "opening"


def test_an_answer_counts_from_when_it_was_asked_for() -> None:
    """Not from when it came."""
    guard, _ = after(*STARTED, Ticked(5.0), Heard(9.0, OPEN, said=OPENING))
    assert guard.good_until_s == 5.0 + GOOD_FOR_S


def test_it_is_left_alone_once_it_has_listened_for_a_while() -> None:
    """Asked for after that while, and not before; then it says so once."""
    guard, _ = after(*STARTED, Listens(3.0), Ticked(3.1), Heard(9.0, OPEN, said=OPENING))
    assert guard.phase == "opening", "it was asked before the while was over"
    guard, done = after(Ticked(9.1), Heard(9.2, OPEN, said=OPENING), guard=guard)
    assert (guard.phase, done) == ("open", [Ask(Saying("open", OPEN.reason))])
    guard, done = after(Heard(9.3, OPEN, said=Saying("open", OPEN.reason)), guard=guard)
    assert done == []


def test_a_broker_at_work_is_not_stopped_but_named() -> None:
    """Access rules, or a person, keep applications off it; its guard says so in the ensemble."""
    guard, done = after(Heard(20.0, CLOSED), guard=settled())
    assert done == [Ask(Saying("open", OPEN.reason, beside=CLOSED.reason))]
    guard, done = after(Heard(20.1, CLOSED, said=Saying("open", OPEN.reason, CLOSED.reason)), guard=guard)
    assert done == []
    guard, done = after(Ticked(3600.0), Heard(3601.0, None, "no answer"), guard=guard)
    assert done == []


def test_a_closed_broker_opens_in_its_turn() -> None:
    """Stopped in good order, asked about again while it is stopped, and then started."""
    guard, done = after(*SHUT, Heard(0.2, OPEN, said=Saying("closed", CLOSED.reason)))
    assert done == [TakeTurn()]
    guard, done = after(TurnAnswered(0.3, is_ours=True), guard=guard)
    assert done[0] == Stop()
    guard, done = after(Heard(0.4, OPEN), Ended(5.0, 143), guard=guard)
    assert done == [Ask(OPENING)]
    opened, done = after(Heard(5.1, OPEN, said=OPENING), guard=guard)
    assert done == [Start(is_open=True)]
    assert after(Listens(9.0), guard=opened)[1] == [LeaveTurn()]
    assert after(Heard(5.1, None, "no answer"), guard=guard)[1][0] == Start(is_open=False)


def test_it_waits_for_its_turn() -> None:
    """Asked again a moment later."""
    guard, done = after(*SHUT, Heard(0.2, OPEN), TurnAnswered(0.3, is_ours=False, problem="held by kafka2"))
    assert done == []
    assert guard.says == Saying("closed", "may open, and waits for its turn (held by kafka2)")
    assert [type(found) for found in after(Ticked(1.4), guard=guard)[1]] == [Ask]


def test_a_broker_that_does_not_stop_in_its_turn_is_killed() -> None:
    """Combined nodes that lose their quorum hang."""
    guard, _ = after(*SHUT, Heard(0.2, OPEN), TurnAnswered(0.3, is_ours=True))
    assert Kill() in after(Ticked(61.0), guard=guard)[1]


def test_signals_are_passed_on_and_it_ends_as_the_broker_ends() -> None:
    """Whoever supervises the service sees what it would see without a guard."""
    guard, done = after(Told(20.0, 15, ends=True), guard=settled())
    assert done == [PassOn(15)]
    assert after(Ended(25.0, 143), guard=guard)[1] == [Exit(143)]
    assert after(Told(20.0, 3, ends=False), Ended(25.0, 1), guard=settled())[1] == [Exit(1)]
    assert after(Begun(0.0, 10.0), Told(0.1, 15, ends=True))[1] == [Exit(-15)]
    guard, _ = after(*SHUT, Told(1.0, 15, ends=True))
    assert after(Heard(1.1, OPEN), guard=guard)[1] == [], "it is not opened any more"
    assert after(Ended(2.0, 143), guard=guard)[1] == [Exit(143)]


def test_a_broker_that_is_told_to_stop_while_it_starts_open_is_still_watched() -> None:
    """It may come to listen before it stops."""
    guard, _ = after(*STARTED, Told(1.0, 15, ends=True))
    guard, done = after(Ticked(1.2), Heard(1.3, CLOSED), guard=guard)
    assert done == [Kill()]
    assert after(Ended(1.4, -9), guard=guard)[1] == [Exit(-9)]
