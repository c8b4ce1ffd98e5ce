"""At most 60 lines on a terminal of 80 columns, whatever the estate's size: each command as it is typed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from orchestrator.topology.loading import load_topology
from tests.cli.twin_commands import Terminal
from tests.twin.conftest import ROOT
from tests.twin.crew import ProcessDied
from tests.twin.estate import TwinEstate
from tests.twin.many import grown
from tests.twin.operator import Operator

LINES = 60


class Size(NamedTuple):
    """Of an estate."""

    groups: int
    topics: int
    partitions: int
    producers: int


SIZES = {"hundreds": Size(150, 100, 1_000, 60), "thousands": Size(1_000, 500, 10_000, 100)}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(size, id=name, marks=[pytest.mark.drills] if name == "thousands" else [])
        for name, size in SIZES.items()
    ],
)
def large(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Size, Terminal]]:
    """One estate of a size, at work; the tests of this module tell its story in order."""
    size: Size = request.param
    folder = tmp_path_factory.mktemp("large")
    small = load_topology(ROOT / "topologies" / "active-passive.yaml")
    file = grown(small, **size._asdict())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DCCTL_STATE_DIR", str(folder / "state"))
        estate = TwinEstate(file, folder / "estate")
        estate.live(3)
        yield size, Terminal(Operator(estate), folder)


def short(rows: list[str]) -> str:
    """What is shown, which is short."""
    text = "\n".join(rows)
    assert 5 < len(rows) <= LINES, f"{len(rows)} lines\n{text}"
    return text


def newest_run(terminal: Terminal) -> str:
    """Its id, as the journal has it."""
    runs = f"/dcctl/{terminal.estate.topology.name}/runs/"
    known = (path for path in terminal.estate.ensemble.nodes if path.startswith(runs))
    return max(path.removeprefix(runs).split("/")[0] for path in known)


@pytest.mark.timeout(1800)
def test_each_command_of_a_large_estate_is_told_in_60_lines(large: tuple[Size, Terminal]) -> None:
    """Before, in and after each move: the worst are named, and sums tell of all."""
    size, terminal = large
    estate = terminal.estate
    told = short(terminal.types("status", "FILE"))
    assert f"all {size.groups + 1:,} " in told
    assert f"all {size.topics} " in told
    assert f"and {size.topics - 10} more " in told

    short(terminal.types("switchover", "FILE", "--to", "east", "--dry-run"))
    assert terminal.status == 0
    estate.record.harm_where(lambda entry: entry.verb == "commit offset", "dies after")
    with pytest.raises(ProcessDied):
        terminal.types("switchover", "FILE", "--to", "east", "--yes")
    estate.record.heal()
    estate.restart_dcctl()
    told = short(terminal.types("abort", newest_run(terminal), "FILE", "--yes"))
    assert terminal.status == 0
    assert told.count("not begun") == 2
    assert len(terminal.types("abort", newest_run(terminal), "FILE", "--yes")) <= 10

    told = short(terminal.types("switchover", "FILE", "--to", "east", "--yes"))
    assert (terminal.status, "east has taken over from west" in told) == (0, True)
    estate.live(1)
    short(terminal.types("failback", "FILE", "--dry-run"))
    told = short(terminal.types("failback", "FILE", "--yes"))
    assert (terminal.status, "west has taken over from east" in told) == (0, True)


@pytest.mark.timeout(1800)
def test_the_loss_of_a_large_estate_is_told_in_60_lines(large: tuple[Size, Terminal]) -> None:
    """What is lost and read again at most, in the plan and afterwards; all of it on demand."""
    size, terminal = large
    estate = terminal.estate
    estate.lose("west")
    estate.live(2)
    lost = ("FILE", "--to", "east", "--attest-down", "west", "--acknowledge", "eve: it is lost")
    told = short(terminal.types("status", "FILE"))
    assert "SOURCE LOST" in told
    told = short(terminal.types("failover", *lost, "--dry-run"))
    assert terminal.status == 0
    # Wherever the terminal has broken the line.
    last = re.sub(r"\s", "", told.rsplit("it could be done: ", 1)[1])
    assert re.fullmatch(
        r"atmost[\d,]+recordslost\([\d.]+s\)and[\d,]+readagain,about\d+s;(\d+)of\1gatesok;nothingwaschanged",
        last,
    )
    told = short(terminal.types("failover", *lost, "--yes"))
    assert (terminal.status, "east has taken over from west" in told) == (0, True)
    run_id = newest_run(terminal)
    short(terminal.types("show", run_id, "FILE"))
    everything = terminal.types("show", run_id, "FILE", "--full")
    assert len(everything) > size.partitions
