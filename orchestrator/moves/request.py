"""What a person asked for, verb by verb, and which mirror of the topology that means."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass

from orchestrator.errors import UsageError
from orchestrator.moves.fence import Fenced, fenced
from orchestrator.topology.durability.losses import servers_of
from orchestrator.topology.model import Replication, Topology
from orchestrator.topology.standby import standbys_of

_CONFIG = ConfigDict(extra="forbid")
DRAIN_TIMEOUT_S = 60.0
CATCH_UP_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class MoveRequest:
    """A move as asked for on the command line.

    `acknowledge`: `OWNER: comment` of whoever answers for a move that follows another one soon.
    `accept_cluster`: see `same_clusters`. `accept_unread`: consumers that may miss what is written after the
    move, because this person accepts it. `by` and `reason` go to the journal.
    """

    acknowledge: str = ""
    accept_cluster: tuple[str, ...] = ()
    accept_unread: tuple[str, ...] = ()
    by: str = ""
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        """For the plan and the journal."""
        found: dict[str, Any] = TypeAdapter(type(self)).dump_python(self, mode="json")
        return {name: value for name, value in found.items() if value or name not in _OF_A_PART}


_OF_A_PART = frozenset({"applications", "topics", "left_out"})


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class PartRequest(MoveRequest):
    """A move of all, or of a part.

    `applications` and `topics`: only these, a topic with all that write and read it. `left_out`: these stay
    where they are, of what was named or of all.
    """

    applications: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def is_of_all(self) -> bool:
        """Whether nothing was named."""
        return not (self.applications or self.topics or self.left_out)


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class FailoverRequest(PartRequest):
    """A failover.

    `attested`: data centres that a person says are down. `accept_loss`: records that this person accepts to
    lose, in place of the file's budget. `sick`: data centres that this person says are sick: what still
    answers there is fenced and drained first; `accept_unfenced`: go on though it cannot be fenced, this
    person has seen to it that nobody writes there. `without_coordination`: this person knows that the
    ensemble is gone, and that nobody else acts meanwhile.
    """

    attested: tuple[str, ...] = ()
    sick: tuple[str, ...] = ()
    accept_unfenced: bool = False
    to: str | None = None
    accept_loss: int | None = None
    without_coordination: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class SwitchoverRequest(PartRequest):
    """A planned move. `timeout_s` is how long the mirror may take to drain.

    `left`: the cluster that is left, where the file does not say which one goes to `to`.
    `accept_reread`: records that all groups together may read again where a position has no exact place.
    """

    to: str
    left: str = ""
    timeout_s: float = DRAIN_TIMEOUT_S
    accept_reread: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class FailbackRequest(PartRequest):
    """A failback. `to` is the primary that has returned; `left` the cluster where its applications are, where
    they may be at several.

    `accept_loss`: records that may be missing from its logs. `accept_unrecorded`: go on though it is not
    recorded how some of its logs stood, so that nobody knows how much is missing from these.
    `accept_reread`: records that all groups together may read again where a position has no exact place.
    `timeout_s`: how long either mirror may take to catch up, and the reverse mirror to drain.
    """

    to: str = ""
    left: str = ""
    accept_loss: int = 0
    accept_unrecorded: bool = False
    accept_reread: int = 0
    timeout_s: float = CATCH_UP_TIMEOUT_S


def refuse_unknown_cluster(topology: Topology, name: str, said: str) -> None:
    """Raise `UsageError` for a cluster that the file does not have; `said`: what it was named by."""
    _refuse_unknown(name, said, "cluster", topology.clusters)


def refuse_unknown_site(topology: Topology, name: str, said: str) -> None:
    """The same for a data centre. Of a rack or a server that is attested to be down no failover is made."""
    if name in topology.datacenters:
        return
    known = ", ".join(topology.datacenters)
    if "," in name:
        problem = f"is no data centre; the file has: {known}"
        raise UsageError(f"{said} {name}", problem, f"give {said} once for each of several")
    if not name:
        raise UsageError(said, "the name is empty", f"the file has: {known}")
    places = {place for server in servers_of(topology) for place in server.places}
    part = next((place for place in sorted(places) if name in {place, place.rpartition("/")[2]}), None)
    if part is not None:
        raise _a_part(part, name, said, known)
    _refuse_unknown(name, said, "data centre", topology.datacenters)


def _a_part(part: str, name: str, said: str, known: str) -> UsageError:
    """For `name`, which means a rack or a server."""
    problem = f"{'is' if part == name else f'means {part},'} a part of a data centre"
    hint = f"name a whole one: {known}"
    if said == "--attest-down":
        problem += (
            ": failover answers the loss of whole ones. Kafka elects among what is left by itself, as far as "
            "a quorum and replicas in sync are"
        )
        hint = (
            f"dcctl status FILE tells what waits now; dcctl explain FILE --lose {part} what its loss means "
            "(of several at once: --lose A,B)"
        )
    return UsageError(f"{said} {name}", problem, hint)


def _refuse_unknown(name: str, said: str, kind: str, known: Collection[str]) -> None:
    if name not in known:
        raise UsageError(f"{said} {name}", f"there is no such {kind}; the file has: {', '.join(known)}")


def refuse_unknown_sites(topology: Topology, request: FailoverRequest) -> None:
    """Raise `UsageError` for a site that the file does not have, and for some down and others degraded."""
    for option, named in (("--attest-down", request.attested), ("--attest-degraded", request.sick)):
        for dc in named:
            refuse_unknown_site(topology, dc, option)
    if request.attested and request.sick:
        raise UsageError(
            "failover",
            "a site is either down or degraded, not both",
            "use --attest-down where nothing answers, --attest-degraded where a part does",
        )


def clusters_attested(topology: Topology, request: FailoverRequest) -> list[str]:
    """The clusters of which a site is down, or degraded, as a person says; in file order."""
    said = {*request.attested, *request.sick}
    return [name for name, one in topology.clusters.items() if said.intersection(one.datacenters)]


def accepted_unread(topology: Topology, names: Collection[str]) -> tuple[str, ...]:
    """Consumers of the file that may miss new records. Raises `UsageError` for one that it does not have."""
    for name in names:
        _refuse_unknown(name, "--accept-unread", "consumer", [c.name for c in topology.consumers])
    return tuple(names)


def mirror_to_fail_over(topology: Topology, request: FailoverRequest) -> Replication:
    """The mirror whose target takes over from the attested data centres.

    Raises `UsageError` naming the choices where the request fits none, or more than one.
    """
    refuse_unknown_sites(topology, request)
    if request.to is not None:
        refuse_unknown_cluster(topology, request.to, "--to")
    into_target = [m for m in topology.replication if request.to in (None, m.target)]
    if not into_target:
        into = f" into {request.to}" if request.to else ""
        raise UsageError("failover", f"the file has no mirror{into}", "only a mirrored cluster can be moved")
    attested = {*request.attested, *request.sick}
    fitting = _gone_along(
        topology, (m for m in into_target if attested.intersection(topology.clusters[m.source].datacenters))
    )
    # Without an attestation the gate says what is missing; here only the mirror is looked for.
    candidates = fitting or into_target
    if len(candidates) > 1:
        choices = ", ".join(f"{m.source} → {m.target}" for m in candidates)
        raise UsageError("failover", f"several mirrors are possible: {choices}", "choose one: --to CLUSTER")
    return candidates[0]


def mirror_to_switch_over(topology: Topology, to: str) -> Replication:
    """The mirror into `to`. Raises `UsageError` where there is none, or several."""
    refuse_unknown_cluster(topology, to, "--to")
    mirrors = _gone_along(topology, (mirror for mirror in topology.replication if mirror.target == to))
    if len(mirrors) != 1:
        known = ", ".join(f"{m.source} → {m.target}" for m in topology.replication) or "no mirror"
        problem = f"{len(mirrors)} mirrors lead there; the file has: {known}"
        raise UsageError(f"--to {to}", problem, "one mirror is moved at a time")
    return mirrors[0]


def mirror_to_fail_back(topology: Topology, to: str = "", left: str = "") -> Replication:
    """The mirror out of `to`, into `left`. Raises `UsageError` where there is none, or several."""
    out = (m for m in topology.replication if to in {"", m.source} and left in {"", m.target})
    mirrors = _gone_along(topology, out)
    if len(mirrors) != 1:
        known = ", ".join(f"{m.source} → {m.target}" for m in topology.replication) or "no mirror"
        problem = f"{len(mirrors)} mirrors come from there; the file has: {known}"
        raise UsageError(
            f"--to {to}" if to else "failback",
            problem,
            "name the cluster to go back to, and the one to go back from: --to CLUSTER --from CLUSTER",
        )
    return mirrors[0]


def _gone_along(topology: Topology, mirrors: Iterable[Replication]) -> list[Replication]:
    """Of several mirrors those along which the file sends applications, if any: others only copy."""
    known = list(mirrors)
    if len(known) == 1:
        return known
    return [m for m in known if m.target in standbys_of(topology, m.source)] or known


def moved_principals(topology: Topology, mirror: Replication) -> Fenced:
    """Whom a move of this mirror keeps off its source, and the rules for that."""
    return fenced(topology, mirror.source, with_consumers=True)


def principals_back(topology: Topology, mirror: Replication) -> tuple[Fenced, Fenced]:
    """Whom a failback keeps off the returned primary, and whom off the standby: those who went there along
    this mirror, and those who were there before.
    """
    homes = frozenset({mirror.source, mirror.target})
    at_standby = fenced(topology, mirror.target, homes=homes, with_consumers=True)
    return moved_principals(topology, mirror), at_standby
