"""How the long rehearsals are cut into parts, and which are still to be run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.parts import PART_S, has_passed, parts

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
