"""The long rehearsals in parts of ten minutes at most: `python -m tests.parts`, `make drills`, `make faults`.

What passed at this state of the working copy is not run again, so an interrupted run goes on where it stopped.
Each part's last result is kept in `.make/parts.json` and printed: of a part that was never run, none.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
SECONDS = Path(__file__).with_name("part_seconds.json")
KEPT = ROOT / ".make" / "parts.json"
PART_S = 600.0
_UNMEASURED_S = 90.0
_PASSED, _NO_TESTS = 0, 5


@dataclass(frozen=True)
class Part:
    """Tests that are run in one go, in the order of collection; `seconds` as they took when last measured."""

    ids: tuple[str, ...]
    seconds: float

    @property
    def name(self) -> str:
        """The files of its tests."""
        files = dict.fromkeys(test.partition("::")[0] for test in self.ids)
        return ", ".join(file.removeprefix("tests/").removesuffix(".py") for file in files)

    @property
    def key(self) -> str:
        """The same as long as it holds the same tests."""
        return hashlib.sha256("\n".join(self.ids).encode()).hexdigest()[:16]


def parts(ids: Iterable[str], seconds: Mapping[str, float], at_most_s: float = PART_S) -> Iterator[Part]:
    """The tests in their order, cut where the next one would be too much; one that is longer stands alone."""
    taken: list[str] = []
    total_s = 0.0
    for test in ids:
        test_s = seconds.get(test, _UNMEASURED_S)
        if taken and total_s + test_s > at_most_s:
            yield Part(tuple(taken), total_s)
            taken, total_s = [], 0.0
        taken.append(test)
        total_s += test_s
    if taken:
        yield Part(tuple(taken), total_s)


def chosen(commit: str, count: int) -> int:
    """Which of so many parts a commit has to pass: each in its turn, for all that hashes tell."""
    return int(commit[:12], 16) % count


def collected(paths: Sequence[str]) -> list[str]:
    """The ids of all long tests below `paths`. Ends the process where they cannot be collected."""
    words = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "drills", *paths]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (_PASSED, _NO_TESTS):
        sys.exit(f"the tests cannot be collected:\n{done.stdout}{done.stderr}")
    return [line for line in done.stdout.splitlines() if "::" in line]


def tree_of_copy() -> str:
    """The id that git gives to all files as they are now: a result counts for just these."""
    with tempfile.TemporaryDirectory() as temporary:
        index = {**os.environ, "GIT_INDEX_FILE": str(Path(temporary) / "index")}
        _git("add", "--all", environment=index)
        return _git("write-tree", environment=index)


def _git(*words: str, environment: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        ["git", *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def run(ids: Sequence[str], folder: Path = ROOT) -> tuple[int, dict[str, dict[str, Any]]]:
    """Run tests of a working copy. Returns pytest's status, and of each test its outcome and seconds."""
    with tempfile.TemporaryDirectory() as temporary:
        asked, found = Path(temporary) / "ids.json", Path(temporary) / "results.json"
        asked.write_text(json.dumps(list(ids)), encoding="utf-8")
        words = [sys.executable, str(Path(__file__).with_name("parts_run.py")), str(asked), str(found)]
        status = subprocess.run(words, cwd=folder, check=False).returncode
        return status, json.loads(found.read_text(encoding="utf-8")) if found.exists() else {}


def failed_here_only(failed: Sequence[str]) -> list[str]:
    """Those that do not fail at the parent commit; all of them where that cannot be told."""
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "parent"
        try:
            _git("worktree", "add", "--detach", str(copy), "HEAD^")
        except subprocess.CalledProcessError:
            return list(failed)
        try:
            _, results = run(failed, copy)
        finally:
            _git("worktree", "remove", "--force", str(copy))
    return [test for test in failed if results.get(test, {}).get("outcome") != "failed"]


def _read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def _write(path: Path, told: Mapping[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _table(found: Sequence[Part], kept: Mapping[str, Any], tree: str) -> Table:
    table = Table(title=f"{len(found)} parts", title_justify="left")
    table.add_column("", justify="right")
    table.add_column("tests of", overflow="fold")
    for name in ("tests", "minutes"):
        table.add_column(name, justify="right")
    for name in ("last result", "when (UTC)", "same files"):
        table.add_column(name)
    for number, part in enumerate(found, 1):
        last, told = kept.get(part.key), ("never run", "", "")
        if last:
            minutes = sum(last["tests"].values()) / 60
            same = "yes" if last["tree"] == tree else "no"
            told = (f"{last['outcome']}, {minutes:.1f} minutes", last["at"], same)
        table.add_row(str(number), part.name, str(len(part.ids)), f"{part.seconds / 60:.1f}", *told)
    return table


def _has_passed(part: Part, tree: str) -> bool:
    last = _read(KEPT).get(part.key, {})
    return bool(last.get("outcome") == "passed" and last.get("tree") == tree)


def _run_part(part: Part, tree: str) -> None:
    status, results = run(part.ids)
    is_whole = status == _PASSED and results.keys() >= set(part.ids)
    told = {
        "outcome": "passed" if is_whole else "failed",
        "failed": [test for test in part.ids if results.get(test, {}).get("outcome", "failed") == "failed"],
        "tests": {test: row["seconds"] for test, row in results.items()},
        "tree": tree,
        "at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
    }
    _write(KEPT, {**_read(KEPT), part.key: told})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.parts", description=__doc__)
    parser.add_argument("paths", nargs="*", default=["tests"], help="where to look for tests")
    parser.add_argument("--list", action="store_true", help="print each part's last result, and run nothing")
    parser.add_argument("--again", action="store_true", help="run those that have passed as well")
    parser.add_argument("--part", type=int, metavar="N", help="run only this one, whatever its last result")
    parser.add_argument("--of-commit", action="store_true", help="run the one whose turn this commit is")
    parser.add_argument(
        "--remember", action="store_true", help="keep how long each test took, for parts of even length"
    )
    return parser.parse_args()


def main() -> int:
    """Run what has not passed yet, print each part's last result; status 1 unless all of them have passed."""
    options, console = _options(), Console()
    if options.remember:
        measured = {test: s for last in _read(KEPT).values() for test, s in last["tests"].items()}
        _write(SECONDS, {**_read(SECONDS), **measured})
        return 0
    found, tree = list(parts(collected(options.paths), _read(SECONDS))), tree_of_copy()
    if options.part is not None and not 1 <= options.part <= len(found):
        sys.exit(f"part {options.part}: there are {len(found)} parts")
    asked, is_due = found, options.again
    if options.part is not None:
        asked, is_due = [found[options.part - 1]], True
    elif options.of_commit:
        asked, is_due = [found[chosen(_git("rev-parse", "HEAD"), len(found))]], True
    for part in asked if not options.list else ():
        if is_due or not _has_passed(part, tree):
            console.rule(part.name)
            _run_part(part, tree)
    console.print(_table(found, _read(KEPT), tree))
    missing = [] if options.list else [part for part in asked if not _has_passed(part, tree)]
    if not (missing and options.of_commit):
        return int(bool(missing))
    here_only = failed_here_only([test for part in missing for test in _read(KEPT)[part.key]["failed"]])
    names = ", ".join(here_only)
    console.print(
        f"Fails here and not at the parent commit: {names}"
        if names
        else "It fails at the parent commit, too."
    )
    return int(bool(here_only))


if __name__ == "__main__":
    sys.exit(main())
