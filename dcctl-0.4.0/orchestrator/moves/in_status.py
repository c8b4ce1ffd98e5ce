"""What a kind of applications tells of each of them in `status` and in metrics, beside committed offsets.

A kind refers to its part where it is declared (`ConsumerKind.in_status`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

from orchestrator.runs.plan import Plan
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Consumer


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of the applications of one kind at the source of a mirror, which `consumers` are.

    `plan`: of a failover, if the source were lost now. `history`: what the watchers have told. `seen`: the
    picture, with what the kind has looked at (`Kind.look`) in its part `of_kind`. `judged_at_s`: the time by
    which ages in `history` are told (Unix epoch seconds).
    """

    consumers: Sequence[Consumer]
    plan: Plan
    history: SampleHistory
    seen: Snapshot
    judged_at_s: float

    def reread(self, name: str) -> Mapping[str, int | None]:
        """Records that one of them would read again, by their cause and at most; empty where nobody says."""
        return dict(self.plan.predicted.reread.get(name, {}))


class Told(Protocol):
    """What is told of one application: a dataclass, whose fields are the keys of its JSON."""

    @property
    def application(self) -> str:
        """Its name."""

    @property
    def reread(self) -> Mapping[str, int | None]:
        """See `Known.reread`."""

    @property
    def position(self) -> str:
        """In a table: what it would go on from, and how old that is."""

    @property
    def note(self) -> str:
        """What else a person has to know of it; empty where all is as it should be."""


class Gauge(NamedTuple):
    """A metric: what it says, and its labels beyond the mirror's. Its name has `dcctl_` before it."""

    text: str
    labels: tuple[str, ...]


Measured = tuple[str, tuple[str, ...], float | None]
"""Name of a gauge, values of its labels, and its value; None where it is not known."""

T = TypeVar("T", bound=Told)


def _nothing_measured(_history: SampleHistory, _judged_at_s: float) -> Iterator[Measured]:
    yield from ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusPart(Generic[T]):
    """One kind's part. `key`: where its rows stand in the JSON of a mirror; `row`: the class of each.

    `rows` tells of each application, in file order; `measured` what `gauges` say at a time (Unix epoch
    seconds).
    """

    key: str
    row: type[T]
    rows: Callable[[Known], Sequence[T]]
    gauges: Mapping[str, Gauge] = field(default_factory=dict)
    measured: Callable[[SampleHistory, float], Iterator[Measured]] = _nothing_measured
