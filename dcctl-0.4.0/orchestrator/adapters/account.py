"""Who acts: the account of this process, as records name it."""

from __future__ import annotations

import getpass
import os


def account_name() -> str:
    """Name of the user; its number where there is no passwd entry, as in many containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"
