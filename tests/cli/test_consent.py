"""Who is asked before anything is changed, what an answer does, and what happens where nobody can be asked."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.cli.main import run
from tests.twin.command_line import lead_to
from tests.twin.conftest import Estates
from tests.twin.conftest import estates as estates  # noqa: PLC0414 - the fixture
from tests.twin.operator import Operator

FILE = str(Path(__file__).parents[2] / "topologies" / "active-passive.yaml")
SMALL = "tests/faults/small.yaml"


class Terminal(io.StringIO):
    """What a person types."""

    def isatty(self) -> bool:
        return True


Type = Callable[[str], None]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Type:
    """A person sits at the terminal and types this."""
    return lambda text: monkeypatch.setattr("sys.stdin", Terminal(text))


@pytest.fixture
def operator(estates: Estates) -> Operator:
    """West is gone, and the watcher has seen it."""
    operator = estates.at_work(SMALL)
    operator.estate.lose("west")
    operator.estate.live(5)
    return operator


@pytest.fixture
def file(operator: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Commands lead to that estate."""
    return lead_to(operator.estate, tmp_path, monkeypatch.setattr)


def failover(file: str, *options: str) -> int:
    return run(["failover", file, "--attest-down", "west", "--reason", "a rehearsal", *options])


def runs_of(operator: Operator) -> list[str]:
    """Ids of the runs that the journal has."""
    return operator.estate.ensemble.names(f"/dcctl/{operator.estate.topology.name}/runs")


@pytest.mark.parametrize(
    "command",
    [
        ["failover", FILE, "--attest-down", "west"],
        ["switchover", FILE, "--to", "east"],
        ["failback", FILE],
        ["fence", FILE, "--cluster", "west"],
        ["unfence", FILE, "--cluster", "west"],
        ["abort", "r1", FILE],
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize("is_closed", [False, True])
def test_without_a_terminal_nothing_is_done_unless_the_command_line_says_yes(
    command: list[str],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_closed: bool,
) -> None:
    """Status 2 before any server is asked, and it is said what to add; also where there is no input at all."""
    monkeypatch.setattr("sys.stdin", None if is_closed else io.StringIO("west\n"))
    assert run(command) == 2
    said = capfd.readouterr().err
    assert "nobody can be asked. Nothing was changed" in said
    assert "add --yes" in said
    # The file has no addresses: whoever had gone on would have met that.
    assert run([*command, "--yes"]) == 1


def test_without_a_terminal_a_plan_can_still_be_looked_at(file: str) -> None:
    """That changes nothing."""
    assert failover(file, "--dry-run") == 0


def test_the_question_names_what_where_and_at_what_price(
    file: str, operator: Operator, typed: Type, capfd: pytest.CaptureFixture[str]
) -> None:
    """Right above the answer, brackets and all; and the name of the cluster that is left is a yes."""
    typed(" west \n")
    assert failover(file) == 0
    said = capfd.readouterr().err
    question = said[said.index("Failover west → east (topology small)") :]
    for words in ("lost at most", "records (", "read again at most", "takes about", "not rolled back"):
        assert words in question.partition("Type the name")[0], words
    assert "Type the name of the cluster that is left to go on: " in question
    assert ("start client", "east", "producer checkout") in operator.estate.record.done


@pytest.mark.parametrize("answer", ["n\n", "\n", "", "east\n", "West\n", "y\n"])
def test_anything_but_the_name_declines(
    file: str, operator: Operator, typed: Type, capfd: pytest.CaptureFixture[str], answer: str
) -> None:
    """Status 8, `declined` in the history and in the run's story, and nothing was changed."""
    typed(answer)
    before = list(operator.estate.record.done)
    assert failover(file) == 8
    assert "declined. Nothing was changed" in capfd.readouterr().err
    assert operator.estate.record.done == before
    (run_id,) = runs_of(operator)
    assert run(["history", file]) == 0
    assert f"{run_id}  failover west → east  declined" in capfd.readouterr().out
    assert run(["show", run_id, file]) == 0
    said = capfd.readouterr().out
    assert "Failover west → east of small: declined" in said
    assert "Ended declined: declined" in said
    for command in ("resume", "abort"):
        assert run([command, run_id, file, *(["--yes"] if command == "abort" else [])]) == 4
        assert "no step of the run was begun" in capfd.readouterr().err


def test_what_was_declined_is_in_nobodys_way(
    file: str, typed: Type, capfd: pytest.CaptureFixture[str]
) -> None:
    """The next one can say yes; `--json` tells which it was."""
    typed("no\n")
    assert failover(file, "--json") == 8
    assert '"outcome": "declined"' in capfd.readouterr().out
    typed("west\n")
    assert failover(file) == 0


def test_ctrl_c_at_the_question_declines(
    file: str,
    operator: Operator,
    typed: Type,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Nothing was begun, so nothing can be gone on with or taken back."""
    typed("")

    def interrupted(*_: object, **__: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("orchestrator.cli.output.err_console.input", interrupted)
    assert failover(file) == 130
    said = capfd.readouterr().err
    assert "nothing was begun" in said
    assert "dcctl resume" not in said
    assert run(["history", file]) == 0
    assert "  declined (" in capfd.readouterr().out


def test_an_abort_that_is_declined_leaves_the_run_as_it_was(
    file: str, operator: Operator, typed: Type, capfd: pytest.CaptureFixture[str]
) -> None:
    """The name of the topology is wanted; status 8, and the run can still be gone on with."""
    operator.estate.record.harm_where(lambda entry: entry.step == "record-primary", "fails")
    assert failover(file, "--yes") == 6
    (run_id,) = runs_of(operator)
    capfd.readouterr()
    typed("west\n")
    assert run(["abort", run_id, file]) == 8
    said = capfd.readouterr().err
    assert "Type the name of the topology to go on: " in said
    assert "declined. The run stays as it was" in said
    typed(f"{operator.estate.topology.name}\n")
    operator.estate.record.heal()
    assert run(["abort", run_id, file]) == 0
    assert f"run {run_id} is rolled back" in capfd.readouterr().out


def test_an_abort_is_offered_only_where_it_can_be_done(
    file: str, operator: Operator, capfd: pytest.CaptureFixture[str]
) -> None:
    """Once producers write there, every message says what stands, in words, and the one way that is left."""
    operator.estate.record.harm_where(lambda entry: entry.verb == "stop connector", "fails")
    assert failover(file, "--yes") == 6
    (run_id,) = runs_of(operator)
    messages = [capfd.readouterr().err]
    assert run(["show", run_id, file]) == 0
    messages.append(capfd.readouterr().out)
    assert run(["failback", file, "--yes"]) == 4
    capfd.readouterr()
    assert run(["abort", run_id, file, "--yes"]) == 4
    messages.append(capfd.readouterr().err)
    for said in messages:
        assert f"dcctl resume {run_id}" in said
        assert "dcctl abort" not in said
        assert re.search(
            r"since \d{4}-\d\d-\d\d [\d:]{8} UTC steps were done that cannot be undone: Start the prod",
            said,
        )
    assert "the run can only go forward" in messages[0]
