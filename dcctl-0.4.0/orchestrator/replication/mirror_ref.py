"""Which mirror of a file an effect means, and which way."""

from __future__ import annotations

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from orchestrator.errors import DcctlError, UsageError
from orchestrator.replication.positions_back import reverse_mirror
from orchestrator.topology.model import Consumer, Replication, Topology
from orchestrator.values import TopicPartition


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class MirrorRef:
    """The mirror of the file from `source` to `target`; with `is_back` the one that dcctl makes against the
    direction of a mirror of the file, which leads from `target` to `source`.
    """

    source: str
    target: str
    is_back: bool = False

    @property
    def home(self) -> str:
        """The cluster where its topics live by the file."""
        return self.target if self.is_back else self.source

    @property
    def workers(self) -> str:
        """The cluster whose Connect workers run it: those of the file's mirror run the way back as well."""
        return self.source if self.is_back else self.target

    @property
    def other_way(self) -> MirrorRef:
        """The one between the same two clusters that leads the other way."""
        return MirrorRef(source=self.target, target=self.source, is_back=not self.is_back)

    def of(self, topology: Topology) -> Replication:
        """The mirror itself. Raises `DcctlError` where the file has none between the two."""
        source, target = (self.target, self.source) if self.is_back else (self.source, self.target)
        for mirror in topology.replication:
            if (mirror.source, mirror.target) == (source, target):
                return reverse_mirror(mirror) if self.is_back else mirror
        raise DcctlError(f"topology {topology.name}", f"has no mirror {source} → {target}")

    def __str__(self) -> str:
        return f"{self.source} → {self.target}"


def ref_to(mirror: Replication) -> MirrorRef:
    """Names a mirror of a file."""
    return MirrorRef(source=mirror.source, target=mirror.target)


def source_partitions(
    topology: Topology, mirror: Replication, consumer: Consumer | None = None
) -> tuple[TopicPartition, ...]:
    """Every partition of every mirrored topic, as the source names it; of those that `consumer` reads."""
    wanted = None if consumer is None else frozenset(topology.topics_read(consumer))
    return tuple(
        TopicPartition(name, number)
        for name in mirror.topics
        if wanted is None or name in wanted
        if (topic := topology.topic(name, mirror.source)) is not None
        for number in range(topic.partitions)
    )


def mirrors_into(topology: Topology, target: str | None = None) -> tuple[Replication, ...]:
    """The topology's mirrors, or those into `target`. Raises `UsageError` if there is none."""
    mirrors = tuple(m for m in topology.replication if target in (None, m.target))
    if not mirrors:
        into = f" into {target}" if target else ""
        known = ", ".join(sorted({m.target for m in topology.replication})) or "none"
        raise UsageError(f"topology {topology.name}", f"has no mirror{into}", f"mirrors lead into: {known}")
    return mirrors
