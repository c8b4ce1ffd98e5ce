"""What holds for all tests."""

from __future__ import annotations

import pytest

_WITH_SERVERS = ("integration", "drill")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with real servers get a second try (docs/decisions/0017); a repeated one is named at the end."""
    for item in items:
        if any(item.get_closest_marker(name) for name in _WITH_SERVERS):
            item.add_marker(pytest.mark.flaky(reruns=1))
