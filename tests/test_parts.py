"""How the long rehearsals are cut into parts, and which are still to be run."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests.conftest import pytest_collection_modifyitems
from tests.parts import PART_S, ROOT, has_passed, parts, table_of, with_long_tests
from tests.rotating import chosen, to_blame

names = st.lists(st.text(min_size=1, max_size=4), unique=True)


@given(names, st.dictionaries(st.text(min_size=1, max_size=4), st.floats(0, 2 * PART_S)))
def test_every_test_is_in_one_part_in_its_order(tests: list[str], seconds: dict[str, float]) -> None:
    """And no part is longer than it may be, but for a test that is so alone."""
    kept = {test: {"seconds": s} for test, s in seconds.items()}
    found = list(parts(tests, kept))
    assert [test for part in found for test in part] == tests
    assert all(sum(seconds.get(test, 0) for test in part) <= PART_S or len(part) == 1 for part in found)


def test_a_result_counts_for_the_files_it_was_of() -> None:
    """And only one that passed."""
    kept = {"a": {"outcome": "passed", "tree": "1"}, "b": {"outcome": "failed", "tree": "1"}}
    assert [has_passed(test, kept, "1") for test in ("a", "b", "c")] == [True, False, False]
    assert not has_passed("a", kept, "2")


def test_only_files_with_long_tests_are_collected() -> None:
    """All others are not imported; a file or a test that is named stays as it is."""
    found = with_long_tests(["tests"])
    assert {"tests/gates/test_lost.py", "tests/layouts/test_applied.py"} <= set(found)
    assert "tests/runs/test_plan.py" not in found
    assert with_long_tests(["tests/gates"]) == [path for path in found if path.startswith("tests/gates/")]
    named = ["tests/runs/test_plan.py", "tests/gates/test_lost.py::test_x"]
    assert with_long_tests(named) == named


def test_a_long_test_whose_file_does_not_name_the_marker_is_not_overlooked(tmp_path: Path) -> None:
    """Whoever collects it is told."""
    file = tmp_path / "test_x.py"
    item: Any = SimpleNamespace(path=file, get_closest_marker=lambda name: name == "drills" or None)
    file.write_text("from tests.x import pytestmark", encoding="utf-8")
    with pytest.raises(pytest.UsageError, match="has to stand there"):
        pytest_collection_modifyitems([item])
    file.write_text("pytestmark = pytest.mark.drills", encoding="utf-8")
    pytest_collection_modifyitems([item])


def test_the_table_has_each_file_in_one_line() -> None:
    """Of 80 columns, also where a part of a file's tests was run."""
    tests = [f"{path}::{name}" for path in with_long_tests(["tests"]) for name in "ab"]
    row = {"outcome": "passed", "tree": "1", "seconds": 4_000.0, "at": "2026-01-31 03:12"}
    kept = dict.fromkeys(tests[::2], row) | {tests[1]: {**row, "outcome": "failed", "seconds": 6.0}}
    out = io.StringIO()
    Console(file=out, width=80).print(table_of(tests, kept, "1"))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    first = tests[0].partition("::")[0].removeprefix("tests/")
    assert [line.split() for line in lines if first in line] == [[first, "1", "1", "66.8", "01-31", "03:12"]]
    count = len(tests) // 2
    in_all = f"{(count * 4_000 + 6) / 60:.1f} minutes for {count + 1} of {len(tests)} tests"
    assert lines[-1] == in_all
    for path in with_long_tests(["tests"]):
        assert sum(line.split()[:1] == [path.removeprefix("tests/")] for line in lines) == 1
    assert all((ROOT / path).is_file() for path in with_long_tests(["tests"]))


@given(names.filter(bool), st.integers(0, 16**40 - 1))
def test_a_commit_has_one_part_and_later_ones_the_others(tests: list[str], commit: int) -> None:
    """Commits whose ids follow on one another run everything."""
    found = [chosen(tests, f"{number:040x}") for number in range(commit, commit + len(tests))]
    assert found[0] == chosen(tests, f"{commit:040x}")
    assert {test for part in found for test in part} == set(tests)


def test_what_fails_blocks_unless_the_parent_commit_fails_as_well() -> None:
    """Also what was ended before it had a result, what the parent does not have, and what it skips."""
    passed, failed, skipped = ({"outcome": outcome} for outcome in ("passed", "failed", "skipped"))
    here = {"old": failed, "new": failed, "good": passed, "unsure": failed, "skips": failed}
    parent = {"old": failed, "good": passed, "ended": passed, "unsure": passed, "skips": skipped}
    asked: list[str] = []

    def at_parent(tests: Sequence[str]) -> dict[str, dict[str, str]]:
        asked.extend(tests)
        return {test: parent[test] for test in tests if test in parent}

    found = to_blame([*here, "ended"], lambda _: here, at_parent)
    assert asked == ["old", "new", "unsure", "skips", "ended"]
    assert {test for test, why in found.items() if why} == {"new", "unsure", "skips", "ended"}
    assert found["old"] == ""
    assert to_blame(["good"], lambda _: here, lambda _: pytest.fail("nobody asks the parent")) == {}
