"""What holds for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from tests.order import spread
from tests.parts import names_marker

# A time limit for each example says how busy the machine is, not whether the code is right.
settings.register_profile("any-machine", deadline=None)
settings.load_profile("any-machine")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with real servers come between the others: while servers start and wait, others compute.

    Of each file the tests stay together and in their order. And `tests.parts` finds the long tests by the files
    that name their marker.
    """
    for item in items:
        if item.get_closest_marker("drills") and not names_marker(item.path):
            raise pytest.UsageError(
                f"{item.path}: its tests are `drills`: `pytest.mark.drills` has to stand there"
            )
    by_file: dict[Path, list[pytest.Item]] = {}
    for item in items:
        by_file.setdefault(item.path, []).append(item)
    with_servers = {file for file, its in by_file.items() if any(map(_has_servers, its))}
    order = spread(
        [file for file in by_file if file in with_servers],
        [file for file in by_file if file not in with_servers],
    )
    items[:] = [item for file in order for item in by_file[file]]


def _has_servers(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("integration", "drill"))


@pytest.fixture
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulations and runs of a test lie in `tmp_path / "state"`, where nobody else looks."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path / "state"))
