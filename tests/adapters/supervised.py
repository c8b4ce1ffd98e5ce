"""A supervisor with programs of a test's own, in a folder of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CONF = """\
[unix_http_server]
file={folder}/s.sock
[supervisord]
nodaemon=true
logfile={folder}/supervisord.log
pidfile={folder}/supervisord.pid
[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface
[supervisorctl]
serverurl=unix://{folder}/s.sock
"""


@contextmanager
def supervised(programs: str) -> Iterator[Path]:
    """The folder of one that runs, with `supervisord.conf`; `programs` are its sections."""
    folder = Path(tempfile.mkdtemp(prefix="dcctl-"))  # a socket's path must be short
    (folder / "supervisord.conf").write_text(_CONF.format(folder=folder) + programs)
    process = subprocess.Popen(
        [sys.executable, "-m", "supervisor.supervisord", "-n", "-c", str(folder / "supervisord.conf")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 20
    while not (folder / "s.sock").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    try:
        yield folder
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


def states(folder: Path) -> dict[str, str]:
    """Of its programs."""
    control = Path(sys.executable).with_name("supervisorctl")
    lines = subprocess.run(
        [control, "-c", folder / "supervisord.conf", "status"], capture_output=True, text=True, check=False
    ).stdout
    return {line.split()[0]: line.split()[1] for line in lines.splitlines()}
