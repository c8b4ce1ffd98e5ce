"""`dcctl failback` from the command line: what can be said without any server."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.cli.main import run
from orchestrator.verbs.live import failback_procedure as operation
from orchestrator.verbs.plans import plan_failback
from tests.verbs import failback_pictures, pictures
from tests.verbs.failback_pictures import REQUEST

FILE = str(Path(__file__).parents[2] / "topologies" / "active-passive.yaml")


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["failback", FILE, "--to", "nowhere"], 2, "there is no such cluster; the file has: west, east"),
        (["failback", FILE, "--accept-loss", "-1"], 2, "accept-loss"),
        (["failback", FILE, "--dry-run"], 1, "clusters.west.bootstrap"),
        (["failback"], 1, "dcctl sim up"),
        (["failback", FILE, "-o", "/no/such/plan"], 1, "there is no such folder"),
        (["failback", FILE.replace("active-passive", "stretched-2dc")], 1, "clusters.main.bootstrap"),
    ],
)
def test_what_cannot_work_says_why(  # noqa: PLR0917 - pytest passes them by name
    arguments: list[str],
    status: int,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The exit status of the design, a sentence, and never a traceback."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path))
    assert run([*arguments, "--yes"]) == status
    said = capfd.readouterr().err
    assert words in said
    assert "Traceback" not in said


@pytest.mark.parametrize(("is_open", "status"), [(True, 0), (False, 7)])
def test_a_dry_run_tells_by_its_status_whether_it_could_be_done(
    is_open: bool, status: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """0 where every gate is open, 7 where one could not be measured; the plan names it."""
    picture = failback_pictures.picture()
    if not is_open:
        picture = pictures.with_mirror(picture, pictures.AHEAD, read=pictures.ABSENT)
    plan = plan_failback(failback_pictures.topology(), picture, REQUEST)
    monkeypatch.setattr(operation, "preview_failback", lambda *_: plan)
    assert run(["failback", FILE, "--dry-run", "--json"]) == status
    said = capfd.readouterr().err
    assert "Failback east → west" in said
    assert ("returned-log unknown: " in said.splitlines()[-1]) is not is_open
