"""The script that recomputes reports is a witness of its own."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

import pytest

from tests.drill import ledger_folder, recomputed, recomputed_loss, recomputed_return

_MODULES = (ledger_folder, recomputed, recomputed_loss, recomputed_return)


@pytest.mark.parametrize("module", _MODULES, ids=lambda module: str(module.__name__))
def test_it_shares_no_code_with_the_product(module: ModuleType) -> None:
    """Nothing of dcctl's is imported, and nothing of the other tests."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    imported = {
        name
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    own = {one.__name__ for one in _MODULES}
    assert [name for name in imported - own if name.split(".")[0] in ("orchestrator", "tests")] == []
