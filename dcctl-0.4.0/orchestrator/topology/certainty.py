"""What can be said of a file of which some parts could not be read, and what cannot."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.topology.model import Topology
from orchestrator.topology.rules import Finding, Rule
from orchestrator.topology.source import Path

# What others refer to, or what decides how a topic is called at a cluster.
_NAMING = frozenset(
    {"name", "dc", "cluster", "nodes", "source", "target", "policy", "separator", "topics", "[key]"}
)
_SECTIONS_OF_ITEMS = ("clusters", "topics", "replication", "producers", "consumers", "links")
# They compare a mirror with topics that stand elsewhere.
_ABOUT_TOPICS = (
    "mirror-min-insync",
    "mirror-weaker",
    "mirror-retention",
    "mirrored-replicas-fit",
    "site-loss",
)
# They ask of applications what others write and read, and where all of them go.
_ABOUT_MOVES = ("standby-", "landing-", "group-shared")
_ABOUT_THE_WHOLE = ("layout-", "loss-", "site-", "acks-", "prefer-", "mirror-flush")


@dataclass(frozen=True, slots=True)
class Reading:
    """A topology with placeholders in it, and which findings about it are about the file.

    `tainted`: paths of placeholders. `mended`: paths of everything that the model refused.
    """

    topology: Topology
    tainted: frozenset[Path]
    mended: frozenset[Path]

    def is_sure(self, rule: Rule, finding: Finding) -> bool:
        """Whether no placeholder has a part in the finding, and its part is not told of already."""
        if finding.path in self.mended:
            return False
        return not self.tainted or not (self._is_rule_blind(rule) or self._is_item_blurred(finding))

    def _is_rule_blind(self, rule: Rule) -> bool:
        """Whether the rule compares parts of which some are placeholders, wherever they stand."""
        sections = {path[0] for path in self.tainted}
        if sections & {"layout", "failover"} and rule.id.startswith(_ABOUT_THE_WHOLE):
            return True
        if "topics" in sections and rule.id in _ABOUT_TOPICS:
            return True
        if rule.id.startswith(_ABOUT_MOVES):
            return True
        return any(map(_hides_names, self.tainted)) and _is_about_names(rule)

    def _is_item_blurred(self, finding: Finding) -> bool:
        """Whether a placeholder stands in the item that was found wrong, or in a cluster that it names."""
        if len(finding.path) < 2 or finding.path[0] not in _SECTIONS_OF_ITEMS:
            return finding.path[0] in {path[0] for path in self.tainted}
        items = {path[:2] for path in self.tainted}
        return finding.path[:2] in items or bool(self._clusters_of(finding) & self._tainted_clusters)

    @property
    def _tainted_clusters(self) -> set[str]:
        return {str(path[1]) for path in self.tainted if path[0] == "clusters" and len(path) > 1}

    def _clusters_of(self, finding: Finding) -> set[str]:
        kind, key = finding.path[:2]
        if kind == "clusters":
            return {str(key)}
        items = getattr(self.topology, str(kind), ())
        if not isinstance(items, tuple) or not isinstance(key, int) or key >= len(items):
            return set()
        return {
            getattr(items[key], name) for name in ("cluster", "source", "target") if hasattr(items[key], name)
        }


def _hides_names(path: Path) -> bool:
    """Whether a placeholder at this path stands for names that other parts of the file refer to."""
    if path[0] not in ("datacenters", "clusters", "topics", "replication"):
        return False
    is_whole = len(path) <= 2 or isinstance(path[-1], int)
    return is_whole or path[-1] in _NAMING or path[0] == "datacenters"


def _is_about_names(rule: Rule) -> bool:
    """Whether a rule asks what is there or not there, over all parts of the file."""
    return rule.id.endswith(("-exist", "-used")) or rule.id.startswith(
        ("layout-", "topic-not-mirrored", "pattern-matches")
    )
