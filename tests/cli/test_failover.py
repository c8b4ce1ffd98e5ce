"""`dcctl failover` from the command line: what can be said without any server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.cli import output
from orchestrator.cli.main import run
from orchestrator.errors import DeclinedError
from orchestrator.runs.plan import Plan
from orchestrator.verbs.live import failover_procedure as operation
from tests.runs.test_any_exception import plans

FILE = str(Path(__file__).parents[2] / "topologies" / "active-passive.yaml")


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["failover", FILE, "--attest-down", "wset"], 2, "the file has: west, east"),
        (["failover", FILE, "--to", "nowhere", "--attest-down", "west"], 2, "there is no such cluster"),
        (["failover", FILE, "--accept-loss", "-1"], 2, "accept-loss"),
        (["failover", FILE, "--attest-down", "west", "--acknowledge", "me"], 2, "owner and comment"),
        (["switchover", FILE, "--to", "east", "--acknowledge", "me:"], 2, "owner and comment"),
        (["failback", FILE, "--acknowledge", ":me"], 2, "owner and comment"),
        (["failover", FILE, "--attest-down", "west"], 1, "clusters.east.bootstrap"),
        (["failover", "--attest-down", "west"], 1, "dcctl sim up"),
        (["failover", FILE, "--attest-down", "west", "-o", "/no/such/plan"], 1, "there is no such folder"),
        (["resume", "r1", FILE], 1, "coordination.zookeeper"),
        (["history", FILE], 1, "coordination.zookeeper"),
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
    consent = [] if arguments[0] in ("resume", "history") else ["--yes"]
    assert run([*arguments, *consent]) == status
    said = capfd.readouterr().err
    assert words in said
    assert "Traceback" not in said


@pytest.mark.parametrize(("options", "is_consent"), [(["--json"], False), (["--yes"], True), ([], False)])
def test_an_output_format_is_no_consent(
    options: list[str], monkeypatch: pytest.MonkeyPatch, *, is_consent: bool
) -> None:
    """Only `--yes` keeps a terminal from being asked."""
    asked: list[str] = []

    def answered(prompt: str, **_: object) -> str:
        asked.append(prompt)
        return "no"

    def approved(*_: object, approve: Callable[[Plan], bool], **__: object) -> None:
        assert approve(plans()["failover"]) is is_consent
        raise DeclinedError("failover", "declined")

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(output.err_console, "input", answered)
    monkeypatch.setattr(operation, "run_failover", approved)
    assert run(["failover", FILE, "--attest-down", "west", *options]) == 8
    assert len(asked) == (0 if is_consent else 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--attest-down dc1 --accept-loss 5", "--accept-loss: is about moves along mirrors"),
        ("--attest-down dc1 --attest-down far", "main goes on at other sites, and reserve by itself"),
        (
            "--attest-down dc1 --attest-down dc2 --accept-margin",
            "is about a cluster that goes on at other sites",
        ),
        ("--attest-down dc4", "--attest-down dc4: there is no such data centre"),
    ],
)
def test_what_is_left_of_a_stretched_cluster_decides_which_options_there_are(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Within it while it goes on, along its mirror once no site of it is left; nothing is connected to before."""
    file = str(Path(__file__).parents[1] / "layouts" / "stretched-mirrored.yaml")
    assert run(["failover", file, *words.split(), "--yes"]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("part", ["north/rack-b", "north/broker-2"])
def test_a_rack_or_a_broker_of_one_location_needs_no_failover(
    part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is to be done; who asks is told where its loss is judged. Nothing is connected to."""
    file = str(Path(__file__).parents[1] / "topology" / "racks.yaml")
    assert run(["failover", file, "--attest-down", part, "--yes"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert (
        f"--attest-down {part}: is a part of a data centre: failover answers the loss of whole ones" in said
    )
    assert f"--lose {part}" in said


def test_no_name_is_no_part_of_a_data_centre(capsys: pytest.CaptureFixture[str]) -> None:
    """Servers without a rack are in none that is called nothing."""
    file = str(Path(__file__).parents[2] / "topologies" / "stretched-2dc.yaml")
    assert run(["failover", file, "--attest-down", "", "--yes"]) == 2
    assert "is a part of a data centre" not in " ".join(capsys.readouterr().err.split())
