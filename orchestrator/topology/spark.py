"""Spark queries in the file: their keys, their rules, and what they need of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from orchestrator.topology.consumer_kinds import ConsumerKind
from orchestrator.topology.flows import Consumer
from orchestrator.topology.kinds import STRICT
from orchestrator.topology.model import Topology
from orchestrator.topology.rules.rule import Finding, rule
from orchestrator.topology.source import Path
from orchestrator.values import Acl


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Sink:
    """Where a Spark query writes, and what that place remembers between restarts."""

    kind: Literal["files", "delta", "kafka", "foreach-batch", "console", "other"]
    """Where the query writes."""
    remembers: Literal["batch-id", "nothing"] = "batch-id"
    """`batch-id`: a batch id seen once is skipped when it comes again (Spark's file sink, Delta, many
    foreachBatch functions).
    """
    on_relocation: Literal["new-identity", "refuse"] = "new-identity"
    """What to do where a relocated checkpoint could use such an id again: give the query a new identity
    at the sink, or refuse.
    """


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class SparkQuery(Consumer):
    """A Spark query, whose positions lie in its checkpoint."""

    noun: ClassVar[str] = "Spark query"
    caption: ClassVar[str] = "Spark query"
    mark: ClassVar[str] = "Spark"
    can_be_canary: ClassVar[bool] = False
    bound_to_site: ClassVar[bool] = True

    checkpoint: str | None = None
    """Where it keeps its checkpoint while it works at `cluster`: a path there."""
    standby_checkpoint: str | None = None
    """Where the same query looks for it after a move: a path at the target. The watcher keeps its copy
    beside it.
    """
    sink: Sink | None = None
    """Where it writes, and what that place remembers between restarts."""

    @property
    def groups(self) -> tuple[str, ...]:
        """It commits no offsets to Kafka."""
        return ()

    @property
    def program(self) -> str:
        """See `Consumer`."""
        return f"spark-{self.name}"

    def acls(self) -> tuple[Acl, ...]:
        """Spark makes up group ids with the query's prefix (kafka.group.id or groupIdPrefix)."""
        return self.allowed("GROUP", self.name, ("READ", "DESCRIBE"), "PREFIXED")

    def moved_to(self, cluster: str) -> SparkQuery:
        """It works with the checkpoint that was made for it there; the old one's place waits."""
        return replace(
            self,
            cluster=cluster,
            checkpoint=self.standby_checkpoint,
            standby_checkpoint=self.checkpoint,
        )

    def with_paths(self, home: Callable[[str], str], standby: Callable[[str], str]) -> SparkQuery:
        """See `Consumer`."""
        checkpoint, later = self.checkpoint, self.standby_checkpoint
        return replace(
            self,
            checkpoint=None if checkpoint is None else home(checkpoint),
            standby_checkpoint=None if later is None else standby(later),
        )

    def how_else_translated(self, to: str) -> str:
        """See `Consumer`."""
        return f"`dcctl relocate spark FILE --query {self.name} --to {to}` moves its checkpoint"


def queries_of(topology: Topology) -> Iterator[tuple[int, SparkQuery]]:
    """Every Spark query of the file, and its place among the consumers."""
    for index, consumer in enumerate(topology.consumers):
        if isinstance(consumer, SparkQuery):
            yield index, consumer


@rule(
    "spark-moves",
    "error",
    "A Spark query at a mirrored cluster names its checkpoint and its sink; a group has neither",
    "Without them the query cannot be relocated, and would start without its state.",
)
def spark_moves(topology: Topology) -> Iterator[Finding]:
    """Spark queries where a site loss must move them. Other kinds have no such keys."""
    mirrored_from = {mirror.source for mirror in topology.replication}
    for index, query in queries_of(topology):
        if query.cluster in mirrored_from:
            for key in ("checkpoint", "sink"):
                if getattr(query, key) is None:
                    message = f"Spark query `{query.name}` lacks `{key}`"
                    yield Finding(("consumers", index), message, "without it the query cannot be relocated")


@rule(
    "spark-checkpoints",
    "error",
    "Each Spark query has a checkpoint of its own",
    "Two queries in one folder destroy each other's state.",
)
def spark_checkpoints(topology: Topology) -> Iterator[Finding]:
    """Checkpoints and standby checkpoints, for each cluster."""
    targets = {mirror.source: mirror.target for mirror in topology.replication}
    owners: dict[tuple[str, str], str] = {}
    for index, query in queries_of(topology):
        places = (
            ("checkpoint", query.cluster, query.checkpoint),
            ("standby_checkpoint", targets.get(query.cluster, query.cluster), query.standby_checkpoint),
        )
        for key, cluster, folder in places:
            if folder is None:
                continue
            other = owners.setdefault((cluster, folder.rstrip("/")), query.name)
            if other != query.name:
                path: Path = ("consumers", index, key)
                message = f"`{query.name}` and `{other}` share the checkpoint {folder}"
                yield Finding(path, message, "give each a folder of its own")


@rule(
    "spark-standby",
    "warning",
    "A Spark query at a mirrored cluster says where it opens its checkpoint after a move",
    "Without standby_checkpoint no copy is kept at the target, and the "
    "state of the query is lost with the site.",
)
def spark_standby(topology: Topology) -> Iterator[Finding]:
    """Queries with a checkpoint and no place for its copy."""
    mirrored_from = {mirror.source for mirror in topology.replication}
    for index, query in queries_of(topology):
        if query.cluster in mirrored_from and query.checkpoint and query.standby_checkpoint is None:
            message = f"the state of Spark query `{query.name}` is kept at `{query.cluster}` only"
            yield Finding(("consumers", index), message, "add standby_checkpoint: a path at the target")


SPARK = ConsumerKind(
    name="spark",
    entry=SparkQuery,
    rules=(spark_moves, spark_checkpoints, spark_standby),
    keys_rule=spark_moves.id,
    takes_part="orchestrator.applications.spark.kind:SparkQueries",
    kept_by="orchestrator.applications.spark.live.copies:CopyKeeper",
    simulated="orchestrator.simulation.workload.install:query_program",
    audited="orchestrator.evidence.audit.kinds:BY_BATCHES",
    in_status="orchestrator.applications.spark.status:IN_STATUS",
)
