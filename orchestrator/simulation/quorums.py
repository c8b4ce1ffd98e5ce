"""Metadata quorums of simulated clusters: who votes, and configuration files that name fewer voters. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection

from orchestrator.topology.model import Cluster

_SERVER = re.compile(r"server\.(\d+)=")
_GROUPING = re.compile(r"(group|weight)\.\d+=")
_VOTERS = "controller.quorum.voters="


def has_quorum(cluster: Cluster, datacenters: Collection[str]) -> bool:
    """Whether the metadata's voters in these data centres are enough, all of them living."""
    is_hierarchical = cluster.quorum == "hierarchical" and cluster.metadata == "zookeeper"
    voters: dict[str, int] = {}
    for row in cluster.nodes:
        weight = row.zookeeper_weight if is_hierarchical else 1
        voters[row.dc] = voters.get(row.dc, 0) + row.controllers + row.zookeepers * weight
    voters = {dc: count for dc, count in voters.items() if count}
    living = {dc: count for dc, count in voters.items() if dc in datacenters}
    if is_hierarchical:
        return 2 * len(living) > len(voters)
    return 2 * sum(living.values()) > sum(voters.values())


def zookeeper_voters_only(text: str, kept: Collection[int]) -> str:
    """A zoo.cfg in which only these servers vote: other servers, groups and weights are commented out."""

    def line_of(line: str) -> str:
        server = _SERVER.match(line)
        is_out = _GROUPING.match(line) or (server is not None and int(server[1]) not in kept)
        return f"#{line}" if is_out else line

    return "".join(map(line_of, text.splitlines(keepends=True)))


def kraft_voters_only(text: str, kept: Collection[int]) -> str:
    """A server.properties whose static voters are only these."""

    def line_of(line: str) -> str:
        if not line.startswith(_VOTERS):
            return line
        voters = line.removeprefix(_VOTERS).strip().split(",")
        return _VOTERS + ",".join(one for one in voters if int(one.partition("@")[0]) in kept) + "\n"

    return "".join(map(line_of, text.splitlines(keepends=True)))
