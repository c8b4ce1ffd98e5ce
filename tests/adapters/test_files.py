"""Files that are there whole or not at all, and secrets that are read from files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.adapters import files
from orchestrator.adapters.files import write_whole
from orchestrator.adapters.secrets import resolve_secrets
from orchestrator.errors import DcctlError


def test_a_crash_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing beside it."""
    file = tmp_path / "result.json"
    write_whole(file, "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(file, "new")
    assert file.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_rights_and_links_stay(tmp_path: Path) -> None:
    """A plan that only its owner may read stays so; a link is followed, not replaced."""
    file, link = tmp_path / "plan.json", tmp_path / "newest.json"
    write_whole(file, "old")
    assert file.stat().st_mode & 0o077 & ~0o044 == 0
    file.chmod(0o600)
    link.symlink_to(file)
    write_whole(link, "new")
    assert (link.is_symlink(), file.read_text(encoding="utf-8")) == (True, "new")
    assert file.stat().st_mode & 0o777 == 0o600


def test_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    """`-o /dev/null`, a pipe."""
    write_whole(Path(os.devnull), "gone")
    assert not Path(os.devnull).is_file()
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "nowhere" / "plan.json", "text")


def test_a_secret_that_is_no_text_is_an_error_in_words(tmp_path: Path) -> None:
    """It names the property and the file, never what is in it."""
    secret = tmp_path / "password"
    secret.write_bytes(b"\xff\xfehunter2")
    with pytest.raises(DcctlError, match="no text in UTF-8") as found:
        resolve_secrets({"sasl.password": f"${{file:{secret}}}"}, "clusters.west.client")
    assert found.value.subject == "clusters.west.client.sasl.password"
    assert "hunter2" not in str(found.value)
