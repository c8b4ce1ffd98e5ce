"""From left to right: how wide the sites and the gaps between them are."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.topology.graph.parts import Network, Standby
from orchestrator.topology.graph.picture.contents import fitted_names, styled_width
from orchestrator.topology.graph.picture.grid import Band
from orchestrator.topology.graph.picture.look import GUTTER, LABEL_WIDTH, MARGIN, SITE_PADDING, TRACK
from orchestrator.topology.graph.picture.measured import Contents
from orchestrator.topology.graph.picture.routes import Edge, Routes
from orchestrator.topology.graph.wording import milliseconds, policy_words


@dataclass(frozen=True, slots=True)
class Columns:
    """Left edge and width of each site, and of the gap before each and after the last."""

    sites: tuple[tuple[float, float], ...]
    gaps: tuple[tuple[float, float], ...]

    @property
    def right(self) -> float:
        """Where the last gap ends."""
        return sum(self.gaps[-1])

    def card(self, band: Band) -> tuple[float, float]:
        """Left edge and width of a card over the columns of a band."""
        left = self.sites[band.first][0] + SITE_PADDING
        return left, sum(self.sites[band.last]) - SITE_PADDING - left


def columns_of(contents: Contents, routes: Routes) -> Columns:
    """Sites next to each other, with room between them for the arrows and their words."""
    gap_widths = _gap_widths(contents, routes)
    x: float = MARGIN
    sites, gaps = [], [(x, gap_widths[0])]
    x += gap_widths[0]
    for width, gap in zip(contents.column_widths(), gap_widths[1:], strict=True):
        sites.append((x, width))
        gaps.append((x + width, gap))
        x += width + gap
    return Columns(tuple(sites), tuple(gaps))


def edge_words(edge: Edge, width: float) -> tuple[str, str]:
    """The two lines at an arrow: as many topics as fit, and the policy; or `standby`, and whose."""
    if isinstance(edge, Standby):
        whose = fitted_names(edge.applications, "mirror-note", width)
        return "standby", "" if edge.is_all else f"of {whose or 'nobody'}"
    return fitted_names(edge.topics, "mirror", width) or "no topics", policy_words(edge)


def near_networks(contents: Contents) -> list[tuple[int, Network]]:
    """Networks between neighbours, each with the gap between them; the first of several for a gap."""
    columns = {site: column for column, site in enumerate(contents.grid.sites)}
    near: dict[int, Network] = {}
    for network in contents.networks:
        first, second = sorted(columns[site] for site in network.between)
        if second - first == 1:
            near.setdefault(second, network)
    return sorted(near.items(), key=lambda item: item[0])


def far_networks(contents: Contents) -> list[Network]:
    """All other networks."""
    near = [network for _, network in near_networks(contents)]
    return [network for network in contents.networks if network not in near]


def _gap_widths(contents: Contents, routes: Routes) -> list[float]:
    count = len(contents.grid.sites)
    inner = [0.0] * (count + 1)
    for route in routes.straight:
        topics, policy = edge_words(route.edge, LABEL_WIDTH)
        wanted = max(styled_width(topics, "mirror"), styled_width(policy, "mirror-note"))
        inner[route.gap] = max(inner[route.gap], wanted + 20)
    for gap, network in near_networks(contents):
        inner[gap] = max(inner[gap], styled_width(milliseconds(network.latency_ms), "remark") + 18)
    for gap in range(1, count):
        inner[gap] = max(inner[gap], GUTTER)
    return [
        width + TRACK * (routes.tracks(gap, is_right=True) + routes.tracks(gap, is_right=False))
        for gap, width in enumerate(inner)
    ]
