"""`dcctl audit FOLDER`: what was acknowledged, what is there, what was read; measured again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orchestrator.cli.judged import STATUS, judged
from orchestrator.cli.options import JSON

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from orchestrator.evidence.audit.inputs import AuditInputs
    from orchestrator.evidence.audit.kept import Kept
    from orchestrator.evidence.audit.result import AuditResult, Verdict

_READ = {
    "kept": "records as the folder keeps them",
    "clusters": "records as the clusters have them now",
}


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command("audit")(audit)


@judged
def audit(
    folder: Path = typer.Argument(..., help="A folder that a drill or a report left."),
    read: str = typer.Option(
        "",
        "--from",
        metavar="SOURCE",
        help="Where records are read: `kept`, as the folder keeps them, or `clusters`, as they are now."
        " Default: kept, where the folder keeps them.",
    ),
    master: str = typer.Option("local[*]", "--master", help="Spark master."),
    as_json: bool = JSON,
) -> None:
    """Audit a move, or moves there and back, again: on what was kept, or on the clusters. Changes nothing."""
    from orchestrator.cli.output import emit
    from orchestrator.evidence.audit.inputs import AuditInputs
    from orchestrator.evidence.audit.kinds import audited_kinds
    from orchestrator.evidence.origins.kept import INDEX, is_kept
    from orchestrator.evidence.sites.kept import INDEX as OF_SITES

    if is_kept(folder, INDEX) or is_kept(folder, OF_SITES):
        raise typer.Exit(_by_origins(folder, read, as_json))
    inputs = AuditInputs.read(folder)
    audited_kinds(inputs.consumers)  # one that is not known is told before a session is begun
    kept = _kept(folder, read)
    stated = _stated(folder)
    result = _measured(inputs, kept, folder, master, is_asked=read == "clusters")
    verdict, reasons = _judged(inputs, result, stated)
    differing = _differing(stated, result)
    source = "kept" if kept is not None else "clusters"
    emit(
        {
            "verdict": verdict,
            "reasons": reasons,
            "read_from": source,
            "report_verdict": stated.get("verdict"),
            "differs_from_report": differing,
            **result.to_json(),
        },
        as_json=as_json,
        summary=f"{verdict}: {len(reasons)} reason{'' if len(reasons) == 1 else 's'}; {_READ[source]}",
        render=lambda console: _render(console, result, reasons, differing),
    )
    raise typer.Exit(STATUS[verdict])


def _by_origins(folder: Path, read: str, as_json: bool) -> int:
    """Of a drill with several active clusters or sites, on what its folder keeps; returns the exit status."""
    from dataclasses import asdict

    from orchestrator.cli.output import emit
    from orchestrator.errors import UsageError
    from orchestrator.evidence.origins.kept import is_kept, judged_again
    from orchestrator.evidence.report.folder import TOPOLOGY_COPY
    from orchestrator.evidence.sites.kept import INDEX, sites_judged_again
    from orchestrator.topology.loading import load_topology
    from orchestrator.wording import plural

    if read not in ("", "kept"):
        problem = "a drill with several active clusters or sites is audited on what its folder keeps"
        raise UsageError(f"--from {read}", problem, "leave it out")
    topology = load_topology(folder / TOPOLOGY_COPY)
    found = sites_judged_again(folder, topology) if is_kept(folder, INDEX) else judged_again(folder, topology)
    stated = _stated(folder).get("verdict")
    reasons = list(found.reasons)

    def render(console: Console) -> None:
        for reason in reasons:
            console.print(f"  • {reason}", markup=False)

    emit(
        {
            "verdict": found.verdict,
            "reasons": reasons,
            "read_from": "kept",
            "report_verdict": stated,
            "readings": [_counted(asdict(one)) for one in found.measured.compared.readings],
            "copies": [_counted(asdict(one)) for one in found.measured.compared.copies],
        },
        as_json=as_json,
        summary=f"{found.verdict}: {plural(len(reasons), 'reason')}; {_READ['kept']}",
        render=render,
    )
    return STATUS[found.verdict]


def _counted(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Lists of records as how many they are."""
    return {
        name: len(value) if isinstance(value, tuple) and name != "origin" else value
        for name, value in figures.items()
    }


def _kept(folder: Path, read: str) -> Kept | None:
    """What the folder keeps, unless the clusters are asked for."""
    from orchestrator.errors import AuditError, UsageError
    from orchestrator.evidence.audit.kept import FOLDER, INDEX, Kept

    if read not in ("", "kept", "clusters"):
        raise UsageError(f"--from {read}", "expected kept or clusters")
    kept = None if read == "clusters" else Kept.of(folder)
    if kept is None and read == "kept":
        problem = f"keeps no records of its clusters: there is no {FOLDER}/{INDEX}"
        raise AuditError(str(folder), problem, "--from clusters reads them there, as long as they answer")
    return kept


def _measured(
    inputs: AuditInputs, kept: Kept | None, folder: Path, master: str, *, is_asked: bool
) -> AuditResult:
    import tempfile

    from orchestrator.errors import AuditError, DcctlError
    from orchestrator.evidence.audit.run import run_audit
    from orchestrator.evidence.run_audit import audit_session

    with tempfile.TemporaryDirectory(prefix="dcctl-audit-") as place:
        scratch = Path(place)
        spark = audit_session(master, scratch)
        try:
            # Executors elsewhere see the ledgers' own place alone.
            beside = scratch if master.startswith("local") else None
            return run_audit(spark, inputs, kept=kept, scratch=beside)
        except DcctlError as error:
            if kept is not None or is_asked:
                raise
            raise AuditError(
                str(folder),
                "keeps no records of its clusters, as folders of this version do, and the clusters cannot be"
                f" read any more: {error.subject}: {error.problem}",
                "rehearse once more; or, with --keep, audit while the simulation is up",
            ) from None
        finally:
            spark.stop()


def _judged(inputs: AuditInputs, result: AuditResult, stated: Mapping[str, Any]) -> tuple[Verdict, list[str]]:
    """The verdict by the report's own rules, with what the report says had been stated beforehand."""
    from orchestrator.evidence.audit.verdict import judge, judge_moves

    is_verified = (stated.get("fault") or {}).get("verified")
    # Records that a consumer has not read yet are findings of the audit itself.
    if inputs.moves:
        return judge_moves(result, is_fault_verified=is_verified, is_drained=True)
    predicted = stated.get("predicted") or {}
    audited = {consumer.name for consumer in inputs.consumers}
    return judge(
        result,
        predicted_loss=predicted.get("loss", {}),
        source=inputs.source,
        predicted_reread={
            name: cost.get("at_most") for name, cost in predicted.get("reread", {}).items() if name in audited
        },
        is_fault_verified=is_verified,
        is_drained=True,
    )


def _differing(stated: Mapping[str, Any], result: AuditResult) -> list[str] | None:
    """Parts of the report with other figures than were measured now; None where there is none to compare."""
    from orchestrator.errors import AuditError
    from orchestrator.evidence.report import dump_report, parse_report

    try:
        then = dump_report(parse_report(stated))
        now = dump_report(parse_report({**stated, **result.parts()}))
    except AuditError:
        return None
    return [name for name in result.parts() if then.get(name) != now.get(name)]


def _stated(folder: Path) -> dict[str, Any]:
    """What was stated before acting, as the drill's report holds it; empty without a report."""
    from orchestrator.errors import AuditError

    path = folder / "report.json"
    try:
        stated: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise AuditError(str(path), f"cannot be read: {error}") from None
    return stated


def _render(
    console: Console, result: AuditResult, reasons: Sequence[str], differing: Sequence[str] | None
) -> None:
    from rich.table import Table

    from orchestrator.evidence.audit.engines import ENGINE

    topics = Table(
        "produced at", "topic", "acked", "present", "tail", "hole", "twice", "out of order", "sent again"
    )
    for cluster, evidence in result.clusters.items():
        for name, topic in evidence["topics"].items():
            figures = (
                topic["acked"],
                topic["present"],
                topic["lost"]["tail"],
                topic["lost"]["hole"],
                topic["duplicates"],
                topic["reordered"],
                topic["resent_copies"],
            )
            topics.add_row(cluster, name, *map(_number, figures))
    console.print(topics)
    consumers = Table(
        "consumer", "topic", "read again: map", "age", "uncommitted", "skipped", "lost", f"by {ENGINE.engine}"
    )
    for (name, topic), rows in _by_topic(result.consumers).items():
        sums = [_total(row["reread"][key] for row in rows) for key in ("map", "position_age", "uncommitted")]
        sums += [_total(row[key] for row in rows) for key in ("skipped", "processed_but_lost")]
        synced = _total(row[ENGINE.reread_key] for row in rows)
        consumers.add_row(name, topic, *map(_number, (*sums, synced)))
    console.print(consumers)
    for reason in reasons:
        console.print(f"  • {reason}", markup=False)
    if differing is not None:
        equal = "every figure is that of report.json"
        console.print(f"report.json has other figures: {', '.join(differing)}" if differing else equal)


def _by_topic(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    grouped: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        grouped.setdefault((row["name"], row["target_topic"] or row["topic"]), []).append(row)
    return grouped


def _total(values: Any) -> int | None:
    found = list(values)
    return None if None in found else sum(found)


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
