"""The committed pictures of the examples, and the page that shows them, are what the commands make now."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "layouts.py"


@pytest.fixture(scope="module")
def layouts() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("layouts", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pictures_and_page_are_current(layouts: ModuleType) -> None:
    """A changed example, picture or explanation is committed with what is made from it."""
    behind = [
        path.name
        for path, text in layouts.made().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    assert not behind, (
        f"behind their examples: {', '.join(behind)}; run scripts/layouts.py (`make layouts`) and commit"
    )


def test_each_example_has_a_picture_and_nothing_else_has(layouts: ModuleType) -> None:
    """A renamed example leaves no picture behind."""
    pictures = {path.name for path in layouts.PICTURES.glob("*.svg")}
    assert pictures == {layouts.picture(path).name for path in layouts.EXAMPLES.glob("*.yaml")}
