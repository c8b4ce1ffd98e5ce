"""Every playbook that comes with dcctl is looked for before a move."""

from __future__ import annotations

from orchestrator.adapters.ansible import _PLAYBOOKS
from orchestrator.installation import own_folder


def test_each_of_the_folder_is_looked_for() -> None:
    """And no other one."""
    folder = own_folder("playbooks")
    assert {str(path.relative_to(folder)) for path in folder.rglob("*.yml")} == set(_PLAYBOOKS)
