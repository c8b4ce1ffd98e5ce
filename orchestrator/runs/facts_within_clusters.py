"""What the estate record keeps of changes within one cluster: see `estate_record`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked_dataclass

from orchestrator.ports.services import ServiceState
from orchestrator.ports.voter_sets import Member
from orchestrator.ports.voters import FileChange

_CONFIG = ConfigDict(extra="ignore")


class ClusterFact:
    """What is so of one cluster since somebody changed something within it.

    Each declares as `kind` what it is called in the store, and as `about` the fields by which of two facts of
    a run the newer one takes the older one's place.
    """

    KINDS: ClassVar[dict[str, type[ClusterFact]]] = {}
    kind: ClassVar[str]
    about: ClassVar[tuple[str, ...]]
    cluster: str

    def __init_subclass__(cls, *, kind: str = "", about: tuple[str, ...] = ("cluster",)) -> None:
        """Known by its kind. A dataclass with slots is made a second time, from what the first one has."""
        if kind:
            cls.kind, cls.about = kind, about
        cls.KINDS[cls.kind] = cls


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class TopicOrder:
    """How replicas of a topic with that id stood in the assignments of some of its partitions."""

    topic_id: str
    replicas: Mapping[int, tuple[int, ...]]


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class SiteEvacuated(ClusterFact, kind="site_evacuated", about=("cluster", "site")):
    """Brokers of a site lead nothing from here on: their replicas stand last in assignments of `cluster`.

    `orders`: by topic, how the assignments that were changed stood before.
    """

    cluster: str
    site: str
    orders: Mapping[str, TopicOrder]


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class SitesReturned(ClusterFact, kind="sites_returned"):
    """Assignments of `cluster` stand as they did before its sites were evacuated.

    `but_for`: topics that were not to be seen. What is recorded of them stays so.
    """

    cluster: str
    but_for: tuple[str, ...] = ()


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class LongestFirst(ClusterFact, kind="longest_first"):
    """The replica with the longest log was put first, where none in sync was left, to be elected.

    `orders`: by topic, how the assignments that were changed stood before.
    """

    cluster: str
    orders: Mapping[str, TopicOrder]


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class MirrorHalted(ClusterFact, kind="mirror_halted", about=("cluster", "target")):
    """The mirror from `cluster` to `target` stands while `cluster` gives up records, or is about to.

    `ran`: it is to run again afterwards. `ends`: [topic, partition, offset] of the logs behind which it has
    to be set before that; empty before leaders were chosen, and once it is set.
    """

    cluster: str
    target: str
    ran: bool
    ends: tuple[tuple[str, int, int], ...] = ()


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class MirrorReleased(ClusterFact, kind="mirror_released", about=("cluster", "target")):
    """The mirror from `cluster` to `target` lies behind what is left, and runs if it had run before."""

    cluster: str
    target: str


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class MinInsyncLowered(ClusterFact, kind="min_insync_lowered"):
    """`min.insync.replicas` of topics was lowered at the loss of sites of `cluster`, for writes to go on.

    `before`: what each topic itself had set (None: nothing); `lowered`: what it got.
    """

    cluster: str
    sites: tuple[str, ...]
    before: Mapping[str, str | None]
    lowered: Mapping[str, int]


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class MinInsyncRestored(ClusterFact, kind="min_insync_restored"):
    """Topics of `cluster` have what they had before, but for those that were not to be seen."""

    cluster: str
    but_for: tuple[str, ...] = ()


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class SitesOff(ClusterFact, kind="sites_off"):
    """Servers of `cluster` at these sites are to be off from here on: guards of theirs start none."""

    cluster: str
    sites: tuple[str, ...]


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class SitesOn(ClusterFact, kind="sites_on"):
    """Servers of `cluster` may run at all of its sites again."""

    cluster: str


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class ServicesStopped(ClusterFact, kind="services_stopped"):
    """Services of servers of `cluster` at a lost site are stopped and disabled, or are being so.

    `before`: how each was before, by the name of its server.
    """

    cluster: str
    before: Mapping[str, ServiceState]


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class ServicesStarted(ClusterFact, kind="services_started"):
    """Services of `cluster` are as they were, but for those whose hosts could not be reached."""

    cluster: str
    but_for: tuple[str, ...] = ()


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class ApplicationsPlaced(ClusterFact, kind="applications_placed", about=("cluster", "at")):
    """Applications of `cluster` run at another of its sites from here on: `at`, program -> site.

    `seen`: they were seen at work there; before that they are being started.
    """

    cluster: str
    at: Mapping[str, str]
    seen: bool = False


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class ApplicationsHome(ClusterFact, kind="applications_home", about=("cluster", "programs")):
    """These `programs` of `cluster` run where the file has them again."""

    cluster: str
    programs: tuple[str, ...]


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class QuorumForced(ClusterFact, kind="quorum_forced"):
    """From here on `cluster` may have a metadata quorum of voters that are left, without those at `sites`.

    `generation`: how many such changes there have been at the cluster, with this one. `kept`: the voters that
    are the whole quorum: server -> id. `files`: how the file of each is changed. `lost`: `host:port` of the
    voters at `sites`. `left_out`: by site the ids of other voters that take no part.
    """

    cluster: str
    sites: tuple[str, ...]
    generation: int
    kept: Mapping[str, int]
    files: Mapping[str, FileChange]
    lost: tuple[str, ...] = ()
    left_out: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class QuorumFormed(ClusterFact, kind="quorum_formed"):
    """The voters that are left have a quorum of their own. `files`: the digest of each one's file since."""

    cluster: str
    generation: int
    files: Mapping[str, str]


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class QuorumRestoring(ClusterFact, kind="quorum_restoring"):
    """The files of the voters that were left are being put back: how each is now is not recorded.

    `beginning`: ids of those that start together then, just enough for a majority of all.
    """

    cluster: str
    generation: int
    beginning: tuple[int, ...] = ()


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class QuorumWhole(ClusterFact, kind="quorum_whole"):
    """All voters of `cluster` have their files as they were, and are one quorum again."""

    cluster: str
    generation: int


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class VotersDropped(ClusterFact, kind="voters_dropped"):
    """Voters are taken out of the metadata quorum of `cluster`, or are being so.

    `voters`: those that are taken out, as they were; `sites`: those of which no voter is left, as was seen;
    `partly`: those of which one is, with others among `voters`. `lines`: all of the configuration as it was
    (ZooKeeper).
    """

    cluster: str
    sites: tuple[str, ...]
    voters: tuple[Member, ...]
    partly: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class VotersAdded(ClusterFact, kind="voters_added"):
    """All voters of `cluster` that were taken out of its quorum vote again."""

    cluster: str
