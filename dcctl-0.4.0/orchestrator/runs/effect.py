"""What an effect declares, all in one place: nothing about it is known anywhere else.

An effect is a frozen value. Its fields are its arguments and become JSON in the plan. A field that is a
`Handle` stands for the result of an earlier step: having it is what makes a step wait for that one. The world
is reached through ports only, which the run hands out, so that an effect works on an estate in memory, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import (
    Any,
    ClassVar,
    Generic,
    Literal,
    Protocol,
    TypedDict,
    TypeVar,
    Unpack,
    get_args,
    get_origin,
)

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked_dataclass

from orchestrator.runs.estate_record import Body, PrimaryMoved
from orchestrator.runs.plan import Phase
from orchestrator.runs.word import Awaited, V, Word

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
P = TypeVar("P")

# Most commands run few of all the effects: how one is checked is worked out when it is first made.
EFFECT_CONFIG = ConfigDict(extra="forbid", arbitrary_types_allowed=False, defer_build=True)
"""How an effect's class is made: `@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)`."""


@checked_dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Handle(Generic[R_co]):
    """The result that a step of the same plan will have: that step's id, and its effect's name."""

    step: str
    effect: str


@dataclass(frozen=True, slots=True)
class Shown(Generic[R]):
    """Results of one type that reports show; under `name` (contract) a plan has the steps that leave them."""

    name: str
    result: type[R]


@dataclass(frozen=True, slots=True)
class Nothing:
    """The result of an effect from which no other takes anything."""


@dataclass(frozen=True, slots=True)
class Done(Generic[R]):
    """The effect is there, or gone, or the look is over."""

    result: R
    message: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """Surely nothing of the effect is there. `detail` is JSON data for people and reports."""

    message: str
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Partial:
    """Some of the effect is there and some is not; the message says what of each."""

    message: str
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unknown:
    """It cannot be told what of the effect is there."""

    message: str
    detail: Mapping[str, Any] = field(default_factory=dict)


Outcome = Done[R] | Failed | Partial | Unknown


@dataclass(frozen=True, slots=True, order=True)
class Held:
    """One thing that an effect keeps from working while it stands.

    `subject` is what does not work ("group-billing"), `state` how ("stopped", "denied"), `cluster` where;
    empty where letting it go anywhere lets it go. `told_as` stands for all of its kind where many are told.
    """

    subject: str
    state: str
    cluster: str = ""
    told_as: str = ""


class Waiting(Protocol):
    """Who waits for something, and may be interrupted."""

    def is_cancelled(self) -> bool:
        """Whether the run was interrupted."""

    def await_true(self, condition: Callable[[], bool], timeout_s: float, poll_s: float = 0.2) -> bool:
        """Wait until `condition` holds; False after `timeout_s` or an interruption."""


class Running(Waiting, Protocol):
    """What an effect may use of the run that makes it."""

    @property
    def run_id(self) -> str:
        """The run's id."""

    @property
    def step_id(self) -> str:
        """Of the step that the effect is in its plan."""

    @property
    def timeout_s(self) -> float:
        """The deadline of the whole step, which the effect keeps by itself."""

    def port(self, kind: type[P]) -> P:
        """The run's one port of that kind. Raises `DcctlError` where the run has none."""

    def of(self, handle: Handle[R]) -> R:
        """The result of an earlier step. Raises `DcctlError` where that step has none."""

    def own(self, effect: Effect[R]) -> R | None:
        """The result of this step, whose effect that is; None where that was lost in a crash."""

    def word(self, word: Word[V]) -> frozenset[V]:
        """The values of which a person has said a word. Raises `DcctlError` for one not declared."""

    def may_write(self) -> bool:
        """Whether a write may be tried: not interrupted, and the lock is still this run's."""


class Declared(TypedDict, total=False):
    """What an effect's class says about itself, as keywords behind its bases; a class below has it, too."""

    name: str
    """The action in plans and journals (contract)."""
    phase: Phase
    """Where a report tells it."""
    title: str
    """What it does, as one line of a plan that is read alone; `{cluster}` stands for that argument."""
    expected_s: float
    """Seconds that it usually takes; an effect whose arguments say otherwise overrides the property."""
    timeout_s: float
    """Its deadline in seconds; likewise."""
    irreversible: str
    """Why nothing takes it back, and what it was built on is kept with it. An effect of which the arguments
    say it overrides the property.
    """
    stays: str
    """Why it may stay where its run is taken back. The undo of one that is `Reversible` as well changes
    nothing: it tells what stays.
    """
    is_whole_or_nothing: bool
    """An error while it is made leaves everything as it was."""
    words: tuple[Word[Any], ...]
    """What a person may say to it where it cannot come to its end by itself."""


class Effect(ABC, Generic[R]):
    """One change of the world, or one look at it: `class Stop(Effect[Stopped], name="stop", phase="fence")`.

    `RESULT` is the type between the brackets, the other constants are what was `Declared`. A class with a
    name says what becomes of it when its run is taken back: it is a `Look`, `Reversible`, or declares that it
    is `irreversible` or `stays`. Otherwise making the class raises `TypeError`.
    """

    NAME: ClassVar[str]
    RESULT: ClassVar[type[Any]]
    PHASE: ClassVar[Phase]
    TITLE: ClassVar[str]
    EXPECTED_S: ClassVar[float] = 0.1
    TIMEOUT_S: ClassVar[float] = 30.0
    IRREVERSIBLE: ClassVar[str] = ""
    STAYS: ClassVar[str] = ""
    IS_WHOLE_OR_NOTHING: ClassVar[bool] = False
    WORDS: ClassVar[tuple[Word[Any], ...]] = ()

    def __init_subclass__(cls, **declared: Unpack[Declared]) -> None:
        super().__init_subclass__()
        for key, value in declared.items():
            setattr(cls, key.upper(), value)
        for base in cls.__dict__.get("__orig_bases__", ()):
            if issubclass(get_origin(base) or object, Effect) and isinstance(get_args(base)[0], type):
                cls.RESULT = get_args(base)[0]
        if "name" in declared and not (cls.IRREVERSIBLE or cls.STAYS or issubclass(cls, Look | Reversible)):
            raise TypeError(
                f"effect {cls.NAME} does not say what becomes of it when its run is rolled back: "
                "make it a Look or Reversible, or declare irreversible=REASON or stays=REASON"
            )
        if cls.IRREVERSIBLE and (cls.STAYS or issubclass(cls, Look)):
            other = "that it stays" if cls.STAYS else "that it changes nothing"
            raise TypeError(f"effect {cls.NAME} says that it is irreversible, and {other}")

    @property
    def title(self) -> str:
        """What it does, as one line of a plan that is read alone."""
        return self.TITLE.format_map(vars(self))

    @property
    def expected_s(self) -> float:
        """Seconds that it usually takes."""
        return self.EXPECTED_S

    @property
    def timeout_s(self) -> float:
        """Its deadline in seconds."""
        return self.TIMEOUT_S

    @property
    def irreversible(self) -> str:
        """Why something of it stays, whatever `undo` does; empty where all of it can be taken back."""
        return self.IRREVERSIBLE

    @abstractmethod
    def perform(self, run: Running) -> Outcome[R]:
        """Make it. Of one that is also `Verified` the result is what `verify` finds."""

    def holds(self) -> Iterable[Held]:
        """What does not work while it stands."""
        return ()

    def holds_surely(self, result: R) -> bool:  # noqa: ARG002
        """Whether all that it holds surely does not work, once it has ended well with this result."""
        return True

    def frees(self) -> Iterable[Held]:
        """What works again from it on, whatever held it before."""
        return ()

    def awaits(self, found: R | None) -> Iterable[Awaited[Any]]:  # noqa: ARG002
        """The words that a person may say to it, of those that it declares: all of them (`found` is None), or
        those for which it waits since an attempt that did not end well; `found` is the detail of that one.
        """
        return ()

    def primaries(self) -> Iterable[PrimaryMoved]:
        """Where topics are recorded as primary once it is made."""
        return ()

    def facts(self, result: R) -> Iterable[Body]:  # noqa: ARG002
        """What it has written into the estate record: an import of its run's journal writes it from there."""
        return ()


class Look(Effect[R], is_whole_or_nothing=True):
    """It measures or waits, and changes nothing: twice is as good as once, and nothing is taken back."""


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class Limited(Effect[R]):
    """Its plan says its deadline: `limit_s`, in seconds."""

    limit_s: float

    @property
    def timeout_s(self) -> float:
        """See `Effect`."""
        return self.limit_s


class Verified(ABC, Generic[R]):
    """Whether the effect is there can be seen. Without it a step is simply done again after a crash."""

    @abstractmethod
    def verify(self, run: Running) -> Outcome[R]:
        """Look whether it is there. Changes nothing, but may record what was seen."""


class Reversible(ABC):
    """The effect can be taken back: wherever it stands whole, in part, or not at all.

    It may build on the results of earlier steps only: after a crash its own may be missing.
    """

    @abstractmethod
    def undo(self, run: Running) -> Outcome[Nothing]:
        """Take it back."""


class VerifiedUndo(ABC):
    """Whether the effect is gone can be seen."""

    @abstractmethod
    def verify_undone(self, run: Running) -> Outcome[Nothing]:
        """Look whether it is gone. Changes nothing."""


OnFailure = Literal["stop", "undo", "note"]
