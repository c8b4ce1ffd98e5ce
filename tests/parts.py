"""The long rehearsals, ten minutes at a time: `python -m tests.parts [PATH …]`, `make drills`, `make faults`.

A test that passed with just these files is not run again, so an interrupted run goes on where it stopped. Each
test's last result is kept in `.make/parts.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
KEPT = ROOT / ".make" / "parts.json"
PART_S = 600.0
_UNMEASURED_S = 90.0
_PASSED, _NO_TESTS = 0, 5

Kept = Mapping[str, Mapping[str, Any]]
"""Test -> `outcome`, `seconds`, `tree` (see `tree_of_copy`), `at` (UTC)."""


def parts(tests: Iterable[str], kept: Kept, at_most_s: float = PART_S) -> Iterator[tuple[str, ...]]:
    """The tests in their order, cut where the next one would be too much; one that is longer stands alone."""
    taken: list[str] = []
    total_s = 0.0
    for test in tests:
        test_s = float(kept.get(test, {}).get("seconds", _UNMEASURED_S))
        if taken and total_s + test_s > at_most_s:
            yield tuple(taken)
            taken, total_s = [], 0.0
        taken.append(test)
        total_s += test_s
    if taken:
        yield tuple(taken)


def has_passed(test: str, kept: Kept, tree: str) -> bool:
    """Whether it has passed with just these files."""
    last = kept.get(test, {})
    return bool(last.get("outcome") == "passed" and last.get("tree") == tree)


def with_long_tests(paths: Iterable[str]) -> list[str]:
    """The same, but of a folder only its files that name the marker: to import all others takes long.

    A file whose tests have the marker and that does not name it fails every collection (`conftest.py`).
    """
    found: list[str] = []
    for path in paths:
        folder = ROOT / path
        files = sorted(folder.rglob("test_*.py")) if folder.is_dir() else None
        named = [str(file.relative_to(ROOT)) for file in files or () if names_marker(file)]
        found += [path] if files is None else named
    return found


def names_marker(file: Path) -> bool:
    """Whether the marker of long tests stands in a file."""
    return "mark.drills" in file.read_text(encoding="utf-8")


def collected(paths: Sequence[str]) -> list[str]:
    """The ids of all long tests below `paths`. Ends the process where they cannot be collected."""
    files = with_long_tests(paths)
    if not files:
        return []
    words = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "drills", *files]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (_PASSED, _NO_TESTS):
        sys.exit(f"the tests cannot be collected:\n{done.stdout}{done.stderr}")
    return [line for line in done.stdout.splitlines() if "::" in line]


def tree_of_copy() -> str:
    """The id that git gives to all files as they are now: a result counts for just these."""
    with tempfile.TemporaryDirectory() as temporary:
        index = {**os.environ, "GIT_INDEX_FILE": str(Path(temporary) / "index")}
        words = ["git", "add", "--all"], ["git", "write-tree"]
        for each in words:
            done = subprocess.run(each, cwd=ROOT, env=index, capture_output=True, text=True, check=True)
        return done.stdout.strip()


def run(
    tests: Sequence[str], copy: Path = ROOT, environment: Mapping[str, str] | None = None
) -> dict[str, dict[str, Any]]:
    """Run tests of a copy of the repository, one after the other, by its packages.

    Returns the outcome and the seconds of each that came to an end.
    """
    with tempfile.TemporaryDirectory() as temporary:
        asked, found = Path(temporary) / "tests.json", Path(temporary) / "results.json"
        asked.write_text(json.dumps(list(tests)), encoding="utf-8")
        python = sys.executable if copy == ROOT else copy / ".venv" / "bin" / "python"
        words = [python, "-m", "tests.parts_run", str(asked), str(found)]
        subprocess.run(words, cwd=copy, env=environment, check=False)
        return dict(json.loads(found.read_text(encoding="utf-8"))) if found.exists() else {}


def read_kept() -> dict[str, Mapping[str, Any]]:
    """Each test's last result."""
    return dict(json.loads(KEPT.read_text(encoding="utf-8"))) if KEPT.exists() else {}


def _keep(results: Mapping[str, Mapping[str, Any]], tree: str) -> None:
    at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    told = {test: {**row, "tree": tree, "at": at} for test, row in results.items()}
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps({**read_kept(), **told}, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def table_of(tests: Sequence[str], kept: Kept, tree: str) -> Table:
    """A row a file, whose name is never broken, and what all of them took."""
    title = "Results with the files as they are now, and the minutes of the last run"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("tests of", no_wrap=True)
    for name in ("passed", "failed", "due", "minutes"):
        table.add_column(name, justify="right")
    table.add_column("last", justify="right", no_wrap=True)
    by_file: dict[str, list[str]] = {}
    for test in tests:
        by_file.setdefault(test.partition("::")[0].removeprefix("tests/"), []).append(test)
    for file, its in by_file.items():
        now = [kept[test]["outcome"] for test in its if kept.get(test, {}).get("tree") == tree]
        passed, failed = (sum(outcome == what for outcome in now) for what in ("passed", "failed"))
        seconds = [kept[test]["seconds"] for test in its if test in kept]
        minutes = f"{sum(seconds) / 60:.1f}" if seconds else ""
        minutes += f" for {len(seconds)}" if 0 < len(seconds) < len(its) else ""
        last = (
            max((kept[test]["at"] for test in its if test in kept), default="never").partition("-")[2]
            or "never"
        )
        counts = (passed, failed, len(its) - passed - failed)
        table.add_row(file, *(str(count) if count else "" for count in counts), minutes, last)
    seconds = [kept[test]["seconds"] for test in tests if test in kept]
    table.caption_justify = "left"
    table.caption = f"{sum(seconds) / 60:.1f} minutes for {len(seconds)} of {len(tests)} tests"
    return table


def main() -> int:
    """Run what has not passed yet, and print what came of all; status 1 unless all have passed."""
    parser = argparse.ArgumentParser(prog="python -m tests.parts", description=__doc__)
    parser.add_argument("paths", nargs="*", default=["tests"], help="files, folders or single tests")
    parser.add_argument("--list", action="store_true", help="only print each file's last results")
    parser.add_argument("--again", action="store_true", help="run those that have passed as well")
    options, console = parser.parse_args(), Console()
    tests, tree = collected(options.paths), tree_of_copy()
    if not tests:
        parser.error("no long tests there")
    due = [test for test in tests if options.again or not has_passed(test, read_kept(), tree)]
    for part in parts(due if not options.list else (), read_kept()):
        results = run(part)
        if tree_of_copy() != tree:
            sys.exit("a file was changed while tests ran: nobody knows what these were of, and none is kept")
        _keep(results, tree)
    kept = read_kept()
    console.print(table_of(tests, kept, tree))
    return int(not options.list and not all(has_passed(test, kept, tree) for test in tests))


if __name__ == "__main__":
    sys.exit(main())
