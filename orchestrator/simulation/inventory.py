"""Ansible's inventory of a simulation: one host a data centre, all of them this machine. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml


def inventory_text(supervisor_configurations: Mapping[str, str], python: str) -> str:
    """The inventory as YAML. `supervisor_configurations` is the file of each data centre's supervisord."""
    hosts: dict[str, Any] = {
        dc: {
            "ansible_connection": "local",
            "ansible_python_interpreter": python,
            "dc": dc,
            "service_manager": "supervisor",
            "supervisor_conf": file,
        }
        for dc, file in supervisor_configurations.items()
    }
    return yaml.safe_dump({"all": {"hosts": hosts}}, sort_keys=False)
