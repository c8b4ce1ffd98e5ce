"""Where sites and clusters stand: an order of the sites as columns, and rows for the clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from orchestrator.topology.graph.parts import KafkaCluster, Mirror

# 5,040 orders are tried in milliseconds; beyond that the file's own order has to do.
_MOST_SITES = 7


@dataclass(frozen=True, slots=True)
class Band:
    """A cluster's place: its row, and the columns from `first` to `last`."""

    cluster: KafkaCluster
    row: int
    first: int
    last: int

    @property
    def is_stretched(self) -> bool:
        """Whether it reaches over more than one column."""
        return self.first != self.last


@dataclass(frozen=True, slots=True)
class Grid:
    """Sites from left to right, and a band for each cluster."""

    sites: tuple[str, ...]
    bands: tuple[Band, ...]

    @property
    def rows(self) -> int:
        """How many rows of clusters there are."""
        return max((band.row for band in self.bands), default=-1) + 1

    def band(self, cluster: str) -> Band:
        """The place of one cluster."""
        return next(band for band in self.bands if band.cluster.name == cluster)


def placed(sites: Sequence[str], clusters: Sequence[KafkaCluster], mirrors: Sequence[Mirror]) -> Grid:
    """The order of sites that keeps stretched clusters together and mirrors short; else the file's."""
    homes = {cluster.name: cluster.sites for cluster in clusters if cluster.sites}
    joined = [(homes[m.source], homes[m.target]) for m in mirrors if {m.source, m.target} <= homes.keys()]
    best = tuple(sites)
    if len(best) <= _MOST_SITES:
        best = min(permutations(sites), key=lambda order: _cost(order, list(homes.values()), joined))
    return Grid(best, tuple(_bands(best, clusters)))


def _cost(
    order: Sequence[str],
    homes: Sequence[Sequence[str]],
    joined: Sequence[tuple[Sequence[str], Sequence[str]]],
) -> int:
    columns = {site: column for column, site in enumerate(order)}
    spans = {home: _span(home, columns) for home in map(tuple, homes)}
    # A cluster drawn across a site in which it has no server would mislead: that weighs most.
    stretch = sum(last - first + 1 - len(home) for home, (first, last) in spans.items())
    distance = 0
    for source, target in joined:
        (first, last), (begin, end) = spans[tuple(source)], spans[tuple(target)]
        distance += max(begin - last, first - end, 1) - 1
    return 100 * stretch + distance


def _span(home: Sequence[str], columns: dict[str, int]) -> tuple[int, int]:
    taken = [columns[site] for site in home]
    return min(taken), max(taken)


def _bands(order: Sequence[str], clusters: Sequence[KafkaCluster]) -> list[Band]:
    """Each cluster in the uppermost row in which all its columns are free."""
    columns = {site: column for column, site in enumerate(order)}
    bands: list[Band] = []
    for cluster in clusters:
        if not cluster.sites:
            continue
        first, last = _span(cluster.sites, columns)
        row = 0
        while any(b.row == row and b.first <= last and first <= b.last for b in bands):
            row += 1
        bands.append(Band(cluster, row, first, last))
    return bands
