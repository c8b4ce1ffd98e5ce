"""Run tests, and write what became of each: `python -m tests.parts_run TESTS.json RESULTS.json`."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest


class Results:
    """A pytest plugin: the outcome and the seconds of each test, its setup and teardown with it."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, str | float]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the worst of a test's stages."""
        row = self.found.setdefault(report.nodeid, {"outcome": "passed", "seconds": 0.0})
        row["seconds"] = round(float(row["seconds"]) + report.duration, 1)
        if report.failed or (report.skipped and row["outcome"] == "passed"):
            row["outcome"] = report.outcome


def main() -> int:
    """Run them; the status is pytest's."""
    # A shell's background jobs ignore Ctrl-C and hand that on; tests send it to what they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tests, results = Path(sys.argv[1]), Results()
    status = pytest.main(["-m", "drills", "-v", *json.loads(tests.read_text(encoding="utf-8"))], [results])
    Path(sys.argv[2]).write_text(json.dumps(results.found), encoding="utf-8")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
