"""Reading a report from plain data, and back: strict, with every problem at once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from orchestrator.errors import AuditError
from orchestrator.operations.report.model import Report

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
        more = len(problems) - _MOST_PROBLEMS_SHOWN
        shown = problems[:_MOST_PROBLEMS_SHOWN] + ([f"and {more} more"] if more > 0 else [])
        hint = "the format is described in docs/report.md"
        raise AuditError("report", "does not follow its format\n" + "\n".join(shown), hint) from None


def dump_report(report: Report) -> dict[str, Any]:
    """The report as plain data: what `parse_report` reads back as equal. `format_version` stands first."""
    data: dict[str, Any] = _ADAPTER.dump_python(report, mode="json")
    return data


def report_schema() -> dict[str, Any]:
    """JSON Schema of `report.json`."""
    return _ADAPTER.json_schema(mode="serialization")
