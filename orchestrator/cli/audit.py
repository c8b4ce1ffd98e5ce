"""`dcctl audit FOLDER`: what was acknowledged, what is there, what was read; measured again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from orchestrator.cli.options import JSON

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from orchestrator.evidence.audit.result import AuditResult

# An audit that could not read everything is unknown, never ok.
_STATUS = {"valid": 0, "invalid": 1, "unknown": 7}


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command("audit")(audit)


def audit(
    folder: Path = typer.Argument(..., help="A drill's folder: inputs.json, ledgers, report.json."),
    master: str = typer.Option("local[*]", "--master", help="Spark master."),
    as_json: bool = JSON,
) -> None:
    """Audit a move again, or moves there and back, on the clusters as they are now. Changes nothing."""
    import tempfile

    from orchestrator.cli.output import emit
    from orchestrator.evidence.audit.inputs import AuditInputs
    from orchestrator.evidence.audit.kinds import audited_kinds
    from orchestrator.evidence.audit.run import run_audit
    from orchestrator.evidence.audit.verdict import judge, judge_moves
    from orchestrator.evidence.run_audit import audit_session

    inputs = AuditInputs.read(folder)
    audited_kinds(inputs.consumers)  # one that is not known is told before a session is begun
    stated = _stated(folder)
    with tempfile.TemporaryDirectory(prefix="dcctl-audit-") as scratch:
        spark = audit_session(master, Path(scratch))
        try:
            result = run_audit(spark, inputs)
        finally:
            spark.stop()
    is_verified = (stated.get("fault") or {}).get("verified")
    # Records that a consumer has not read yet are findings of the audit itself.
    if inputs.moves:
        verdict, reasons = judge_moves(result, is_fault_verified=is_verified, is_drained=True)
    else:
        verdict, reasons = judge(
            result,
            predicted_loss=stated.get("predicted", {}).get("loss", {}),
            source=inputs.source,
            is_fault_verified=is_verified,
            is_drained=True,
        )
    emit(
        {"verdict": verdict, "reasons": reasons, **result.to_json()},
        as_json=as_json,
        summary=f"{verdict}: {len(reasons)} reason{'' if len(reasons) == 1 else 's'}",
        render=lambda console: _render(console, result, reasons),
    )
    raise typer.Exit(_STATUS[verdict])


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


def _render(console: Console, result: AuditResult, reasons: Sequence[str]) -> None:
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
