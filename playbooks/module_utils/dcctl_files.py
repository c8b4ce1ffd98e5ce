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
    return written(path.parent, new)


def put(module, temporary, path):
    """Put it in the place of the file: owner, mode and what else a file has are those of the one there."""
    module.atomic_move(temporary, str(path))


def keep(path, raw, beside):
    """The file as it was, whole or not, for nobody's eyes who could not read it before."""
    temporary = Path(written(beside.parent, raw))
    try:
        was, now = path.stat(), temporary.stat()
        if (was.st_uid, was.st_gid) != (now.st_uid, now.st_gid):
            os.chown(temporary, was.st_uid, was.st_gid)
        shutil.copystat(path, temporary)
        temporary.replace(beside)
    except OSError:
        temporary.unlink()
        raise


def written(folder, raw):
    """Where it lies then, readable by its owner alone; nothing is left of it where it cannot be written."""
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".dcctl-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        Path(temporary).unlink()
        raise
    return temporary
