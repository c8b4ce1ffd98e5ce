"""The toy engine is installed, as a package of a user's own would be."""

from __future__ import annotations

from pathlib import Path

import pytest

TOY_PACKAGE = Path(__file__).parent / "toy_package"


@pytest.fixture(autouse=True)
def _toy_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOY_PACKAGE))
