"""The graph of a topology, for every program that knows graphs: nodes, and what joins them."""

from __future__ import annotations

import networkx as nx

from orchestrator.topology.graph.parts import Parts


def topology_graph(parts: Parts) -> nx.MultiDiGraph:
    """The graph of a topology's parts. Each node has a `kind` and its `part`; so have edges that carry one.

    Nodes: `site:NAME` (kind site), `cluster:NAME` (cluster), `quorum:CLUSTER` (quorum),
    `servers:CLUSTER/SITE` (servers), `producer:NAME`, `consumer:NAME` (application).
    Edges: site → servers (holds), servers → cluster (serves), servers → quorum (votes), quorum → cluster
    (decides), cluster → cluster (mirror; standby, where the file names one), producer → cluster (writes),
    cluster → consumer (reads), site → site (network). The graph itself carries `name` and `layout`.
    """
    graph: nx.MultiDiGraph = nx.MultiDiGraph(name=parts.name, layout=parts.layout)
    for site in parts.sites:
        graph.add_node(f"site:{site.name}", kind="site", part=site)
    for cluster in parts.clusters:
        graph.add_node(f"cluster:{cluster.name}", kind="cluster", part=cluster)
        graph.add_node(f"quorum:{cluster.name}", kind="quorum", part=parts.quorums[cluster.name])
        graph.add_edge(f"quorum:{cluster.name}", f"cluster:{cluster.name}", kind="decides")
    _add_servers(graph, parts)
    for mirror in parts.mirrors:
        graph.add_edge(f"cluster:{mirror.source}", f"cluster:{mirror.target}", kind="mirror", part=mirror)
    for standby in parts.standbys:
        graph.add_edge(f"cluster:{standby.source}", f"cluster:{standby.target}", kind="standby", part=standby)
    _add_applications(graph, parts)
    for network in parts.networks:
        first, second = network.between
        graph.add_edge(f"site:{first}", f"site:{second}", kind="network", part=network)
    return graph


def _add_servers(graph: nx.MultiDiGraph, parts: Parts) -> None:
    for servers in parts.servers:
        node, quorum = f"servers:{servers.cluster}/{servers.site}", parts.quorums[servers.cluster]
        graph.add_node(node, kind="servers", part=servers)
        graph.add_edge(f"site:{servers.site}", node, kind="holds")
        graph.add_edge(node, f"cluster:{servers.cluster}", kind="serves")
        if servers.site in quorum.votes:
            votes = quorum.votes[servers.site]
            graph.add_edge(node, f"quorum:{servers.cluster}", kind="votes", votes=votes)


def _add_applications(graph: nx.MultiDiGraph, parts: Parts) -> None:
    for application in parts.applications:
        cluster = f"cluster:{application.cluster}"
        if application.role == "producer":
            node = f"producer:{application.name}"
            graph.add_node(node, kind="application", part=application)
            graph.add_edge(node, cluster, kind="writes")
        else:
            node = f"consumer:{application.name}"
            graph.add_node(node, kind="application", part=application)
            graph.add_edge(cluster, node, kind="reads")
