"""From what has to be done to the steps of a plan: in batches, side by side where nothing forbids it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.planning.layout.desired import DesiredEstate
from orchestrator.planning.layout.difference import Work
from orchestrator.planning.plan import Phase, Step
from orchestrator.values import TopicPartition
from orchestrator.wording import listed

# The controller takes at most 10,000 partitions a request (`ReplicationControlManager`).
_TOPICS_AT_ONCE = 500
_PARTITIONS_AT_ONCE = 5_000
_MOVES_AT_ONCE = 200
_RULES_AT_ONCE = 1_000
# How many requests one controller has to work on at the same time.
_LANES = 2
_BYTES_PER_S = 20_000_000
_MOVE_TIMEOUT_S = 24 * 3600.0

COPIED_BYTES = "copied_bytes"
Sizes = Mapping[str, Mapping[TopicPartition, int]]


@dataclass(frozen=True, slots=True)
class _Kind:
    """How the works of one action become steps."""

    phase: Phase
    title: str
    holds: str
    at_once: int
    weight: Callable[[Work], int]
    verify: str
    compensation: str | None = None
    verify_undone: str | None = None
    expected_s: tuple[float, float] = (0.5, 0.0)
    timeout_s: float = 120.0
    lanes: int = _LANES
    irreversible: bool = False


def _one(_: Work) -> int:
    return 1


def _new_partitions(work: Work) -> int:
    """Records that the controller writes for it."""
    return int(work.arguments["partitions"]) + len(work.arguments["config"]) + 1


def _added_partitions(work: Work) -> int:
    return int(work.arguments["total"]) - int(work.arguments["was"])


def _moved_partitions(work: Work) -> int:
    return len(work.arguments["partitions"])


def _rules(work: Work) -> int:
    return len(work.arguments["rules"])


_KINDS: Mapping[str, _Kind] = {
    "delete-connectors": _Kind(
        "remove", "Delete connectors", "connectors", _TOPICS_AT_ONCE, _one, "connectors-are-gone"
    ),
    "create-acls": _Kind(
        "access", "Allow", "rules", _RULES_AT_ONCE, _rules, "rules-are-there", "delete-acls",
        "rules-are-gone", (0.3, 0.002),
    ),
    "create-topics": _Kind(
        "topics", "Create", "topics", _PARTITIONS_AT_ONCE, _new_partitions, "topics-are-there",
        "delete-empty-topics", "topics-are-gone", (0.5, 0.002),
    ),
    "set-config": _Kind(
        "topics", "Set the configuration of", "topics", _TOPICS_AT_ONCE, _one, "config-is-set",
        "restore-config", "config-is-restored", (0.3, 0.002),
    ),
    "move-replicas": _Kind(
        "replicas", "Move replicas of", "topics", _MOVES_AT_ONCE, _moved_partitions, "replicas-have-moved",
        "move-replicas-back", "replicas-are-back", (2.0, 0.05), _MOVE_TIMEOUT_S, 1,
    ),
    "add-partitions": _Kind(
        "topics", "Add partitions to", "topics", _PARTITIONS_AT_ONCE, _added_partitions,
        "partitions-are-there", expected_s=(0.5, 0.002), irreversible=True,
    ),
    "create-connectors": _Kind(
        "mirrors", "Create connectors", "connectors", _TOPICS_AT_ONCE, _one, "connectors-run",
        "delete-connectors", "connectors-are-gone", (4.0, 0.0),
    ),
    "configure-connectors": _Kind(
        "mirrors", "Set up connectors", "connectors", _TOPICS_AT_ONCE, _one, "connectors-run",
        expected_s=(4.0, 0.0),
    ),
    "resume-connectors": _Kind(
        "mirrors", "Resume connectors", "connectors", _TOPICS_AT_ONCE, _one, "connectors-run",
        expected_s=(2.0, 0.0),
    ),
    "restart-connectors": _Kind(
        "mirrors", "Restart connectors", "connectors", _TOPICS_AT_ONCE, _one, "connectors-run",
        expected_s=(4.0, 0.0),
    ),
    "delete-acls": _Kind(
        "remove", "Withdraw", "rules", _RULES_AT_ONCE, _rules, "rules-are-gone", "create-acls",
        "rules-are-there", (0.3, 0.002),
    ),
    "delete-topics": _Kind(
        "remove", "Delete", "topics", _TOPICS_AT_ONCE, _one, "topics-are-gone", irreversible=True
    ),
}  # fmt: skip


def layout_steps(works: Iterable[Work], desired: DesiredEstate, sizes: Sizes) -> tuple[Step, ...]:
    """The steps that do all of the works.

    Each step is one request to one cluster, or a few. Clusters do not wait for each other, but where one
    thing rests on another: connectors on the topics and rules of both sides; partitions of a source on those
    of its copies, so that the mirror always has where to write; min.insync.replicas on the replicas; rules
    that are withdrawn on those that take their place.
    """
    groups = _Groups(works, desired, sizes)
    return tuple(groups.steps())


@dataclass(slots=True)
class _Groups:
    """Works by what has to come after what."""

    works: Iterable[Work]
    desired: DesiredEstate
    sizes: Sizes
    _made: dict[tuple[str, str, str], list[str]] = field(default_factory=dict)

    def steps(self) -> Iterator[Step]:
        """Every group's steps, in an order in which they could all be done one by one."""
        sorted_in = self._by_group()
        for action, stage in _ORDER:
            for cluster in self.desired.clusters:
                found = sorted_in.get((action, stage, cluster))
                if found:
                    yield from self._steps_of(action, stage, cluster, found)

    def _by_group(self) -> dict[tuple[str, str, str], list[Work]]:
        merged: dict[tuple[str, str, str], Work] = {}
        for work in self.works:
            key = (work.action, work.cluster, work.name)
            merged[key] = _together(merged[key], work) if key in merged else work
        moves = {(w.cluster, w.name): w for w in merged.values() if w.action == "move-replicas"}
        groups: dict[tuple[str, str, str], list[Work]] = {}
        for work in merged.values():
            stage = self._stage(work, moves.get((work.cluster, work.name)))
            groups.setdefault((work.action, stage, work.cluster), []).append(work)
        return groups

    def _stage(self, work: Work, move: Work | None) -> str:
        if work.action == "add-partitions":
            role = self.desired.clusters[work.cluster].topics[work.name].role
            return "copies" if role in ("mirrored", "landing") else "sources"
        if work.action == "set-config" and move is not None:
            return "before-move" if _has_fewer(move) else "after-move"
        return ""

    def _steps_of(self, action: str, stage: str, cluster: str, works: Sequence[Work]) -> Iterator[Step]:
        kind = _KINDS[action]
        made = self._made.setdefault((action, stage, cluster), [])
        before = self._before(action, stage, cluster, works)
        for batch in _batches(works, kind):
            number = sum(len(ids) for (a, _, c), ids in self._made.items() if (a, c) == (action, cluster)) + 1
            lane = [made[-kind.lanes]] if len(made) >= kind.lanes else []
            step = self._step(f"{action}-{cluster}-{number}", action, cluster, batch)
            made.append(step.id)
            yield replace(step, depends_on=tuple(dict.fromkeys([*before, *lane])))

    def _before(self, action: str, stage: str, cluster: str, works: Sequence[Work]) -> list[str]:
        """Steps that these must wait for."""
        here = {cluster}
        if _KINDS[action].phase == "mirrors":
            here |= {str(work.arguments["source"]) for work in works}
        if (action, stage) in _AFTER_ALL:
            here = set(self.desired.clusters)
        needed = _AFTER.get((action, stage), _AFTER.get((action, ""), ()))
        return [
            step_id
            for (made_action, made_stage, made_cluster), ids in self._made.items()
            if (made_action, made_stage) in needed and made_cluster in here
            for step_id in ids
        ]

    def _step(self, step_id: str, action: str, cluster: str, batch: Sequence[Work]) -> Step:
        kind = _KINDS[action]
        weight = sum(kind.weight(work) for work in batch)
        base_s, each_s = kind.expected_s
        arguments, size = _arguments(kind, cluster, batch), ""
        expected_s = base_s + each_s * weight
        if action == "move-replicas":
            moved, expected_s = _moved_bytes(batch, self.sizes.get(cluster)), base_s + each_s * weight
            arguments[COPIED_BYTES] = moved
            size = ", an unknown amount of data" if moved is None else f", {moved / 1e6:,.0f} MB"
            expected_s += 0.0 if moved is None else moved / _BYTES_PER_S
        what = _what(kind, batch)
        return Step(
            id=step_id,
            phase=kind.phase,
            title=f"{kind.title} {what} at {cluster}{size}",
            action=action,
            arguments=arguments,
            verify=kind.verify,
            compensation=kind.compensation,
            verify_undone=kind.verify_undone,
            irreversible=kind.irreversible or any(work.arguments.get("irreversible") for work in batch),
            expected_s=round(expected_s, 2),
            timeout_s=kind.timeout_s,
        )


# The order in which groups are made, and what each one waits for: (action, stage) of the same cluster, and of
# the source for connectors, of every cluster for `_AFTER_ALL`.
_ORDER: tuple[tuple[str, str], ...] = (
    ("delete-connectors", ""),
    ("create-acls", ""),
    ("create-topics", ""),
    ("set-config", ""),
    ("set-config", "before-move"),
    ("move-replicas", ""),
    ("set-config", "after-move"),
    ("add-partitions", "copies"),
    ("add-partitions", "sources"),
    ("create-connectors", ""),
    ("configure-connectors", ""),
    ("resume-connectors", ""),
    ("restart-connectors", ""),
    ("delete-acls", ""),
    ("delete-topics", ""),
)
_GROUND = (
    ("create-acls", ""),
    ("create-topics", ""),
    ("add-partitions", "copies"),
)
_AFTER: Mapping[tuple[str, str], tuple[tuple[str, str], ...]] = {
    ("move-replicas", ""): (("set-config", "before-move"),),
    ("set-config", "after-move"): (("move-replicas", ""),),
    ("add-partitions", "copies"): (("move-replicas", ""),),
    ("add-partitions", "sources"): (
        ("move-replicas", ""),
        ("add-partitions", "copies"),
        ("create-topics", ""),
    ),
    ("create-connectors", ""): _GROUND,
    ("configure-connectors", ""): _GROUND,
    ("resume-connectors", ""): (*_GROUND, ("configure-connectors", "")),
    ("restart-connectors", ""): (*_GROUND, ("configure-connectors", "")),
    # Whoever uses a right has what takes its place before it is withdrawn.
    ("delete-acls", ""): (
        ("delete-connectors", ""),
        ("create-acls", ""),
        ("create-connectors", ""),
        ("configure-connectors", ""),
    ),
    ("delete-topics", ""): (("delete-connectors", ""),),
}
# What waits for the other clusters as well: a source for its copies, and what a mirror used for its end.
_AFTER_ALL = (("add-partitions", "sources"), ("delete-acls", ""), ("delete-topics", ""))


def _together(first: Work, second: Work) -> Work:
    """Two works on the same object as one: settings are collected, anything else says the same twice."""
    if first.action != "set-config":
        return first
    return replace(
        first,
        arguments={
            "set": {**first.arguments["set"], **second.arguments["set"]},
            "was": {**first.arguments["was"], **second.arguments["was"]},
            "irreversible": bool(first.arguments.get("irreversible") or second.arguments.get("irreversible")),
        },
    )


def _has_fewer(move: Work) -> bool:
    return any(len(entry["replicas"]) < len(entry["was"]) for entry in move.arguments["partitions"].values())


def _batches(works: Sequence[Work], kind: _Kind) -> Iterator[list[Work]]:
    batch: list[Work] = []
    weight = 0
    for work in works:
        more = kind.weight(work)
        if batch and (weight + more > kind.at_once or len(batch) >= _TOPICS_AT_ONCE):
            yield batch
            batch, weight = [], 0
        batch.append(work)
        weight += more
    if batch:
        yield batch


def _arguments(kind: _Kind, cluster: str, batch: Sequence[Work]) -> dict[str, Any]:
    if kind.holds == "rules":
        return {"cluster": cluster, "rules": [rule for work in batch for rule in work.arguments["rules"]]}
    return {"cluster": cluster, kind.holds: {work.name: dict(work.arguments) for work in batch}}


def _what(kind: _Kind, batch: Sequence[Work]) -> str:
    if kind.holds == "rules":
        count = sum(len(work.arguments["rules"]) for work in batch)
        principals = sorted({str(rule[0]) for work in batch for rule in work.arguments["rules"]})
        return f"{count} operations of {listed(principals)}"
    names = listed(work.name for work in batch)
    if kind.holds == "connectors":
        return names
    return f"topic {names}" if len(batch) == 1 else f"{len(batch)} topics ({names})"


def _moved_bytes(batch: Sequence[Work], sizes: Mapping[TopicPartition, int] | None) -> int | None:
    """Bytes that are copied to brokers that did not have them."""
    if sizes is None:
        return None
    total = 0
    for work in batch:
        for number, entry in work.arguments["partitions"].items():
            size = sizes.get(TopicPartition(work.name, int(number)))
            if size is None:
                return None
            total += size * len(set(entry["replicas"]) - set(entry["was"]))
    return total
