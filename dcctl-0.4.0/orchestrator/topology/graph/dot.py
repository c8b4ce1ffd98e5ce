"""The graph in DOT, the language of Graphviz: sites as boxes around their servers."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx

from orchestrator.topology.graph.labels import edge_lines, node_lines
from orchestrator.topology.graph.outline import homes
from orchestrator.topology.graph.quoting import dot_quoted

_SHAPES = {
    "cluster": "shape=cylinder, style=filled, fillcolor=lightblue",
    "servers": "shape=box3d",
    "quorum": "shape=hexagon",
    "application": 'shape=box, style="rounded"',
}
_LINES = {
    "mirror": "penwidth=2.5",
    "standby": "style=dashed, constraint=false",
    "serves": "arrowhead=none",
    "decides": "arrowhead=none, style=dashed",
    "votes": "arrowhead=none, style=dashed",
    "network": "dir=both, style=dotted, constraint=false",
}


def dot_text(graph: nx.MultiDiGraph) -> str:
    """A digraph that `dot -Tsvg` draws. A cluster that spans sites stands outside of their boxes."""
    lines = [
        f"digraph {dot_quoted(graph.graph['name'])} {{",
        "  graph [rankdir=LR, compound=true, fontname=Helvetica];",
        "  node [fontname=Helvetica, fontsize=11];",
        "  edge [fontname=Helvetica, fontsize=10];",
    ]
    inside = homes(graph)
    sites = [node for node, data in graph.nodes(data=True) if data["kind"] == "site"]
    for site in sites:
        lines += [
            f"  subgraph {dot_quoted('cluster_' + site)} {{",
            f"    label={dot_quoted(*node_lines(graph.nodes[site]['part']))}; style=rounded;",
            # A box without a node is not drawn, and the network's edges need something to end at.
            f"    {dot_quoted(site)} [shape=point, style=invis];",
            *(f"    {line}" for node in graph if inside.get(node) == site for line in _node(graph, node)),
            "  }",
        ]
    free = [node for node in graph if node not in sites and node not in inside]
    lines += [f"  {line}" for node in free for line in _node(graph, node)]
    lines += [f"  {line}" for line in _edges(graph)]
    return "\n".join([*lines, "}", ""])


def _node(graph: nx.MultiDiGraph, node: str) -> Iterator[str]:
    data = graph.nodes[node]
    yield f"{dot_quoted(node)} [label={dot_quoted(*node_lines(data['part']))}, {_SHAPES[data['kind']]}];"


def _edges(graph: nx.MultiDiGraph) -> Iterator[str]:
    for source, target, data in graph.edges(data=True):
        if data["kind"] == "holds":
            continue
        words = edge_lines(data["kind"], data, graph.nodes[source]["part"], graph.nodes[target]["part"])
        settings = [f"label={dot_quoted(*words)}"] if words else []
        if style := _LINES.get(data["kind"]):
            settings.append(style)
        if data["kind"] == "network":
            settings += [
                f"ltail={dot_quoted('cluster_' + source)}",
                f"lhead={dot_quoted('cluster_' + target)}",
            ]
        yield f"{dot_quoted(source)} -> {dot_quoted(target)}" + (
            f" [{', '.join(settings)}];" if settings else ";"
        )
