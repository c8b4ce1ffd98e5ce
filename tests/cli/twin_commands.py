"""The command line on an estate in memory: each command as a person types it, and what it leaves on a terminal."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from orchestrator.cli import output
from orchestrator.cli.main import run
from orchestrator.runs.live import coordination
from orchestrator.topology.loading import dump_topology
from orchestrator.verbs.live import real_servers
from tests.cli.terminal_rows import Screen
from tests.twin.operator import Operator

_METHODS = ("of_kind", "coordination", "kafka", "access", "log_ends", "each_broker", "connect", "listening")


class Terminal:
    """Types commands on an estate. `status` is that of the newest one."""

    def __init__(self, operator: Operator, folder: Path, width: int = 80) -> None:
        self.estate, self.width, self.status = operator.estate, width, 0
        self.file = folder / "estate.yaml"
        self.file.write_text(json.dumps(dump_topology(self.estate.topology)), encoding="utf-8")

    def types(self, *words: str) -> list[str]:
        """`FILE` is the estate's; the rows that a terminal shows afterwards, errors among them."""
        written = io.StringIO()
        console = Console(
            file=written,
            width=self.width,
            force_terminal=True,
            color_system=None,
            highlight=False,
            soft_wrap=True,
            legacy_windows=False,
        )
        with pytest.MonkeyPatch.context() as patch:
            self._work_here(patch)
            patch.setattr(output, "console", console)
            patch.setattr(output, "err_console", console)
            self.status = run([str(self.file) if word == "FILE" else word for word in words])
        screen = Screen(self.width)
        screen.feed(written.getvalue())
        return screen.rows

    def _work_here(self, patch: pytest.MonkeyPatch) -> None:
        servers: Any = self.estate.servers

        def on(name: str) -> Any:
            return lambda _, *given, **named: getattr(servers, name)(*given, **named)

        for name in _METHODS:
            patch.setattr(real_servers.RealServers, name, on(name))
        for name in ("clock", "threads", "playbooks"):
            patch.setattr(real_servers.RealServers, name, getattr(servers, name))
        patch.setattr(coordination, "Coordination", lambda *_, **__: self.estate.ensemble)
