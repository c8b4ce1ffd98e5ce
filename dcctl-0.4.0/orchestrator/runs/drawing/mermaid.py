"""A plan as a Mermaid flowchart, which many wikis and forges draw inside Markdown."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.runs.drawing.outline import Arrow, DrawnStep, Ending, outline_of
from orchestrator.runs.plan import Plan
from orchestrator.topology.graph.quoting import mermaid_quoted

FIRST_LINE = "%% A plan, drawn by dcctl"
"""By it a file is known as one that may be drawn over."""

_CLASSES: dict[Ending, str] = {
    "rolled back": "back",
    "is not rolled back": "stays",
    "irreversible": "irreversible",
    "nothing to roll back": "look",
}
_LOOKS = (
    "classDef about fill:none,stroke:none,text-align:left",
    "classDef back fill:#e8f1fa,stroke:#555,color:#000",
    "classDef stays fill:#fff3d6,stroke:#555,color:#000",
    "classDef irreversible fill:#fbdcd7,stroke:#b3261e,color:#000",
    "classDef look fill:#fff,stroke:#555,color:#000",
    "classDef longest stroke-width:4px",
)


def mermaid_text(plan: Plan) -> str:
    """A flowchart from top to bottom. Raises `DcctlError` where the plan's steps have no order."""
    outline = outline_of(plan)
    # Mermaid has words of its own (`end`) and no way to quote an id: everything is numbered.
    steps = [step for section in outline.sections for step in section.steps]
    ids = {step.id: f"s{number}" for number, step in enumerate(steps)}
    lines = [FIRST_LINE, "flowchart TB", f"  about[{mermaid_quoted(*outline.about)}]:::about"]
    for number, section in enumerate(outline.sections):
        lines.append(f"  subgraph p{number}[{mermaid_quoted(*section.lines)}]")
        lines += [f"    {_node(step, ids)}" for step in section.steps]
        lines.append("  end")
    lines += [f"  {_edge(arrow, ids)}" for arrow in outline.arrows]
    longest = [ids[step.id] for step in steps if step.is_on_longest_way]
    lines += [f"  {look}" for look in _LOOKS]
    if longest:
        lines.append(f"  class {','.join(longest)} longest")
    return "\n".join([*lines, ""])


def _node(step: DrawnStep, ids: Mapping[str, str]) -> str:
    left, right = ("[[", "]]") if step.ending == "irreversible" else ("(", ")")
    return f"{ids[step.id]}{left}{mermaid_quoted(*step.lines)}{right}:::{_CLASSES[step.ending]}"


def _edge(arrow: Arrow, ids: Mapping[str, str]) -> str:
    line = "==>" if arrow.is_on_longest_way else "-.->" if arrow.is_implied else "-->"
    words = f"|{mermaid_quoted(*arrow.words)}|" if arrow.words else ""
    return f"{ids[arrow.needed]} {line}{words} {ids[arrow.waiting]}"
