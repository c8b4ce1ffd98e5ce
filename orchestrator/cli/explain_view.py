"""How `dcctl explain` looks: first one sentence for each loss, then the tables with the reasons."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from orchestrator.cli.explain_answers import Answer, ClusterAnswer, Group, topic_names
from orchestrator.topology.model import Topology
from orchestrator.wording import and_n_more

_COLOURS = ("green", "yellow", "red")
_MARKS = ("✓", "!", "✗")
_COLUMNS = ("acked", "writes", "RPO", "RTO")
_APPLICATIONS_SHOWN = 20


def render_text(topology: Topology, answers: Sequence[Answer], console: Console) -> None:
    """For a terminal."""
    console.print(f"[bold]{escape(topology.name)}[/] ({topology.layout}), if this were lost:\n")
    lines = Table.grid(padding=(0, 2, 0, 0))
    for answer in answers:
        colour, mark = _COLOURS[answer.severity], _MARKS[answer.severity]
        head = f"[{colour}]{mark} [bold]{escape(answer.lost)}[/bold][/]"
        lines.add_row(head, escape(answer.sentence))
    console.print(lines, soft_wrap=False)
    for answer in answers:
        console.print(f"\n[bold]{escape(answer.lost)}[/]")
        for cluster in answer.clusters:
            _render_cluster(cluster, console)
        for sentence in (answer.procedure, *answer.margin):
            if sentence:
                _render_reason(sentence, console)
        _render_applications(answer, console)


def _render_applications(answer: Answer, console: Console) -> None:
    """Those that stop; where there are many, `--json` has the others."""
    stopped = answer.applications
    if stopped:
        console.print(f"  [bold]applications[/]: {len(stopped)} {'stops' if len(stopped) == 1 else 'stop'}")
    for one in stopped[:_APPLICATIONS_SHOWN]:
        _render_reason(one.reason, console)
    if len(stopped) > _APPLICATIONS_SHOWN:
        _render_reason(and_n_more(len(stopped) - _APPLICATIONS_SHOWN), console)


def _render_cluster(cluster: ClusterAnswer, console: Console) -> None:
    control_plane = cluster.fate.control_plane
    colour = {"continues": "green", "needs-procedure": "yellow"}.get(control_plane, "red")
    console.print(f"  [bold]{escape(cluster.name)}[/]: control plane [{colour}]{control_plane}[/]")
    _render_reason(cluster.fate.reason, console)
    if cluster.is_untouched:
        return
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("topics")
    for column in _COLUMNS:
        table.add_column(column, no_wrap=True)
    for group in cluster.groups:
        fate = group.fate
        table.add_row(escape(_topics_of(group)), fate.acked_records, fate.writes, fate.rpo, fate.rto)
    console.print(Padding(table, (0, 0, 0, 4), expand=False), soft_wrap=False)
    for group in cluster.groups:
        _render_reason(f"{_topics_of(group)}: {group.fate.reason}", console)


def _topics_of(group: Group) -> str:
    return topic_names(group.topics)


def _render_reason(reason: str, console: Console) -> None:
    console.print(Padding(f"[dim]{escape(reason)}[/]", (0, 0, 0, 4), expand=False), soft_wrap=False)


def render_markdown(_topology: Topology, answers: Sequence[Answer], console: Console) -> None:
    """For documentation: a list of the answers, two tables, and one more where applications stop."""
    lines = [f"- **{answer.lost}** lost: {answer.sentence}" for answer in answers]
    lines += ["", *_table(("Lost", "Cluster", "Control plane", "Why"), _control_planes(answers))]
    columns = ("Lost", "Cluster", "Topics", "Acknowledged records", "Writes", "RPO", "RTO", "Why")
    lines += ["", *_table(columns, _topics(answers))]
    if stopped := _applications(answers):
        lines += ["", *_table(("Lost", "Application", "Goes on at", "Then"), stopped)]
    if margins := [f"- **{answer.lost}** lost, {told}." for answer in answers for told in answer.margin]:
        lines += ["", *margins]
    console.print("\n".join(lines), markup=False)


def _control_planes(answers: Sequence[Answer]) -> list[tuple[str, ...]]:
    return [
        (answer.lost, cluster.name, cluster.fate.control_plane, cluster.fate.reason)
        for answer in answers
        for cluster in answer.clusters
    ]


def _topics(answers: Sequence[Answer]) -> list[tuple[str, ...]]:
    return [
        (
            answer.lost,
            cluster.name,
            topic_names([f"`{topic}`" for topic in group.topics]),
            group.fate.acked_records,
            group.fate.writes,
            group.fate.rpo,
            group.fate.rto,
            group.fate.reason,
        )
        for answer in answers
        for cluster in answer.clusters
        for group in cluster.groups
    ]


def _applications(answers: Sequence[Answer]) -> list[tuple[str, ...]]:
    return [
        (answer.lost, one.name, one.goes_to or "nowhere", one.reason)
        for answer in answers
        for one in answer.applications
    ]


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table of GitHub's Markdown. Names of topics, clusters and data centres have nothing to escape."""
    return [_row(columns), _row(["---"] * len(columns)), *map(_row, rows)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
