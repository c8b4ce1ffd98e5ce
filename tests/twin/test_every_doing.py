"""A process that dies before and after everything that it does on each way: gone on with, and taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.twin import test_parts_killed, test_routes_killed, test_verbs
from tests.twin.conftest import Estates
from tests.twin.killing import Story, each, gone_on_with, taken_back
from tests.twin.record import Harm

pytestmark = [pytest.mark.drills, pytest.mark.timeout(3600)]

STORIES = {
    f"{of}: {name}": story
    for of, stories in (
        ("verbs", test_verbs.STORIES),
        ("routes", test_routes_killed.STORIES),
        ("parts", test_parts_killed.STORIES),
    )
    for name, story in stories.items()
}
_SLICES = 4


def _cases() -> Iterator[tuple[str, Callable[[Estates, Story, int, Harm], None], int]]:
    for name, story in STORIES.items():
        for come_out in (gone_on_with, taken_back):
            if come_out is gone_on_with or story.is_undone is not None:
                yield from ((name, come_out, number) for number in range(_SLICES))


@pytest.mark.parametrize(
    ("name", "come_out", "part"), tuple(_cases()), ids=lambda given: getattr(given, "__name__", str(given))
)
def test_wherever_it_dies(
    estates: Estates, name: str, come_out: Callable[[Estates, Story, int, Harm], None], part: int
) -> None:
    """Each part has every fourth of all of them."""
    for number, harm in each(estates, STORIES[name])[part::_SLICES]:
        come_out(estates, STORIES[name], number, harm)
