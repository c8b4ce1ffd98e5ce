"""What holds for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from tests.parts import names_marker

# A time limit for each example says how busy the machine is, not whether the code is right.
settings.register_profile("any-machine", deadline=None)
settings.load_profile("any-machine")


# Of the order of all files: how far those with servers reach.
_SERVERS_UP_TO = 0.7


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`tests.parts` finds the long tests by the files that name their marker.

    Files with real servers, which mostly wait, stand between those that compute, and none is the last: two
    that run side by side then share the machine best (`--no-loadscope-reorder` leaves it at that).
    """
    for item in items:
        if item.get_closest_marker("drills") and not names_marker(item.path):
            raise pytest.UsageError(
                f"{item.path}: its tests are `drills`: `pytest.mark.drills` has to stand there"
            )
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    waiting, computing = list[Path](), list[Path]()
    for path, inside in files.items():
        has_servers = any(
            item.get_closest_marker(name) for item in inside for name in ("integration", "drill")
        )
        (waiting if has_servers else computing).append(path)
    place = {path: at / len(waiting) * _SERVERS_UP_TO for at, path in enumerate(waiting)}
    place |= {path: at / len(computing) for at, path in enumerate(computing)}
    items[:] = [item for path in sorted(files, key=lambda path: place[path]) for item in files[path]]


@pytest.fixture
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulations and runs of a test lie in `tmp_path / "state"`, where nobody else looks."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path / "state"))
