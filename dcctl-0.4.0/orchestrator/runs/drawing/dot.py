"""A plan in DOT, the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.runs.drawing.outline import Arrow, DrawnStep, Ending, outline_of
from orchestrator.runs.plan import Plan
from orchestrator.topology.graph.quoting import dot_quoted

FIRST_LINE = "// A plan, drawn by dcctl"
"""By it a file is known as one that may be drawn over."""

_LOOKS: dict[Ending, str] = {
    "rolled back": 'style="rounded,filled", fillcolor="#e8f1fa"',
    "is not rolled back": 'style="rounded,filled", fillcolor="#fff3d6"',
    "irreversible": 'style=filled, fillcolor="#fbdcd7", color="#b3261e", peripheries=2',
    "nothing to roll back": "style=rounded",
}


def dot_text(plan: Plan) -> str:
    """A digraph that `dot -Tsvg` draws. Raises `DcctlError` where the plan's steps have no order."""
    outline = outline_of(plan)
    lines = [
        FIRST_LINE,
        f"digraph {dot_quoted(outline.name)} {{",
        f"  graph [label={dot_quoted(*outline.about)}, labelloc=t, fontname=Helvetica, fontsize=12];",
        "  graph [nodesep=0.3, ranksep=0.35];",
        '  node [shape=box, fontname=Helvetica, fontsize=11, margin="0.15,0.08"];',
        "  edge [fontname=Helvetica, fontsize=9];",
    ]
    for number, section in enumerate(outline.sections):
        lines += [
            f"  subgraph cluster_{number} {{",
            f'    label={dot_quoted(*section.lines)}; style=rounded; color="#888888";',
            *(f"    {_node(step)}" for step in section.steps),
            "  }",
        ]
    lines += [f"  {_edge(arrow)}" for arrow in outline.arrows]
    return "\n".join([*lines, "}", ""])


def _node(step: DrawnStep) -> str:
    width = ", penwidth=3" if step.is_on_longest_way else ""
    return f"{dot_quoted(step.id)} [label={dot_quoted(*step.lines)}, {_LOOKS[step.ending]}{width}];"


def _edge(arrow: Arrow) -> str:
    settings = ", ".join(_settings(arrow))
    return f"{dot_quoted(arrow.needed)} -> {dot_quoted(arrow.waiting)}" + (
        f" [{settings}];" if settings else ";"
    )


def _settings(arrow: Arrow) -> Iterator[str]:
    if arrow.words:
        yield f"label={dot_quoted(*arrow.words)}"
    if arrow.is_implied:
        yield "style=dashed, constraint=false"
    if arrow.is_on_longest_way:
        yield "penwidth=3"
