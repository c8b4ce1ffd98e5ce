"""What is told when a simulation does not come up."""

from __future__ import annotations

import errno
from pathlib import Path

from orchestrator.errors import SimulationError
from orchestrator.simulation.failures import failure, rescued_logs


def test_logs_outlive_the_folder_and_the_hint_says_where(state_root: Path, tmp_path: Path) -> None:
    """Kafka's own data files, which end in .log as well, are not taken along."""
    folder = tmp_path / "payments"
    log = folder / "sites" / "west" / "broker-1" / "logs" / "kafka.log"
    segment = folder / "sites" / "west" / "broker-1" / "data" / "orders-0" / "00000000000000000000.log"
    for file in (log, segment):
        file.parent.mkdir(parents=True)
        file.write_text("words")
    logs = rescued_logs(folder)
    assert logs is not None
    assert [file.name for file in logs.rglob("*.log")] == ["kafka.log"]
    told = failure(SimulationError("west", "died", f"log: {log}"), folder, logs)
    assert told.hint == f"log: {logs / log.relative_to(folder)}"
    assert (logs / log.relative_to(folder)).read_text() == "words"


def test_a_full_disk_is_called_that(tmp_path: Path) -> None:
    """With the way out."""
    told = failure(OSError(errno.ENOSPC, "No space left on device"), tmp_path, None)
    assert told.problem == "the disk is full"
    assert "DCCTL_STATE_DIR" in told.hint


def test_an_error_without_logs_stays_as_it_is(state_root: Path, tmp_path: Path) -> None:
    """Nothing was started yet."""
    assert rescued_logs(tmp_path / "empty") is None
    error = SimulationError("west", "is odd", "do this")
    assert failure(error, tmp_path, None) is error
