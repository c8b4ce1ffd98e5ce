"""The report of a drill or a failover: `report.json`, `report.html`, and a summary on the terminal."""

from orchestrator.operations.report.console import render_verdict
from orchestrator.operations.report.document import dump_report, parse_report, report_schema, write_report
from orchestrator.operations.report.model import Report

__all__ = ["Report", "dump_report", "parse_report", "render_verdict", "report_schema", "write_report"]
