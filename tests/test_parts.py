"""How the long rehearsals are cut into parts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.parts import PART_S, chosen, parts

names = st.lists(st.text(min_size=1, max_size=4), unique=True)


@given(names, st.dictionaries(st.text(min_size=1, max_size=4), st.floats(0, 2 * PART_S)))
def test_every_test_is_in_one_part_in_its_order(ids: list[str], seconds: dict[str, float]) -> None:
    """And no part is longer than it may be, but for a test that is so alone."""
    found = list(parts(ids, seconds))
    assert [test for part in found for test in part.ids] == ids
    assert all(part.seconds <= PART_S or len(part.ids) == 1 for part in found)


@given(st.text("0123456789abcdef", min_size=40, max_size=40), st.integers(1, 60))
def test_a_commit_always_has_the_same_turn(commit: str, count: int) -> None:
    """One that there is."""
    assert chosen(commit, count) == chosen(commit, count) in range(count)


def test_commits_take_turns() -> None:
    """No part is left out for good."""
    assert {chosen(f"{number:012x}" + 28 * "0", 30) for number in range(0, 10**9, 7_654_321)} == set(
        range(30)
    )


def test_a_part_is_another_one_with_other_tests() -> None:
    """Its last result is not that of others."""
    first, second = parts(["a.py::a", "a.py::b", "b.py::c"], {"a.py::a": 1, "a.py::b": 1, "b.py::c": PART_S})
    (whole,) = parts(["a.py::a", "a.py::b", "b.py::c"], dict.fromkeys(["a.py::a", "a.py::b", "b.py::c"], 1))
    assert (first.name, second.name, whole.name) == ("a", "b", "a, b")
    assert len({first.key, second.key, whole.key}) == 3
