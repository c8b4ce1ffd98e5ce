"""How dcctl's modules on hosts change a file of somebody else's: the file as it was stays beside it."""

import os
import shutil
import tempfile
from pathlib import Path


def replaced(module, path, old, new, kept_as):
    """Keep `old`, what the file has, at its path and `kept_as`, and put `new` in its place, whole or not."""
    put(module, staged(path, old, new, kept_as), path)


def staged(path, old, new, kept_as):
    """Keep `old`, what the file has, at its path and `kept_as`; returns where `new` lies, for `put`.

    Raises `OSError`, as on a disk that is full, with the file as it was.
    """
    keep(path, old, Path(str(path) + kept_as))
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".dcctl-")
    with os.fdopen(handle, "wb") as file:
        file.write(new)
        file.flush()
        os.fsync(file.fileno())
    return temporary


def put(module, temporary, path):
    """Put it in the place of the file: owner, mode and what else a file has are those of the one there."""
    module.atomic_move(temporary, str(path))


def keep(path, raw, beside):
    """The file as it was, for nobody's eyes who could not read it before."""
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())
    was = path.stat()
    if (was.st_uid, was.st_gid) != (beside.stat().st_uid, beside.stat().st_gid):
        os.chown(beside, was.st_uid, was.st_gid)
    shutil.copystat(path, beside)
