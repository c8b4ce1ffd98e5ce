"""What holds for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from tests.parts import names_marker

# A time limit for each example says how busy the machine is, not whether the code is right.
settings.register_profile("any-machine", deadline=None)
settings.load_profile("any-machine")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`tests.parts` finds the long tests by the files that name their marker."""
    for item in items:
        if item.get_closest_marker("drills") and not names_marker(item.path):
            raise pytest.UsageError(
                f"{item.path}: its tests are `drills`: `pytest.mark.drills` has to stand there"
            )


@pytest.fixture
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulations and runs of a test lie in `tmp_path / "state"`, where nobody else looks."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path / "state"))
