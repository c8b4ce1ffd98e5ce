"""Ansible's inventory of a simulation: one host a data centre. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml


def inventory_text(variables: Mapping[str, Mapping[str, str]]) -> str:
    """The inventory as YAML. `variables`: how playbooks reach the host of each data centre."""
    hosts: dict[str, Any] = {dc: {**found, "dc": dc} for dc, found in variables.items()}
    return yaml.safe_dump({"all": {"hosts": hosts}}, sort_keys=False)
