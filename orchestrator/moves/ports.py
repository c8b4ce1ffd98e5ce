"""What effects of moves reach of the world beside what those of every run do; see `run_ports`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from orchestrator.errors import ClusterError
from orchestrator.moves.results import MirrorEnd
from orchestrator.ports.servers import Access, Closed
from orchestrator.replication.by_content import SearchBudget
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.replication.source_gaps import SourceGaps
from orchestrator.replication.truncations import Truncations
from orchestrator.runs.guards import GuardSaid
from orchestrator.snapshot.clients import ClientHost
from orchestrator.snapshot.observation import SourceProbe
from orchestrator.snapshot.partial_view import PartialPartition
from orchestrator.snapshot.rejoining import Past
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.values import LogEnd, LogReach, TopicPartition

P = TypeVar("P")


class Seen(Protocol):
    """What was seen before the run decided, and what watchers have recorded. It changes nothing."""

    @property
    def at_s(self) -> float:
        """When the picture was taken, Unix seconds."""

    def samples(self, mirror: MirrorRef) -> SampleHistory:
        """What the watcher has recorded of a mirror's source, as the picture has it.

        Raises `DcctlError` where that could not be read.
        """

    def samples_at_s(self, mirror: MirrorRef) -> float:
        """When those were read, Unix seconds."""

    def samples_now(self, mirror: MirrorRef) -> SampleHistory:
        """The same, read anew. Raises `ClusterError`."""

    def lost_at_s(self, mirror: MirrorRef) -> float:
        """When its source was lost, as far as the samples tell; `at_s` otherwise. Unix seconds."""

    def watched(self, cluster: str) -> SampleHistory:
        """What a watcher at the place entered has recorded of a cluster that is left, as the picture has it.

        Raises `DcctlError` where that could not be read.
        """

    def left_at_s(self, cluster: str) -> float:
        """When that cluster was lost, as far as this tells; `at_s` otherwise. Unix seconds."""

    def has_stood_still(self, ends: Mapping[TopicPartition, int]) -> bool:
        """Whether logs at the target had these ends already when they were seen to stand still."""

    def hosts(self) -> tuple[ClientHost, ...] | None:
        """The hosts of applications; None where the inventory could not be read."""

    def past(self) -> Past:
        """What earlier runs have recorded of the two sides. Raises `DcctlError` where that cannot be read."""


@dataclass(frozen=True, slots=True)
class FinalMap:
    """The offset map of a mirror, and the logs of its copies; of one that stands with its very last pair."""

    offset_map: OffsetMap
    logs: Mapping[TopicPartition, LogEnd]


class Maps(Protocol):
    """Offset maps."""

    def final(self, mirror: MirrorRef, end: MirrorEnd) -> FinalMap:
        """The map of a mirror that was stopped, and came to `end`. Read once, whoever asks first."""

    def passed(self, mirror: MirrorRef, end: MirrorEnd) -> FinalMap:
        """The map of a mirror that goes on and has copied all of some logs that stand: with the last pairs of
        these. `end`: where they end. Read anew each time.
        """

    def current(self, mirror: MirrorRef) -> FinalMap:
        """The map of a mirror that runs, as it is now; read anew each time.

        Where its target is the place left, and gone: the copy that a watcher keeps of it, without logs.

        Raises `ClusterError`, and `DcctlError` where nobody knows which of its topics were made anew.
        """

    def kept(self, mirror: MirrorRef) -> OffsetMap | None:
        """The map of a mirror as it is now, without its logs; None where it never began to keep one.

        Raises `ClusterError`.
        """

    def truncations(self, mirror: MirrorRef) -> Truncations:
        """Where logs of the mirror's source were cut after they had been copied, as runs have recorded it.

        Raises `DcctlError` where that cannot be read.
        """

    def isolation_level(self, mirror: MirrorRef) -> str:
        """With which a mirror reads; where nobody can be asked that with which dcctl makes them."""

    def copies_all(self, mirror: MirrorRef) -> bool:
        """Whether a mirror surely leaves out no record that a reader with its isolation level gets."""

    @property
    def search(self) -> SearchBudget:
        """What this move may still read for places by content."""

    def gaps_now(self, mirror: MirrorRef) -> dict[TopicPartition, SourceGaps]:
        """What the mirror's source says of gaps in its partitions; nothing where it cannot be asked."""


@dataclass(frozen=True, slots=True)
class HostsDone:
    """Hosts that did something, and the clients of which no host did (None: the inventory is not known)."""

    at_work: frozenset[str]
    left_out: tuple[str, ...] | None


class Hosts(Protocol):
    """The hosts of applications."""

    def run_clients(
        self,
        doing: Literal["start", "stop"],
        cluster: str,
        clients: Iterable[str],
        *,
        sites: Sequence[str],
        name: str,
        timeout_s: float,
    ) -> HostsDone:
        """Start or stop clients at sites of a cluster (none named: all). Those that are so are left alone.

        All that is said meanwhile is kept under `name`. Raises `PlaybookError`.
        """


class Looks(Protocol):
    """What kinds of applications may look at before anything is decided. It changes nothing."""

    def port(self, kind: type[P]) -> P:
        """The one look of that kind. Raises `DcctlError` where there is none."""


class PartialLook(Closed, Protocol):
    """One cluster, read as far as it answers, broker by broker."""

    brokers: dict[int, str]
    silent: dict[str, str]

    def ask_brokers(self) -> dict[int, str]:
        """Who answers now: broker id -> address."""

    def partitions(
        self, wanted: Iterable[TopicPartition], *, anew: bool = False
    ) -> dict[TopicPartition, PartialPartition]:
        """Each with its log, or why it cannot be read. `anew`: who leads is asked again."""

    def reaches(self, wanted: Iterable[TopicPartition]) -> dict[TopicPartition, LogReach | ClusterError]:
        """How far each log reaches at its leader, or why nobody can tell."""

    def committed(self, groups: Iterable[str]) -> dict[str, Mapping[TopicPartition, int] | ClusterError]:
        """What each group has committed, or why its coordinator does not say it."""


class PartialClusters(Protocol):
    """Clusters of which only a part answers."""

    def left(self, cluster: str, timeout_s: float | None = None) -> PartialLook:
        """A look at one. To be closed."""

    def access_by(self, cluster: str, addresses: Iterable[str], timeout_s: float) -> Access:
        """The access rules of one, on new connections to these addresses."""


class BootGuards(Protocol):
    """Guards that keep brokers closed as they start."""

    def said(self, cluster: str) -> tuple[GuardSaid, ...] | None:
        """The newest word of each guard of a cluster; None where there is no ensemble to ask."""

    def why_not(self) -> str:
        """Why there is no ensemble."""

    def path(self, cluster: str) -> str:
        """Where in the ensemble they say it."""

    def look_at(self, cluster: str) -> tuple[SourceProbe, str]:
        """How a cluster answers, and why its guards keep all closed that takes connections (or empty)."""
