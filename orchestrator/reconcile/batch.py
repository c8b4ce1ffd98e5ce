"""Effects that do one thing to objects of one cluster, many of them in one request."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import ClassVar, Self, TypeVar

from pydantic.dataclasses import dataclass

from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Effect,
    Nothing,
    Outcome,
    Reversible,
    Running,
    Verified,
    VerifiedUndo,
)
from orchestrator.wording import listed

_OBJECTS_AT_ONCE = 500

# Brokers and workers show what they were asked for a moment later.
SETTLE_S = 10.0


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class Batch(Verified[Nothing], Effect[Nothing], expected_s=0.5, timeout_s=120.0):
    """What mends a difference is such an effect on one object; `batched` joins those of a kind into steps.

    `AT_ONCE`: how much of it one request takes, as `weight` counts it, and `EACH_S`: how long each takes.
    `LANES`: how many requests one controller works on at the same time. `PLACES_REPLICAS`: brokers get some.
    `STEP_ID`: how the ids of its steps begin, where that is not its name.
    """

    AT_ONCE: ClassVar[int] = _OBJECTS_AT_ONCE
    EACH_S: ClassVar[float] = 0.0
    LANES: ClassVar[int] = 2
    PLACES_REPLICAS: ClassVar[bool] = False
    STEP_ID: ClassVar[str] = ""

    cluster: str

    @property
    @abstractmethod
    def objects(self) -> tuple[Hashable, ...]:
        """What it is done to, each once."""

    @classmethod
    @abstractmethod
    def joined(cls, works: Sequence[Self]) -> Self:
        """One that does what all of these do. They are of one cluster."""

    @property
    def what(self) -> str:
        """What it is done to, in words."""
        return listed(map(str, self.objects))

    @property
    def weight(self) -> int:
        """How much work it is for whoever is asked."""
        return len(self.objects)

    @property
    def sides(self) -> frozenset[str]:
        """The clusters on which it rests."""
        return frozenset({self.cluster})

    @property
    def title(self) -> str:
        """See `Effect`."""
        return f"{self.TITLE} {self.what} at {self.cluster}"

    @property
    def expected_s(self) -> float:
        """See `Effect`."""
        return round(self.EXPECTED_S + self.EACH_S * self.weight, 2)


class Replacing(Reversible, VerifiedUndo, ABC):
    """A value takes the place of another, which is put back by the same request and seen by the same look.

    It stands before `Batch` among the bases.
    """

    @abstractmethod
    def put(self, run: Running, *, back: bool) -> Outcome[Nothing]:
        """Ask for what is wanted; with `back` for what was there before."""

    @abstractmethod
    def see(self, run: Running, *, back: bool) -> Outcome[Nothing]:
        """Look whether it is so. Changes nothing."""

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        return self.put(run, back=False)

    def verify(self, run: Running) -> Outcome[Nothing]:
        """See `Verified`."""
        return self.see(run, back=False)

    def undo(self, run: Running) -> Outcome[Nothing]:
        """See `Reversible`."""
        return self.put(run, back=True)

    def verify_undone(self, run: Running) -> Outcome[Nothing]:
        """See `VerifiedUndo`."""
        return self.see(run, back=True)


B = TypeVar("B", bound=Batch)


def batched(works: Iterable[B]) -> Iterator[B]:
    """Works of one kind and cluster, joined as far as one request takes them."""
    batch: list[B] = []
    weight = 0
    for work in works:
        if batch and (weight + work.weight > work.AT_ONCE or len(batch) >= _OBJECTS_AT_ONCE):
            yield work.joined(batch)
            batch, weight = [], 0
        batch.append(work)
        weight += work.weight
    if batch:
        yield batch[0].joined(batch)
