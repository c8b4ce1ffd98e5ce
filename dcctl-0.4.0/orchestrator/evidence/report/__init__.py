"""The report of a drill or a failover: `report.json`, `report.html`, and a summary on the terminal."""

from orchestrator.evidence.report.console import render_verdict
from orchestrator.evidence.report.document import dump_report, parse_report, report_schema, write_report
from orchestrator.evidence.report.folder import in_its_folder
from orchestrator.evidence.report.model import Report

__all__ = [
    "Report",
    "dump_report",
    "in_its_folder",
    "parse_report",
    "render_verdict",
    "report_schema",
    "write_report",
]
