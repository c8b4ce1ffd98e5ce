"""Whether a watcher looks at the clusters that it was meant for, by the ids that the estate record remembers.

An address that leads to another cluster than before (a changed DNS record, a copied file, a cluster that was
made anew) would put its log ends and positions in the place of the right ones: the newest word counts.
"""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.errors import ClusterError
from orchestrator.runs.same_clusters import OPTION, differing
from orchestrator.snapshot.watched import Watched


class KnownClusters:
    """The remembered id of each cluster of a file. Whoever reads the estate record tells it."""

    def __init__(self) -> None:
        self._ids: Mapping[str, str] = {}
        self.is_told = False

    @property
    def ids(self) -> Mapping[str, str]:
        """By the clusters' names in the file; empty while nothing is remembered or known."""
        return self._ids

    def learn(self, ids: Mapping[str, str]) -> None:
        """What the estate record says now."""
        self._ids, self.is_told = dict(ids), True


class ClusterCheck:
    """Holds the ids that a watched cluster and its keeping place tell against those that are remembered.

    `are_same`: the newest answer; None where nothing is remembered to compare with, or a side has not told
    its id.
    """

    def __init__(self, watched: Watched, known: KnownClusters) -> None:
        self._watched, self._known = watched, known
        self._sides = watched.cluster, watched.kept_at
        self.are_same: bool | None = None

    def refuse_others(self, **seen: str) -> None:
        """Raise `ClusterError` where a side is another cluster than before, or both are one.

        `seen`: the id that `source` and `target` told, each where it answered; an empty one was not told. A
        cluster that is remembered and does not tell its id is not taken for the right one.
        """
        names = dict(zip(("source", "target"), self._sides, strict=True))
        told = {names[side]: found for side, found in seen.items()}
        remembered = {name: known for name, known in self._known.ids.items() if name in self._sides}
        reasons = differing(remembered, told, self._sides)
        silent = [name for name, found in told.items() if not found and name in remembered]
        is_compared = all(told.get(name) and name in remembered for name in self._sides)
        self.are_same = False if reasons else True if is_compared else None
        if reasons:
            raise ClusterError(
                self._watched.subject,
                f"{'; '.join(reasons)}. No sample is recorded",
                f"correct `bootstrap` in the file; a command with {OPTION} NAME=ID accepts another cluster",
            )
        if silent:
            raise ClusterError(
                self._watched.subject,
                f"{' and '.join(silent)} does not name its cluster id, so whether it is the cluster "
                "that it was is unknown. No sample is recorded",
            )
