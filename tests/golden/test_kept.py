"""Every situation ends as its golden file says, and in each run what must come first comes first."""

from __future__ import annotations

import json
from functools import cache

import pytest

from tests.golden.bite import SAMPLE, UNNOTICED, unnoticed
from tests.golden.order import PAIRS
from tests.golden.play import play
from tests.golden.situations import groups
from tests.golden.write import FOLDER, difference, file_of, judged, matches_of, order_file, played, text_of

ANEW = "python -m tests.golden.write writes the files anew, where that is what was wanted"


@cache
def known_matches() -> dict[str, list[str]]:
    """For each pair of the table the groups in which both sides of it are there."""
    found: dict[str, list[str]] = json.loads(order_file().read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("group", groups())
def test_it_is_as_it_was(group: str) -> None:
    """What is done to the world, gates, predictions, the longest way, and what becomes of users' applications."""
    found = played(group)
    file = file_of(group)
    now = text_of({name: one.kept for name, one in found.items()})
    differs = difference(file.read_text(encoding="utf-8"), now, file.name)
    assert not differs, f"{ANEW}\n{differs}"

    rows = judged(found)
    assert [
        f"{name}: {one.pair}: {one.pair.because}: {one.wrong}"
        for name, all_of_it in rows.items()
        for one in all_of_it
        if one.wrong
    ] == []
    assert matches_of(rows) == {pair for pair, where in known_matches().items() if group in where}
    # Before a step does anything the journal knows of it.
    assert [said for one in found.values() for run in one.runs for said in run.unannounced] == []


def test_every_pair_is_of_something() -> None:
    """A pair that matches nothing proves nothing."""
    assert [str(pair) for pair in PAIRS if not known_matches().get(str(pair))] == []
    assert len({str(pair) for pair in PAIRS}) == len(PAIRS)


def test_every_file_is_of_a_group() -> None:
    """Nothing is kept that is not compared, and there is as much as was promised."""
    kept = {file_of(group) for group in groups()} | {order_file()}
    assert set(FOLDER.glob("*.json")) == kept
    assert sum(map(len, groups().values())) >= 300
    assert sum(file.stat().st_size for file in kept) < 4_000_000


def test_the_table_of_order_bites() -> None:
    """Each edge on which the order of a plan hangs is missed by a pair, but for those that need not be."""
    runs = [run for group, name in SAMPLE for run in play(groups()[group][name]).runs]
    assert set(unnoticed(runs)) <= set(UNNOTICED)
