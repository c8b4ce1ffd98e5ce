"""What was applied last: the third side, which tells what somebody changed from what the file says anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from orchestrator.errors import DcctlError
from orchestrator.estate.desired import DesiredCluster, DesiredEstate
from orchestrator.estate.desired_topics import DesiredTopic, Placement
from orchestrator.estate.observed import ObservedEstate
from orchestrator.reconcile.difference import CONFIG, PARTITIONS, Cause, Difference
from orchestrator.values import Acl, QuotaOwner

_FORMAT_VERSION = 1
_K = TypeVar("_K")
_T = TypeVar("_T")


class AppliedTopic(NamedTuple):
    """What the file said of a topic."""

    partitions: int | None
    replicas: int
    config: Mapping[str, str]
    datacenters: tuple[str, ...]
    per_dc: Mapping[str, int]

    @property
    def placement(self) -> tuple[tuple[str, ...], Mapping[str, int]]:
        """Where its replicas were to lie."""
        return self.datacenters, self.per_dc


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedCluster:
    """What was applied to one cluster. `topic_ids`: those that its topics had then."""

    topics: Mapping[str, AppliedTopic] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    acls: frozenset[Acl] = frozenset()
    connectors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    quotas: Mapping[QuotaOwner, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What a run has applied."""

    run_id: str
    at_s: float
    clusters: Mapping[str, AppliedCluster]

    def says_the_same(self, other: Applied) -> bool:
        """Whether both hold the same, whoever applied it."""
        return self.clusters == other.clusters


def applied_now(
    desired: DesiredEstate,
    observed: ObservedEstate,
    run_id: str,
    *,
    before: Applied | None = None,
    left: Iterable[Difference] = (),
) -> Applied:
    """The record of an estate of which only the differences `left` are not as the file says.

    Where the file says something new that was left undone, that alone is remembered as it was `before`:
    it was not applied.
    """
    undone: dict[str, list[Difference]] = {}
    for difference in left:
        if difference.cause == "change":
            undone.setdefault(difference.cluster, []).append(difference)
    clusters = {}
    for name, cluster in desired.clusters.items():
        ids = {topic.name: topic.topic_id for topic in observed.clusters[name].topics.values()}
        now = _applied_cluster(cluster, ids)
        known = before.clusters.get(name) if before else None
        clusters[name] = _with_undone(now, known or AppliedCluster(), undone.get(name, ()))
    return Applied(run_id=run_id, at_s=observed.at_s, clusters=clusters)


def _applied_cluster(cluster: DesiredCluster, ids: Mapping[str, str]) -> AppliedCluster:
    return AppliedCluster(
        topics={name: applied_topic(topic) for name, topic in cluster.topics.items()},
        topic_ids={name: ids[name] for name in cluster.topics if name in ids},
        acls=cluster.acls,
        connectors={name: connector.config for name, connector in cluster.connectors.items()},
        quotas=cluster.quotas,
    )


def _with_undone(now: AppliedCluster, before: AppliedCluster, undone: Iterable[Difference]) -> AppliedCluster:
    topics, ids, connectors = dict(now.topics), dict(now.topic_ids), dict(now.connectors)
    acls, quotas = set(now.acls), dict(now.quotas)
    for difference in undone:
        kind, _, name = difference.subject.partition(" ")
        if kind == "topic":
            topic = _topic_with_undone(topics.pop(name, None), before.topics.get(name), difference)
            topics |= {name: topic} if topic is not None else {}
            if name not in now.topics:
                _put_back(ids, before.topic_ids, name)
        elif kind == "connector":
            _put_back(connectors, before.connectors, name)
        elif kind == "quota":
            for owner in now.quotas.keys() | before.quotas.keys():
                if difference.subject == quota_of(owner):
                    _put_back(quotas, before.quotas, owner)
        else:
            acls |= {acl for acl in before.acls if difference.subject == rules_of(acl.principal)}
    return replace(
        now, topics=topics, topic_ids=ids, acls=frozenset(acls), connectors=connectors, quotas=quotas
    )


def _topic_with_undone(
    now: AppliedTopic | None, before: AppliedTopic | None, difference: Difference
) -> AppliedTopic | None:
    """What is remembered of a topic of which one aspect was left as it was found.

    Nothing, where its replicas were left and nobody knows what they had been meant to be.
    """
    aspect, _, key = difference.aspect.partition(" ")
    if now is not None and aspect == CONFIG:
        others = {name: value for name, value in now.config.items() if name != key}
        return now._replace(config={**others, key: difference.found} if difference.found else others)
    if now is not None and aspect == PARTITIONS:
        return now._replace(partitions=int(difference.found))
    if now is not None and before is not None:
        return now._replace(replicas=before.replicas, datacenters=before.datacenters, per_dc=before.per_dc)
    return None if now is not None else before


def _put_back(now: dict[_K, _T], before: Mapping[_K, _T], name: _K) -> None:
    now.pop(name, None)
    if name in before:
        now[name] = before[name]


def quota_of(owner: QuotaOwner) -> str:
    """How differences name the client quota of somebody."""
    return f"quota of {owner}"


def rules_of(principal: str) -> str:
    """How differences name the access rules of one principal."""
    return f"rules of {principal}"


def applied_topic(topic: DesiredTopic) -> AppliedTopic:
    """What is remembered of a topic."""
    placement: Placement = topic.placement
    return AppliedTopic(
        topic.partitions, topic.replicas, topic.config, placement.datacenters, placement.per_dc
    )


def cause_of(last: object, wanted: object, found: object, *, is_known: bool) -> Cause:
    """Drift or change, by what the last apply had set; not `is_known` where nothing was recorded of it.

    Where the file has changed *and* the cluster is not as the last apply left it, somebody has changed it.
    """
    if not is_known:
        return "change"
    return "change" if last != wanted and last == found else "drift"


def applied_to_json(applied: Applied) -> dict[str, Any]:
    """Plain JSON data, small enough for ten thousand topics."""
    return {
        "format_version": _FORMAT_VERSION,
        "run_id": applied.run_id,
        "at_s": applied.at_s,
        "clusters": {
            name: {
                "topics": {topic: list(said) for topic, said in cluster.topics.items()},
                "topic_ids": dict(cluster.topic_ids),
                "acls": [list(acl) for acl in sorted(cluster.acls)],
                "connectors": {connector: dict(config) for connector, config in cluster.connectors.items()},
                **_quotas_to_json(cluster.quotas),
            }
            for name, cluster in applied.clusters.items()
        },
    }


def _quotas_to_json(quotas: Mapping[QuotaOwner, int]) -> dict[str, Any]:
    return {"quotas": [[*owner, limit] for owner, limit in sorted(quotas.items(), key=str)]} if quotas else {}


def applied_from_json(data: Mapping[str, Any]) -> Applied:
    """The record read back. Raises `DcctlError` when it is none, or of another format."""
    version = data.get("format_version")
    if version != _FORMAT_VERSION:
        raise DcctlError(
            "the record of the last apply", f"format_version is {version!r}, expected {_FORMAT_VERSION}"
        )
    try:
        return Applied(
            run_id=str(data["run_id"]),
            at_s=float(data["at_s"]),
            clusters={name: _cluster_from_json(cluster) for name, cluster in data["clusters"].items()},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DcctlError("the record of the last apply", f"cannot be read: {error!r}") from None


def _cluster_from_json(data: Mapping[str, Any]) -> AppliedCluster:
    return AppliedCluster(
        topics={
            name: AppliedTopic(partitions, replicas, config, tuple(datacenters), per_dc)
            for name, (partitions, replicas, config, datacenters, per_dc) in data["topics"].items()
        },
        topic_ids=data["topic_ids"],
        acls=frozenset(Acl(*acl) for acl in data["acls"]),
        connectors=data["connectors"],
        quotas={QuotaOwner(user, client_id): limit for user, client_id, limit in data.get("quotas", ())},
    )
