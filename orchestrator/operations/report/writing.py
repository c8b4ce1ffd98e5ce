"""The report's files: `report.json` and `report.html`, each written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.adapters.files import write_whole
from orchestrator.errors import AuditError
from orchestrator.operations.report.document import dump_report, parse_report
from orchestrator.operations.report.model import Report
from orchestrator.operations.report.page import page


def write_report(report: Report | Mapping[str, Any], folder: Path) -> tuple[Path, Path]:
    """Check a report and write it into `folder` as `report.json` and `report.html`; returns both paths.

    Raises `AuditError` when it does not follow its format: then the data lie in `report.rejected.json`,
    so that nothing of what was measured is lost. Raises `AuditError` too when the folder cannot be written.
    """
    if not isinstance(report, Report):
        try:
            report = parse_report(report)
        except AuditError as error:
            rejected = folder / "report.rejected.json"
            _write(rejected, json.dumps(report, indent=2, default=str))
            raise AuditError(error.subject, error.problem, f"what was measured lies in {rejected}") from None
    data, html = folder / "report.json", folder / "report.html"
    _write(data, json.dumps(dump_report(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    _write(html, page(report))
    return data, html


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    except OSError as error:
        raise AuditError(str(path), f"cannot be written: {error.strerror}", "is the disk full?") from None
