"""The report as plain data and as files: strict as it is read, written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from orchestrator.adapters.files import write_whole
from orchestrator.errors import AuditError
from orchestrator.evidence.report.model import Report
from orchestrator.evidence.report.page import page
from orchestrator.wording import listed

_ADAPTER: TypeAdapter[Report] = TypeAdapter(Report)
_MOST_PROBLEMS_SHOWN = 12


def parse_report(data: Mapping[str, Any] | str) -> Report:
    """The report in JSON text or in plain data.

    Plain data goes through JSON text first, so that exactly what will be in the file is checked.
    Raises `AuditError` that names every unknown, missing or impossible field by its path.
    """
    try:
        text = data if isinstance(data, str) else json.dumps(data, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise AuditError("report", f"is not JSON: {error}", "numpy numbers and NaN are not") from None
    try:
        return _ADAPTER.validate_json(text)
    except ValidationError as error:
        problems = [
            f"{'.'.join(str(part) for part in details['loc']) or 'report'}: {details['msg']}"
            for details in error.errors(include_url=False)
        ]
        shown = listed(problems, _MOST_PROBLEMS_SHOWN, separator="\n")
        hint = "the format is described in docs/report.md"
        raise AuditError("report", f"does not follow its format\n{shown}", hint) from None


def dump_report(report: Report) -> dict[str, Any]:
    """The report as plain data: what `parse_report` reads back as equal. `format_version` stands first."""
    data: dict[str, Any] = _ADAPTER.dump_python(report, mode="json", by_alias=True)
    return data


def report_schema() -> dict[str, Any]:
    """JSON Schema of `report.json`."""
    return _ADAPTER.json_schema(mode="serialization")


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
