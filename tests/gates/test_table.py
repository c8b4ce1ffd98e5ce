"""The table of the gates' cases is complete: a new gate needs one in which it refuses, and one without a measurement."""

from __future__ import annotations

from collections.abc import Mapping

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


def test_names_tell_cases_apart() -> None:
    """Otherwise a failure would not say what was broken."""
    names = [(case.state, case.name) for case in ALL]
    assert len(set(names)) == len(names)
