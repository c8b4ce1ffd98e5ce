"""The guard of one broker as a pure function: from where it stands and what happened to what is to be done.

What it keeps up, whatever answers late or never, and without comparing clocks of machines:

- It says *opening* in the ensemble before it asks whether the broker may be open. Who moves applications away
  writes first and asks the guards then. So one of the two sees the other.
- That the broker may be open counts for `GOOD_FOR_S` from when it was asked for, and is asked for again each
  second until the broker has listened for `SETTLES_AFTER_S`. Without a new answer in that time, or with the
  answer that it is to be closed, the broker is killed and started closed. So `WAITED_FOR_S` after the first
  record of a failover no broker that was told *open* is on its way any more: it is closed, gone, or listens,
  where whoever looks at it sees it.
- From then on the broker is left alone. The guard looks on, and names it if it should be closed by then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

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

ASKS_EVERY_S = 1.0
# An election of the ensemble takes a few seconds; a broker that reads its logs for minutes must outlast one.
GOOD_FOR_S = 10.0
SETTLES_AFTER_S = 5.0
LOOKS_EVERY_S = 2.0
STOPS_WITHIN_S = 60.0
TURN_WITHIN_S = 120.0
# Five seconds for a machine that is slow to kill.
WAITED_FOR_S = GOOD_FOR_S + 5.0

Phase = Literal["asking", "claiming", "closed", "turning", "opening", "open", "closing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Where one guard stands. All times are of one clock that never goes back.

    `phase`: *asking* and *claiming* before anything runs; *closed*, and *turning* while the closed broker is
    stopped to be opened; *opening* until it has listened for a while, then *open*; *closing* while it is
    killed.

    `is_asked`: an answer is waited for, since `asked_at_s`. `good_until_s`: so long it may go on opening.
    """

    phase: Phase = "asking"
    wait_until_s: float = 0.0
    is_asked: bool = False
    asked_at_s: float = 0.0
    good_until_s: float = 0.0
    listens_since_s: float | None = None
    has_turn: bool = False
    turn_until_s: float = 0.0
    stop_until_s: float = 0.0
    ends: int = 0
    reason: str = ""
    beside: str = ""
    said: Saying | None = None
    logged: str = ""

    @property
    def says(self) -> Saying | None:
        """What is to be said now."""
        match self.phase:
            case "asking":
                return None
            case "claiming" | "opening":
                return Saying("opening", self.reason)
            case "open":
                return Saying("open", self.reason, self.beside)
            case "turning":
                return Saying("closed", f"opens in its turn: {self.reason}")
            case _:
                return Saying("closed", self.reason)


Decision = tuple[Guard, tuple[Instruction, ...]]


def decide(guard: Guard, event: Event) -> Decision:  # noqa: PLR0911 - one for each kind of event
    """The guard after `event`, and what is to be done, in this order."""
    match event:
        case Begun(now_s, wait_s):
            return _asked(replace(guard, wait_until_s=now_s + wait_s), now_s)
        case Heard():
            guard = replace(guard, is_asked=False, said=event.said or guard.said)
            return _heard(guard, event)
        case TurnAnswered():
            return _turn(replace(guard, is_asked=False), event)
        case Listens(now_s):
            since_s = now_s if guard.phase == "opening" else guard.listens_since_s
            return _without_turn(replace(guard, listens_since_s=since_s), ())
        case Ticked(now_s):
            return _ticked(guard, now_s)
        case Ended():
            return _ended(guard, event)
        case Told(_, signal, ends):
            return _told(guard, signal, ends=ends)


def _heard(guard: Guard, heard: Heard) -> Decision:
    match guard.phase:
        case "asking":
            return _at_start(guard, heard)
        case "claiming":
            return _claimed(guard, heard)
        case "closed":
            return _while_closed(guard, heard)
        case "opening":
            return _while_opening(guard, heard)
        case "open":
            return _while_open(guard, heard)
        case _:
            return guard, ()


def _at_start(guard: Guard, heard: Heard) -> Decision:
    if heard.word is not None and heard.word.is_open:
        return _asked(replace(guard, phase="claiming", reason=heard.word.reason), heard.now_s)
    if heard.word is None and heard.now_s < guard.wait_until_s:
        return guard, ()
    return _closed(guard, heard.problem if heard.word is None else heard.word.reason, heard.now_s)


def _claimed(guard: Guard, heard: Heard) -> Decision:
    """Only an answer that came after *opening* was said opens the broker."""
    if heard.word is not None and (heard.said is None or heard.said.state != "opening"):
        return _asked(guard, heard.now_s)
    good_until_s = guard.asked_at_s + GOOD_FOR_S
    if heard.word is not None and heard.word.is_open and heard.now_s < good_until_s:
        guard = replace(
            guard,
            phase="opening",
            reason=heard.word.reason,
            good_until_s=good_until_s,
            listens_since_s=None,
            turn_until_s=heard.now_s + TURN_WITHIN_S,
            logged="",
        )
        return guard, (Log(f"opens to applications: {guard.reason}"), Start(is_open=True))
    if heard.word is None and not guard.has_turn and heard.now_s < guard.wait_until_s:
        return replace(guard, phase="asking"), ()
    reason = heard.word.reason if heard.word is not None else heard.problem
    if heard.word is not None and heard.word.is_open:
        reason = "the answer that the broker may open came too late"
    return _closed(guard, reason, heard.now_s)


def _closed(guard: Guard, reason: str, now_s: float) -> Decision:
    """Start it closed, where no broker runs."""
    guard = replace(guard, phase="closed", reason=reason, turn_until_s=now_s + TURN_WITHIN_S)
    guard, log = _logged(guard)
    guard, ask = _asked(guard, now_s)
    return guard, (*log, Start(is_open=False), *ask)


def _logged(guard: Guard) -> Decision:
    """Why it is closed, once for each reason: it is asked again each second, for days perhaps."""
    if guard.reason == guard.logged:
        return guard, ()
    return replace(guard, logged=guard.reason), (Log(f"closed to applications: {guard.reason}"),)


def _while_closed(guard: Guard, heard: Heard) -> Decision:
    if heard.word is not None and heard.word.is_open:
        if guard.ends or guard.has_turn:
            return guard, ()
        return replace(guard, is_asked=True, asked_at_s=heard.now_s, reason=heard.word.reason), (TakeTurn(),)
    reason = heard.problem if heard.word is None else heard.word.reason
    guard, log = _logged(replace(guard, reason=reason))
    if heard.word is None or guard.says == guard.said:
        return guard, log
    guard, ask = _asked(guard, heard.now_s)
    return guard, (*log, *ask)


def _turn(guard: Guard, event: TurnAnswered) -> Decision:
    if not event.is_ours:
        return _logged(replace(guard, reason=f"may open, and waits for its turn ({event.problem})"))
    if guard.ends:
        return guard, (LeaveTurn(),)
    guard = replace(guard, phase="turning", has_turn=True, stop_until_s=event.now_s + STOPS_WITHIN_S)
    guard, ask = _asked(guard, event.now_s)
    return guard, (Stop(), *ask)


def _while_opening(guard: Guard, heard: Heard) -> Decision:
    if heard.word is None:
        return guard, ()
    if not heard.word.is_open:
        return _killed(guard, heard.word.reason)
    guard = replace(guard, good_until_s=guard.asked_at_s + GOOD_FOR_S)
    since_s = guard.listens_since_s
    if since_s is None or guard.asked_at_s < since_s + SETTLES_AFTER_S or heard.now_s >= guard.good_until_s:
        return guard, ()
    return _asked(replace(guard, phase="open"), heard.now_s)


def _while_open(guard: Guard, heard: Heard) -> Decision:
    """It is left alone: only access rules, or a person, can keep applications off it now."""
    if heard.word is None:
        return guard, ()
    beside = "" if heard.word.is_open else heard.word.reason
    log: tuple[Instruction, ...] = ()
    if beside and beside != guard.beside:
        text = "open to applications; now only access rules, or stopping this broker, can keep them off"
        log = (Log(f"{text}: {beside}"),)
    guard = replace(guard, beside=beside)
    if guard.says == guard.said:
        return guard, log
    guard, ask = _asked(guard, heard.now_s)
    return guard, (*log, *ask)


def _ticked(guard: Guard, now_s: float) -> Decision:
    if guard.phase == "opening" and now_s >= guard.good_until_s:
        return _killed(guard, f"the ensemble has not confirmed for {GOOD_FOR_S:g} s that it may open")
    done: tuple[Instruction, ...] = ()
    if guard.phase == "turning" and now_s >= guard.stop_until_s:
        guard, done = replace(guard, stop_until_s=float("inf")), (Kill(),)
    if guard.has_turn and guard.phase in {"opening", "closed"} and now_s >= guard.turn_until_s:
        guard, done = _without_turn(guard, done)
    if guard.phase == "claiming":
        every_s = 0.0
    elif guard.phase == "asking":
        every_s = ASKS_EVERY_S / 2
    else:
        every_s = LOOKS_EVERY_S if guard.phase == "open" else ASKS_EVERY_S
    if guard.is_asked or guard.phase == "closing" or now_s < guard.asked_at_s + every_s:
        return guard, done
    guard, ask = _asked(guard, now_s)
    return guard, (*done, *ask)


def _killed(guard: Guard, reason: str) -> Decision:
    """It may be open no more: what it has read of its logs is read again when it starts closed."""
    return replace(guard, phase="closing", reason=reason), (Kill(),)


def _ended(guard: Guard, event: Ended) -> Decision:
    if not guard.ends and guard.phase == "closing":
        return _closed(guard, guard.reason, event.now_s)
    if not guard.ends and guard.phase == "turning":
        guard = replace(guard, phase="claiming")
        return (guard, ()) if guard.is_asked else _asked(guard, event.now_s)
    return _without_turn(guard, (Exit(event.status),), is_last=True)


def _told(guard: Guard, signal: int, *, ends: bool) -> Decision:
    if guard.phase in {"asking", "claiming"}:
        return _without_turn(guard, (Exit(-signal),), is_last=True) if ends else (guard, ())
    return replace(guard, ends=signal if ends else guard.ends), (PassOn(signal),)


def _without_turn(guard: Guard, done: tuple[Instruction, ...], *, is_last: bool = False) -> Decision:
    if not guard.has_turn or (guard.phase == "turning" and not is_last):
        return guard, done
    return replace(guard, has_turn=False), (LeaveTurn(), *done)


def _asked(guard: Guard, now_s: float) -> Decision:
    if guard.is_asked:
        return guard, ()
    return replace(guard, is_asked=True, asked_at_s=now_s), (Ask(guard.says),)
