"""DOT, Mermaid and JSON: each can be read back and says what the file says."""

from __future__ import annotations

import json
import re

import networkx as nx
import pydot
import pytest
from hypothesis import given, settings

from orchestrator.topology.graph import build
from orchestrator.topology.graph.document import graph_document
from orchestrator.topology.graph.dot import dot_text
from orchestrator.topology.graph.gathering import parts_of
from orchestrator.topology.graph.mermaid import mermaid_text
from orchestrator.topology.model import Topology
from tests.topology.graph import estates


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", estates.ALL)
def test_dot_is_read_back(name: str) -> None:
    """Another reader of DOT finds every node and edge but those that only say where a server stands."""
    graph = topology_graph(estates.ALL[name])
    (read,) = pydot.graph_from_dot_data(dot_text(graph))
    nodes, edges = _all(read)
    expected = [(a, b) for a, b, kind in graph.edges(data="kind") if kind != "holds"]
    assert sorted(nodes) == sorted(graph)
    assert sorted(edges) == sorted(expected)
    assert len(read.get_subgraphs()) == len(estates.ALL[name].datacenters)


def test_dot_keeps_quotes_and_backslashes_in_their_place() -> None:
    """A name from elsewhere cannot end a label or begin an attribute."""
    graph = topology_graph(estates.WITNESS)
    graph.graph["name"] = 'a "quoted" \\name'
    assert dot_text(graph).startswith('digraph "a \\"quoted\\" \\\\name" {')


@pytest.mark.parametrize("name", estates.ALL)
def test_mermaid_is_a_flowchart_of_declared_nodes(name: str) -> None:
    """Boxes are closed, each node is declared once, and edges join declared nodes."""
    text = mermaid_text(topology_graph(estates.ALL[name]))
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0] == "flowchart LR"
    assert sum(line.startswith("subgraph ") for line in lines) == lines.count("end")
    declared = re.findall(r"^\s*(?:subgraph )?(n\d+)[\[({]", text, re.MULTILINE)
    assert len(declared) == len(set(declared)) == len(topology_graph(estates.ALL[name]))
    for line in lines:
        if edge := re.match(r"(n\d+) (?:==>|-->|---|-\.-|-\.->|<-\.->)(?:\|\"[^\"]*\"\|)? (n\d+)$", line):
            assert set(edge.groups()) <= set(declared)


def test_mermaid_escapes_what_it_would_read() -> None:
    """A quote or a tag in a label stays text."""
    graph = topology_graph(estates.WITNESS)
    graph.nodes["site:dc1"]["part"] = type(graph.nodes["site:dc1"]["part"])('<b>"dc#1"')
    assert '["#lt;b#gt;#quot;dc#35;1#quot;"]' in mermaid_text(graph)


@settings(max_examples=60, deadline=None)
@given(estates.topologies())
def test_any_topology_has_every_format(topology: Topology) -> None:
    """Nothing that the model allows breaks a format, and the JSON is the graph."""
    graph = topology_graph(topology)
    assert mermaid_text(graph).startswith("flowchart")
    assert dot_text(graph).count("subgraph ") == len(topology.datacenters)
    document = json.loads(json.dumps(graph_document(graph)))
    assert next(iter(document)) == "format_version"
    again = nx.node_link_graph(document, directed=True, multigraph=True, edges="edges")
    assert set(again) == set(graph)
    assert sorted(again.edges(data="kind")) == sorted(graph.edges(data="kind"))


def test_json_holds_every_name() -> None:
    """Pictures shorten lists, data never."""
    document = graph_document(topology_graph(estates.HUGE))
    (cluster,) = [node for node in document["nodes"] if node["kind"] == "cluster"]
    assert len(cluster["topics"]) == 10_000


def test_labels_shorten_long_lists() -> None:
    """Ten thousand topics are two and a number."""
    text = dot_text(topology_graph(estates.HUGE))
    assert "orders, payments and 9,998 more" in text
    assert len(text) < 100_000


def test_quorums_say_what_they_need() -> None:
    """Hierarchical, majority over sites, and within one."""
    text = dot_text(topology_graph(estates.HIERARCHICAL))
    assert "both groups, each by 2 of 3 ZooKeepers" in text
    assert "Quorum: 3 of 5 controllers" in dot_text(topology_graph(estates.WITNESS))
    assert "Quorum: 2 of 3 controllers" in dot_text(topology_graph(estates.BOTH_WAYS))


def test_standbys_are_dashed_edges_that_say_whose_they_are() -> None:
    """Of a whole cluster, of some of its applications; none where only a mirror says it."""
    graph = topology_graph(estates.CENTRES)
    found = {(a, b): data for a, b, data in graph.edges(data=True) if data["kind"] == "standby"}
    assert set(found) == {("cluster:centre", "cluster:reserve"), ("cluster:dc1", "cluster:reserve")}
    edges = graph_document(graph)["edges"]
    assert [edge for edge in edges if edge["kind"] == "standby"] == [
        {
            "source": "cluster:dc1",
            "target": "cluster:reserve",
            "kind": "standby",
            "applications": ("stock",),
            "is_all": False,
        },
        {
            "source": "cluster:centre",
            "target": "cluster:reserve",
            "kind": "standby",
            "applications": ("search",),
            "is_all": True,
        },
    ]
    dot = dot_text(graph)
    assert '"cluster:centre" -> "cluster:reserve" [label="standby", style=dashed, constraint=false];' in dot
    assert 'label="standby of stock", style=dashed' in dot
    assert '-.->|"standby of stock"|' in mermaid_text(graph)
    assert "standby" not in dot_text(topology_graph(estates.BOTH_WAYS))


def topology_graph(topology: Topology) -> nx.MultiDiGraph:
    """The graph of a topology."""
    return build.topology_graph(parts_of(topology))


def _all(graph: pydot.Graph) -> tuple[list[str], list[tuple[str, str]]]:
    nodes = [node.get_name().strip('"') for node in graph.get_nodes()]
    edges = [(e.get_source().strip('"'), e.get_destination().strip('"')) for e in graph.get_edges()]
    for part in graph.get_subgraphs():
        below, joined = _all(part)
        nodes += below
        edges += joined
    return [name for name in nodes if name not in ("graph", "node", "edge", "\\n")], edges
