"""The graph as plain data: every node and edge with all that the file says of it, nothing shortened."""

from __future__ import annotations

import dataclasses
from typing import Any

import networkx as nx

FORMAT_VERSION = 1


def graph_document(graph: nx.MultiDiGraph) -> dict[str, Any]:
    """`{"format_version", "topology", "layout", "nodes": [{"id", "kind", …}], "edges": [{"source", …}]}`.

    `networkx.node_link_graph(document, directed=True, multigraph=True)` reads it back.
    """
    return {
        "format_version": FORMAT_VERSION,
        "topology": graph.graph["name"],
        "layout": graph.graph["layout"],
        "nodes": [{"id": node, **_plain(data)} for node, data in graph.nodes(data=True)],
        "edges": [
            {"source": source, "target": target, **_plain(data)}
            for source, target, data in graph.edges(data=True)
        ],
    }


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = {"kind": data["kind"]}
    if "votes" in data:
        plain["votes"] = data["votes"]
    if "part" in data:
        # A mirror's own ends are the clusters' names; the edge's are the nodes' ids.
        part = dataclasses.asdict(data["part"])
        plain.update(
            {key: value for key, value in part.items() if key not in ("source", "target", "between")}
        )
    return plain
