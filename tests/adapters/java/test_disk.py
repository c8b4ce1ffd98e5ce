"""A disk that is full and a folder that is not ours: our words, and the next run goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.adapters.java.download import fetch
from orchestrator.errors import DownloadError
from tests.adapters.java.maven_repository import Repository

_FETCH_WITH_LIMIT = """
import resource, sys
from pathlib import Path
from orchestrator.adapters.java.download import fetch
from orchestrator.adapters.java.parts import Part, PartSet
from orchestrator.errors import DownloadError
cache, sha256 = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    fetch(PartSet("example", (Part("org.example", "a", "1.0", sha256, 200_000),)), Path(cache))
except DownloadError as error:
    print(error)
"""


def test_a_full_disk_is_told_with_what_is_needed_and_what_is_free(
    repository: Repository, tmp_path: Path
) -> None:
    """A process that may write 100 KB; afterwards the rest is fetched, and only the rest."""
    wanted = repository.part_set("a")
    told = subprocess.run(
        [sys.executable, "-c", _FETCH_WITH_LIMIT, str(tmp_path), wanted.parts[0].sha256],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "no space left on the disk, or in your quota: 0.2 MB are needed" in told
    assert "make room and run the command again" in told
    fetch(wanted, tmp_path)
    first, second = repository.asked
    assert first[1] is None
    assert second[1] == "bytes=100000-"


def test_a_folder_without_rights_is_named(repository: Repository, tmp_path: Path) -> None:
    """The path, and the way out. Root may write everywhere but into the kernel's own folders."""
    folder = tmp_path if os.geteuid() else Path("/sys")
    folder.chmod(0o500 if os.geteuid() else folder.stat().st_mode)
    with pytest.raises(DownloadError, match=r"cannot be written.*\n.*XDG_CACHE_HOME"):
        fetch(repository.part_set("a"), folder / "cache")


def test_a_file_in_the_way_is_named(repository: Repository, tmp_path: Path) -> None:
    """Whatever else the file system refuses is told with its path."""
    (tmp_path / "cache").write_text("not a folder")
    with pytest.raises(DownloadError, match=r"cache.*: (File exists|Not a directory)"):
        fetch(repository.part_set("a"), tmp_path / "cache")
