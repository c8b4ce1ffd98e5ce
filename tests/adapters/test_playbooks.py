"""Every playbook that comes with dcctl is looked for before a move."""

from __future__ import annotations

from orchestrator.adapters.ansible import _PLAYBOOKS
from orchestrator.installation import own_folder


def test_each_of_the_folder_is_looked_for() -> None:
    """With the modules that they bring to hosts; and no other one."""
    folder = own_folder("playbooks")
    found = {*folder.rglob("*.yml"), *folder.glob("library/*.py"), *folder.glob("module_utils/*.py")}
    assert {str(path.relative_to(folder)) for path in found} == set(_PLAYBOOKS)
