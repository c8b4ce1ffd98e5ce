"""A whole rehearsal with everything encrypted: the verdict is the same, and the evidence holds no secret."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.drill.rehearsal import ROOT, processes_of, rehearse

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]

EXAMPLE = ROOT / "topologies" / "active-passive-secured.yaml"
# What the simulation's passwords look like where a login names one (`secrets.token_urlsafe(18)`).
_PASSWORD = re.compile(rb"password\W{1,3}[\w-]{24}\b", re.IGNORECASE)


def test_a_secured_estate_is_failed_over_as_stated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Producers, groups, Spark, mirror, watcher, Connect, lock and journal, all over TLS."""
    monkeypatch.setenv("SECRET_OF_AN_OPERATOR", "hunter2-in-the-environment")
    rehearsal = rehearse(tmp_path, "--seed", "4711", rto_s=600, file=EXAMPLE)
    assert rehearsal.report.get("verdict") == "valid", rehearsal.report.get("reasons") or rehearsal.stderr
    assert rehearsal.status == 0
    for file in (file for file in rehearsal.folder.rglob("*") if file.is_file()):
        content = file.read_bytes()
        assert b"PRIVATE KEY" not in content, file
        assert b"hunter2" not in content, file
        assert not _PASSWORD.search(content), file
    assert processes_of(tmp_path) == []
