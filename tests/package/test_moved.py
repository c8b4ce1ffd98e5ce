"""The installed package takes a simulation through failover and failback. `make drills`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.faults.estate import SMALL
from tests.package.installed import built, installed

pytestmark = [pytest.mark.drills, pytest.mark.timeout(1200)]


def test_there_and_back_from_a_wheel(tmp_path: Path) -> None:
    """In an environment with nothing but `dcctl[all]`, in a folder with nothing but a topology file."""
    _, wheel = built(tmp_path / "dist")
    made = installed(wheel, tmp_path / "installed", "all")
    shutil.copy(SMALL, made.work / "small.yaml")
    words = ("drill", "small.yaml", "--verb", "failback", "--scenario", "tiny", "--out", "drills", "--json")
    done = made.dcctl(*words, timeout_s=900)
    (folder,) = (made.work / "drills").glob("*")
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert done.returncode == 0, report.get("reasons") or done.stderr
    assert report["verdict"] == "valid"
    assert [move["verb"] for move in report["moves"]] == ["failover", "failback"]
    for move in report["moves"]:
        assert move["exact"] == move["positions"] > 0
