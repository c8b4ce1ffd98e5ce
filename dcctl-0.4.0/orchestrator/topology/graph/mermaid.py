"""The graph as a Mermaid flowchart, which many wikis and forges draw inside Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import networkx as nx

from orchestrator.topology.graph.labels import edge_lines, node_lines
from orchestrator.topology.graph.outline import homes
from orchestrator.topology.graph.quoting import mermaid_quoted

_SHAPES = {
    "cluster": ("[(", ")]"),
    "servers": ("[[", "]]"),
    "quorum": ("{{", "}}"),
    "application": ("([", "])"),
}
_LINES = {
    "mirror": "==>",
    "standby": "-.->",
    "serves": "---",
    "decides": "-.-",
    "votes": "-.-",
    "network": "<-.->",
}


def mermaid_text(graph: nx.MultiDiGraph) -> str:
    """A flowchart from left to right. A cluster that spans sites stands outside of their boxes."""
    # Mermaid has words of its own (`end`) and no way to quote an id: nodes are numbered.
    ids = {node: f"n{number}" for number, node in enumerate(graph)}
    inside = homes(graph)
    sites = [node for node, data in graph.nodes(data=True) if data["kind"] == "site"]
    lines = ["flowchart LR"]
    for site in sites:
        lines.append(f"  subgraph {ids[site]}[{mermaid_quoted(*node_lines(graph.nodes[site]['part']))}]")
        lines += [f"    {_node(graph, node, ids)}" for node in graph if inside.get(node) == site]
        lines.append("  end")
    lines += [f"  {_node(graph, node, ids)}" for node in graph if node not in sites and node not in inside]
    lines += [f"  {line}" for line in _edges(graph, ids)]
    return "\n".join([*lines, ""])


def _node(graph: nx.MultiDiGraph, node: str, ids: Mapping[str, str]) -> str:
    data = graph.nodes[node]
    left, right = _SHAPES[data["kind"]]
    return f"{ids[node]}{left}{mermaid_quoted(*node_lines(data['part']))}{right}"


def _edges(graph: nx.MultiDiGraph, ids: Mapping[str, str]) -> Iterator[str]:
    for source, target, data in graph.edges(data=True):
        if data["kind"] == "holds":
            continue
        words = edge_lines(data["kind"], data, graph.nodes[source]["part"], graph.nodes[target]["part"])
        label = f"|{mermaid_quoted(*words)}|" if words else ""
        yield f"{ids[source]} {_LINES.get(data['kind'], '-->')}{label} {ids[target]}"
