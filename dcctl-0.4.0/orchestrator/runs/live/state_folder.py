"""Where this machine keeps what runs leave behind."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def state_folder() -> Path:
    """`$DCCTL_STATE_DIR`, or the user's state folder."""
    chosen = os.environ.get("DCCTL_STATE_DIR")
    return Path(chosen).absolute() if chosen else platformdirs.user_state_path("dcctl")


def run_folder(run_id: str) -> Path:
    """Where a run keeps its evidence by default: below `$DCCTL_STATE_DIR` or the user's state folder."""
    return state_folder() / "runs" / run_id
