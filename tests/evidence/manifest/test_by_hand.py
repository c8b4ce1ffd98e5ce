"""The page's way of checking a folder without dcctl, word for word."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from orchestrator.evidence.manifest.keys import fingerprint
from orchestrator.evidence.manifest.signing import sign_folder

PAGE = Path(__file__).parents[3] / "docs" / "evidence.md"
KEY = Ed25519PrivateKey.generate()


def by_hand(folder: Path) -> tuple[list[int], str]:
    """The status of each command of the page's block, in its order, and what all of them say."""
    (block,) = re.findall(r"^```bash\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    commands = block.replace("\\\n", " ").strip().splitlines()
    done = [
        subprocess.run(
            ["bash", "-o", "pipefail", "-c", line], cwd=folder, capture_output=True, text=True, check=False
        )
        for line in commands
    ]
    return [one.returncode for one in done], "".join(one.stdout + one.stderr for one in done)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A signed one, with names as evidence has them."""
    for path in ("report.json", "ledgers/producers/a/life-1.csv", "kept/records/east/000.parquet"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path, encoding="utf-8")
    sign_folder(tmp_path, KEY)
    return tmp_path


def test_what_was_not_changed_passes(folder: Path) -> None:
    """And the fingerprint is the one that dcctl prints."""
    statuses, said = by_hand(folder)
    assert statuses == [0, 0, 0, 0], said
    assert fingerprint(KEY.public_key()) in said
    assert "Signature Verified Successfully" in said


def test_each_kind_of_change_is_seen(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """By the command that is for it."""

    def after(change: object) -> list[int]:
        copy = tmp_path_factory.mktemp("copy") / "folder"
        shutil.copytree(folder, copy)
        change(copy)  # type: ignore[operator]
        return by_hand(copy)[0]

    assert after(lambda at: (at / "report.json").write_text("forged"))[2] != 0
    assert after(lambda at: (at / "report.json").unlink())[2:] == [1, 1]
    assert after(lambda at: (at / "more").write_text("added"))[3] != 0
    assert (
        after(lambda at: (at / "manifest.json").write_text((at / "manifest.json").read_text() + " "))[0] != 0
    )
    assert after(lambda at: (at / "manifest.sig").write_bytes(bytes(64)))[0] != 0
    other = Ed25519PrivateKey.generate()

    def forged(at: Path) -> None:
        (at / "report.json").write_text("forged")
        sign_folder(at, other)

    assert after(forged) == [0, 0, 0, 0], "only the fingerprint tells: the page says so"
