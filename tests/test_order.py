"""Files with real servers come between the others."""

from __future__ import annotations

from tests.order import spread


def test_the_few_are_as_far_apart_as_they_can_be() -> None:
    """Each keeps its order, and none is lost."""
    assert spread("AB", "abcdef") == list("AabcBdef")
    assert spread("ABC", "a") == list("AaBC")
    assert spread("", "ab") == list("ab")
    assert spread("AB", "") == list("AB")
