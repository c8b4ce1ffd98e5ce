"""Which site each node stands in, for formats whose boxes can only be nested."""

from __future__ import annotations

import networkx as nx

from orchestrator.topology.graph.parts import KafkaCluster, Quorum, Servers


def homes(graph: nx.MultiDiGraph) -> dict[str, str]:
    """Site node of every node that lies in one site alone: servers, unstretched clusters, their quorums."""
    found: dict[str, str] = {}
    for node, data in graph.nodes(data=True):
        match data["part"]:
            case Servers() as servers:
                found[node] = f"site:{servers.site}"
            case KafkaCluster(sites=(only,)):
                found[node] = f"site:{only}"
            case Quorum(votes=votes) as quorum if (
                len(graph.nodes[f"cluster:{quorum.cluster}"]["part"].sites) == 1
            ):
                found[node] = f"site:{next(iter(votes), '')}"
    return {node: site for node, site in found.items() if site in graph}
