"""The table of the gates' cases is complete: a new gate needs one in which it refuses, and one without a measurement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.gates.gate_ids import gates_of
from tests.gates.table import ALL, NEVER_REFUSED, NEVER_UNKNOWN, Gate

EVERY: set[Gate] = {(verb, gate) for verb, gates in gates_of().items() for gate in gates}


@pytest.mark.parametrize(("outcome", "never"), [("refused", NEVER_REFUSED), ("unknown", NEVER_UNKNOWN)])
def test_every_gate_of_every_verb_has_its_case(outcome: str, never: Mapping[Gate, str]) -> None:
    """Or it stands in the list of those that cannot have one, with the reason, and in that alone."""
    shown = {
        (verb, gate)
        for case in ALL
        for verb in case.verbs
        for gate, found in case.closes(verb).items()
        if found == outcome
    }
    assert shown <= EVERY
    assert never.keys() <= EVERY
    assert EVERY - shown - never.keys() == set()
    assert shown & never.keys() == set()
    assert all(never.values())


OF_A_SICK_SITE = {"source-sick"}
OF_PRODUCERS_THAT_MOVE_THEMSELVES = {"fenceable-target"}
"""Only where a site is attested to be sick: their real cases are in `tests/faults/test_sick.py`."""


def test_names_tell_cases_apart() -> None:
    """Otherwise a failure would not say what was broken."""
    names = [(case.state, case.name) for case in ALL]
    assert len(set(names)) == len(names)


def test_every_gate_stands_on_the_page() -> None:
    """With whose it is and what to do: `docs/gates.md`."""
    page = (Path(__file__).parents[2] / "docs" / "gates.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)}
    assert named == {gate for _, gate in EVERY} | OF_A_SICK_SITE | OF_PRODUCERS_THAT_MOVE_THEMSELVES
