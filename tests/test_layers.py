"""The layers of the design hold: see the contracts under `tool.importlinter`."""

from __future__ import annotations

from pathlib import Path

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

ROOT = Path(__file__).parents[1]


def test_a_layer_imports_only_layers_below_it() -> None:
    """The import direction, and a pure core without IO."""
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True) == EXIT_STATUS_SUCCESS
