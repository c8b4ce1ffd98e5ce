"""The pages that are read at night are typed as they stand, in their order, on real servers. `make drills`."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from tests.faults.estate import DCCTL, Estate, at_work
from tests.test_docs import ROOT, shown

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900)]

DOCS = ROOT / "docs"
# They ask, and here is no terminal.
ASKING = ("failover", "failback", "switchover", "fence", "unfence", "abort")

Statuses = Mapping[str, tuple[int, str]]
"""Beginning of a command -> its status here, and why it is not 0."""

RUNBOOK: Statuses = {
    "failover --to east --attest-down west --without-coordination": (4, "the ensemble answers"),
    "unlock": (1, "nobody has the lock"),
    "history --import": (1, "no run was begun without the ensemble"),
}
BY_HAND: Statuses = {
    "relocate spark": (
        2,
        "this estate has no query: tests/applications/test_relocation_spark.py relocates one",
    ),
}
OPERATING: Statuses = {}


def typed(page: str) -> list[list[str]]:
    """The words of each command of dcctl's that a page shows, in order."""
    lines = (shlex.split(command, comments=True) for command, _ in shown(DOCS / page))
    return [words[1:] for words in lines if words[0] == "dcctl"]


def type_page(
    estate: Estate, page: str, statuses: Statuses, before: Mapping[str, Callable[[], None]]
) -> None:
    """Run what a page shows, with this estate's file. `before`: what has to happen ahead of a command."""
    file, begun = str(estate.simulation().topology_path), set[str]()
    for words in typed(page):
        line = " ".join(word for word in words if word != "payments.yaml")
        for beginning, do in before.items():
            if line.startswith(beginning) and beginning not in begun:
                begun.add(beginning)
                do()
        meant = {"payments.yaml": file, "RUN": estate.runs()[-1].name if estate.runs() else ""}
        given = [meant.get(word, word) for word in words]
        if words[0] in ASKING and "--dry-run" not in words:
            given.append("--yes")
        wanted = next((status for start, (status, _) in statuses.items() if line.startswith(start)), 0)
        if words[0] == "watch":
            _watch_for_a_while(estate, given)
            continue
        done = estate.command(*given)
        assert done.returncode == wanted, "\n".join([str(given), done.stdout, done.stderr])


def _watch_for_a_while(estate: Estate, words: Sequence[str]) -> None:
    """It runs until it is stopped, and ends well then."""
    with subprocess.Popen([*DCCTL, *words], env=estate.environment, cwd=estate.cwd) as process:
        time.sleep(5)
        assert process.poll() is None
        process.terminate()
    assert process.returncode == 0


def test_by_hand_operating_and_the_night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On one estate: positions by hand while all is well, then the night from its beginning to the way back."""
    files = tmp_path / "beside"
    files.mkdir()
    with at_work(tmp_path / "state", monkeypatch) as estate:
        estate.cwd = files
        west = estate.simulation().site("west")
        type_page(
            estate,
            "by-hand.md",
            BY_HAND,
            {"offsets restore": lambda: west.stop(["consumer-billing"])},
        )
        type_page(estate, "operating.md", OPERATING, {})
        estate.must("release", "all", str(estate.simulation().topology_path))
        west.start(["consumer-billing"])
        estate.must("sim", "kill", "west")
        type_page(estate, "runbook.md", RUNBOOK, {"failback": west.restart})
    for statuses, page in ((RUNBOOK, "runbook.md"), (BY_HAND, "by-hand.md")):
        for start in statuses:
            lines = [" ".join(word for word in words if word != "payments.yaml") for words in typed(page)]
            assert any(line.startswith(start) for line in lines), start
