"""The runbook of an apply: what mends an estate, in batches, side by side where nothing forbids it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.estate.desired import DesiredEstate
from orchestrator.reconcile.access import CreateAcls, DeleteAcls
from orchestrator.reconcile.batch import B, Batch, batched
from orchestrator.reconcile.connectors import (
    ConfigureConnectors,
    CreateConnectors,
    DeleteConnectors,
    RestartConnectors,
    ResumeHalted,
)
from orchestrator.reconcile.quotas import SetQuotas
from orchestrator.reconcile.record import RecordApplied
from orchestrator.reconcile.replicas import MoveReplicas
from orchestrator.reconcile.topics import AddPartitions, CreateTopics, DeleteTopics, OnTopics, SetConfig
from orchestrator.runs.effect import Handle, Nothing
from orchestrator.runs.hooks import HOOK_EFFECTS
from orchestrator.runs.registry import Registry
from orchestrator.runs.runbook import After, Runbook, behind

LAYOUT_EFFECTS = HOOK_EFFECTS | Registry(
    AddPartitions,
    ConfigureConnectors,
    CreateAcls,
    CreateConnectors,
    CreateTopics,
    DeleteAcls,
    DeleteConnectors,
    DeleteTopics,
    MoveReplicas,
    RecordApplied,
    RestartConnectors,
    ResumeHalted,
    SetConfig,
    SetQuotas,
)

Made = Mapping[str, Sequence[Handle[Nothing]]]
"""Steps of one kind, by the cluster at which they are."""


@dataclass(frozen=True, slots=True)
class _Behind:
    """Wait for these at the clusters on which a step rests, or at every one, because."""

    made: tuple[Made, ...]
    because: str
    at_every_one: bool = False

    def order(self, sides: frozenset[str]) -> After:
        """For a step that rests on these clusters."""
        handles = (
            handle
            for made in self.made
            for cluster, found in made.items()
            if self.at_every_one or cluster in sides
            for handle in found
        )
        return behind(*handles, because=self.because)


def add_works(book: Runbook, works: Iterable[Batch], desired: DesiredEstate) -> None:
    """Add the steps that do all of the works.

    Each step is one request to one cluster, or a few. Clusters do not wait for each other, but where one
    thing rests on another.
    """
    kinds = _Kinds(book, works, desired)
    add = kinds.add
    with book.section("remove mirrors", on_failure="stop"):
        unmirrored = add(DeleteConnectors)
    with book.section("access rules, topics and settings", on_failure="stop"):
        allowed = add(CreateAcls)
        limited = add(SetQuotas)
        created = add(CreateTopics)
        add(SetConfig, only=lambda work: kinds.makes_fewer(work) is None)
        lowered = add(SetConfig, only=lambda work: kinds.makes_fewer(work) is True)
    with book.section("replicas", on_failure="stop"):
        enough = _Behind((lowered,), "min.insync.replicas is lowered before replicas are removed")
        moved = add(MoveReplicas, enough)
        there = _Behind((moved,), "min.insync.replicas is raised once there are more replicas")
        add(SetConfig, there, only=lambda work: kinds.makes_fewer(work) is False)
    with book.section("partitions", on_failure="stop"):
        placed = "Kafka adds no partition to a topic whose replicas move"
        widened = add(AddPartitions, _Behind((moved,), placed), only=kinds.is_copy)
        copies = _Behind(
            (moved, created, widened),
            "the mirror needs the partitions of its copies first",
            at_every_one=True,
        )
        add(AddPartitions, copies, only=lambda work: not kinds.is_copy(work))
    with book.section("mirrors", on_failure="stop"):
        ground = _Behind(
            (allowed, created, widened), "a mirror needs its access rules and topics at both clusters"
        )
        throttled = _Behind((limited,), "a mirror that has a limit copies nothing before it is in force")
        mirrored = add(CreateConnectors, ground, throttled)
        configured = add(ConfigureConnectors, ground, throttled)
        set_up = _Behind((configured,), "a connector is configured before it runs")
        add(ResumeHalted, ground, throttled, set_up)
        add(RestartConnectors, ground, throttled, set_up)
    with book.section("remove what is not needed any more", on_failure="stop"):
        in_place = (unmirrored, allowed, mirrored, configured)
        replaced = "the rules that replace a right come before it is withdrawn"
        add(DeleteAcls, _Behind(in_place, replaced, at_every_one=True))
        unused = "no mirror reads or writes a topic when it is deleted"
        add(DeleteTopics, _Behind((unmirrored,), unused, at_every_one=True))


class _Kinds:
    """Works by what they are and where; those on the same object are one."""

    def __init__(self, book: Runbook, works: Iterable[Batch], desired: DesiredEstate) -> None:
        self._book, self._desired = book, desired
        alike: dict[tuple[Any, ...], list[Batch]] = {}
        for work in works:
            alike.setdefault((type(work), work.cluster, work.objects), []).append(work)
        self._works = [found[0].joined(found) for found in alike.values()]
        self._fewer = {
            (work.cluster, *work.objects): work.makes_fewer
            for work in self._works
            if isinstance(work, MoveReplicas)
        }
        self._counts: Counter[tuple[str, str]] = Counter()

    def makes_fewer(self, work: OnTopics) -> bool | None:
        """Whether the same topic is to have fewer replicas; None where none of its replicas move."""
        return self._fewer.get((work.cluster, *work.objects))

    def is_copy(self, work: AddPartitions) -> bool:
        """Whether a mirror writes the topic, now or after a move."""
        (topic,) = work.topics
        return self._desired.clusters[work.cluster].topics[topic].role in ("mirrored", "landing")

    def add(
        self, kind: type[B], *orders: _Behind, only: Callable[[B], bool] = lambda _: True
    ) -> dict[str, list[Handle[Nothing]]]:
        """Add the steps of a kind, cluster by cluster; `only` those of these works."""
        made: dict[str, list[Handle[Nothing]]] = {}
        stem = kind.STEP_ID or kind.NAME
        at_once = f"a controller works on {kind.LANES} of these at a time"
        for cluster in self._desired.clusters:
            works = [
                work
                for work in self._works
                if isinstance(work, kind) and work.cluster == cluster and only(work)
            ]
            sides = frozenset[str]().union(*(work.sides for work in works))
            after = [order.order(sides) for order in orders]
            steps = made.setdefault(cluster, [])
            for batch in batched(works):
                self._counts[stem, cluster] += 1
                lane = [steps[-kind.LANES]] if len(steps) >= kind.LANES else []
                step_id = f"{stem}-{cluster}-{self._counts[stem, cluster]}"
                steps.append(
                    self._book.add(batch, id=step_id, after=[*after, behind(*lane, because=at_once)])
                )
        return made
