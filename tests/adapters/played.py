"""A playbook of dcctl's own as a person plays it: by `ansible-playbook`, once more, or in check mode."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.adapters.ansible import playbook_path

_RECAP = re.compile(r"^(\S+)\s+: ok=(\d+)\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Played:
    """`changed`: by host how many tasks changed something; `text`: all that Ansible said."""

    changed: Mapping[str, int]
    text: str

    @property
    def has_changed(self) -> bool:
        """Whether anything did."""
        return any(self.changed.values())


def played(
    name: str,
    inventory: Path,
    variables: Mapping[str, Any],
    *,
    check: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Played:
    """Play it; every host has to be reached, and no task may fail."""
    done = subprocess.run(
        [
            Path(sys.executable).with_name("ansible-playbook"),
            *(["--check"] if check else []),
            "-v",
            "-i",
            str(inventory),
            str(playbook_path(name)),
            "-e",
            json.dumps(variables),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={
            **os.environ,
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_LOCALHOST_WARNING": "0",
            "ANSIBLE_DEPRECATION_WARNINGS": "0",
            **(environment or {}),
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr
    changed = {row[0]: int(row[2]) for row in _RECAP.findall(done.stdout)}
    assert changed, done.stdout
    return Played(changed, done.stdout)
