"""One part of the long rehearsals, another with each commit: `python -m tests.rotating`, `make rotating`.

A test that fails is run once more as the parent commit has it, in a copy of that commit with packages of its own.
Status 1 where one fails that the parent commit passes, or does not have.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from tests.parts import ROOT, collected, parts, run

_EACH_S = 150.0
"""What a test is taken to last where nothing was measured: four make a part."""


def chosen(tests: Sequence[str], commit: str) -> tuple[str, ...]:
    """The part that a commit (hexadecimal id) has to run: as good as by chance, and always the same."""
    known = {test: {"seconds": _EACH_S} for test in tests}
    every = list(parts(tests, known))
    return every[int(commit, 16) % len(every)]


def to_blame(
    tests: Sequence[str],
    here: Callable[[Sequence[str]], Mapping[str, Mapping[str, Any]]],
    at_parent: Callable[[Sequence[str]], Mapping[str, Mapping[str, Any]]],
) -> dict[str, str]:
    """Test that does not pass -> what blocks, empty where the parent commit's own test fails as well.

    One without a result has not passed: whoever ran it was ended before.
    """
    found = here(tests)
    red = [test for test in tests if found.get(test, {}).get("outcome") != "passed"]
    before = at_parent(red) if red else {}
    said = {test: before.get(test, {}).get("outcome", "not run") for test in red}
    return {
        test: "" if outcome == "failed" else f"{outcome} at the parent commit"
        for test, outcome in said.items()
    }


def main() -> int:
    """Run the part of this commit, and print what blocks."""
    tests = chosen(collected(["tests"]), _git("rev-parse", "HEAD"))
    console = Console(soft_wrap=True, markup=False, highlight=False)
    console.print(*tests, sep="\n")
    blamed = to_blame(tests, run, _run_at_parent)
    for test, why in blamed.items():
        console.print(
            f"{test} does not pass: {why or 'it fails at the parent commit as well, and blocks nothing'}"
        )
    return int(any(blamed.values()))


def _run_at_parent(tests: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Nothing where there is no parent commit, as in a clone of depth 1."""
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "parent"
        if subprocess.run(
            ["git", "worktree", "add", "--detach", copy, "HEAD^"], cwd=ROOT, check=False
        ).returncode:
            return {}
        try:
            there = [test for test in tests if (copy / test.partition("::")[0]).is_file()]
            own = {**os.environ, "PYTHONPATH": str(copy)}
            if subprocess.run(["make", "setup"], cwd=copy, env=own, check=False).returncode:
                return {}
            # One by one: a test that the parent does not have ends the call that names it.
            return {test: row for each in there for test, row in run([each], copy, own).items()}
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", copy], cwd=ROOT, check=False)


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
