"""Toy effects, of ledgers that are open at a place and lie on a page: what runbooks are tried on by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic.dataclasses import dataclass as checked_dataclass

from orchestrator.errors import DcctlError
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Handle,
    Held,
    Look,
    Nothing,
    Outcome,
    Partial,
    Reversible,
    Running,
    Unknown,
    Verified,
    VerifiedUndo,
)
from orchestrator.runs.registry import Registry
from orchestrator.runs.word import V, Word
from tests.runs.crashes import CrashingJournal

P = TypeVar("P")


@dataclass
class Shelves:
    """The port: which ledgers are open where, and on which page. `point` is called at each change."""

    open_at: dict[str, str] = field(default_factory=dict)
    pages: dict[tuple[str, str], int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    point: Callable[[], None] = lambda: None


@checked_dataclass(frozen=True, config=EFFECT_CONFIG)
class Page:
    """Where a ledger was left."""

    ledger: str
    page: int


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class CloseLedger(
    Verified[Nothing],
    Reversible,
    VerifiedUndo,
    Effect[Nothing],
    name="close-ledger",
    phase="fence",
    title="Close the ledger {ledger} at {place}",
):
    """Nobody writes into it any more."""

    ledger: str
    place: str

    def holds(self) -> Iterable[Held]:
        return (Held(f"ledger {self.ledger}", "closed"),)

    def perform(self, run: Running) -> Outcome[Nothing]:
        shelves = run.port(Shelves)
        shelves.point()
        if shelves.open_at.get(self.ledger) == self.place:
            del shelves.open_at[self.ledger]
        shelves.point()
        return Done(Nothing())

    def verify(self, run: Running) -> Outcome[Nothing]:
        is_open = self.ledger in run.port(Shelves).open_at
        return Failed(f"{self.ledger} is open") if is_open else Done(Nothing(), "closed")

    def undo(self, run: Running) -> Outcome[Nothing]:
        shelves = run.port(Shelves)
        shelves.point()
        shelves.open_at[self.ledger] = self.place
        shelves.point()
        return Done(Nothing())

    def verify_undone(self, run: Running) -> Outcome[Nothing]:
        is_back = run.port(Shelves).open_at.get(self.ledger) == self.place
        return Done(Nothing()) if is_back else Failed(f"{self.ledger} is closed")


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class ReadPage(
    Look[Page],
    name="read-page",
    phase="translate",
    title="Read the page of {ledger} at {place}",
):
    """How far it was written."""

    ledger: str
    place: str
    closed: Handle[Nothing]

    def perform(self, run: Running) -> Outcome[Page]:
        shelves = run.port(Shelves)
        if self.ledger in shelves.open_at:
            shelves.problems.append(f"{self.ledger} is read while it is open")
        return Done(Page(self.ledger, shelves.pages[self.ledger, self.place]))


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class TurnTo(
    Verified[Page],
    Reversible,
    Effect[Page],
    name="turn-to",
    phase="translate",
    title="Turn to that page at {place}",
):
    """The page at the other place."""

    place: str
    page: Handle[Page]

    def perform(self, run: Running) -> Outcome[Page]:
        found, shelves = run.of(self.page), run.port(Shelves)
        shelves.point()
        shelves.pages[found.ledger, self.place] = found.page
        return Done(found)

    def verify(self, run: Running) -> Outcome[Page]:
        found = run.of(self.page)
        if run.port(Shelves).pages.get((found.ledger, self.place)) != found.page:
            return Failed("another page")
        return Done(found)

    def undo(self, run: Running) -> Outcome[Nothing]:
        shelves = run.port(Shelves)
        shelves.point()
        shelves.pages.pop((run.of(self.page).ledger, self.place), None)
        return Done(Nothing())


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class OpenLedger(
    Effect[Nothing],
    name="open-ledger",
    phase="redirect",
    title="Open the ledger {ledger} at {place}",
    irreversible="what was written cannot be unwritten",
):
    """Somebody writes into it at once."""

    ledger: str
    place: str
    page: Handle[Page]

    def frees(self) -> Iterable[Held]:
        return (Held(f"ledger {self.ledger}", "closed"),)

    def perform(self, run: Running) -> Outcome[Nothing]:
        shelves = run.port(Shelves)
        shelves.point()
        if shelves.pages.get((self.ledger, self.place)) != run.of(self.page).page:
            shelves.problems.append(f"{self.ledger} is opened on a wrong page")
        shelves.open_at[self.ledger] = self.place
        shelves.point()
        return Done(Nothing())


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class Say(Effect[Nothing], name="say", phase="verify", title="Say {outcome}", stays="what is said is said"):
    """It ends as it is told to."""

    outcome: str = "ok"

    def perform(self, run: Running) -> Outcome[Nothing]:
        match self.outcome:
            case "failed":
                return Failed("no", {"why": "told to"})
            case "partial":
                return Partial("one of two")
            case "unknown":
                return Unknown("who knows")
            case "error":
                raise DcctlError("say", "an error")
            case _:
                return Done(Nothing(), f"as {run.step_id} of {run.run_id}")


LEDGERS = Registry(CloseLedger, ReadPage, TurnTo, OpenLedger, Say)


@dataclass
class ToyWorld(CrashingJournal):
    """Journal, lock, clock and shelves that survive a crash; `orchestrator.runs.acting.World` as well."""

    shelves: Shelves = field(default_factory=Shelves)
    run_id: str = "run-1"
    is_interrupted: bool = False
    ports: Mapping[type[Any], Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.shelves.point = self.point

    def port(self, kind: type[P]) -> P:
        found: P = {Shelves: self.shelves, **self.ports}[kind]
        return found

    def on_loss(self, callback: Callable[[str], None]) -> None:
        """Asked for once by each process: a new one is not interrupted."""
        self.is_interrupted = False
        super().on_loss(callback)

    def word(self, word: Word[V]) -> frozenset[V]:
        return word.said_in(self.records)

    def may_write(self) -> bool:
        return not self.is_interrupted

    def is_cancelled(self) -> bool:
        return self.is_interrupted

    def await_true(self, condition: Callable[[], bool], timeout_s: float, poll_s: float = 0.2) -> bool:
        return condition()

    def cancel(self) -> None:
        self.is_interrupted = True
