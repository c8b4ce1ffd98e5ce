"""Hosts of a cluster's servers, asked through a playbook of dcctl's own, by the inventory of the file."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.errors import PlaybookError
from orchestrator.ports.hosts import HostsTold
from orchestrator.runs.live.servers import Servers
from orchestrator.topology.model import Topology


class AskedHosts:
    """`folder`: where all that is said is kept; none for a look alone."""

    def __init__(
        self,
        servers: Servers,
        topology: Topology,
        folder: Path | None = None,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        self._servers, self._topology = servers, topology
        self._folder, self._is_cancelled = folder, is_cancelled

    def _asked(
        self, playbook: str, sites: Sequence[str], doing: Mapping[str, Any], name: str, timeout_s: float
    ) -> HostsTold:
        """What the hosts at these sites tell. Raises `PlaybookError` without an inventory."""
        if not self._topology.inventory:
            problem = "the topology file names no inventory: the hosts of servers cannot be reached"
            raise PlaybookError(f"playbook {playbook}", problem, "inventory: PATH in the topology file")
        folder = self._folder or Path(tempfile.mkdtemp(prefix="dcctl-hosts-"))
        told = self._servers.playbooks.ask(
            playbook,
            inventory=Path(self._topology.inventory),
            variables={"datacenters": list(sites), **doing},
            folder=folder / "playbooks" / name,
            timeout_s=timeout_s,
            is_cancelled=self._is_cancelled,
        )
        if self._folder is None:  # kept where the play has failed: the error names its log
            shutil.rmtree(folder, ignore_errors=True)
        return told
