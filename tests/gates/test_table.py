"""The table of the gates' cases is complete: a new gate needs one in which it refuses, and one without a measurement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.gates.cases_beside import AWAY, CENTRE, SECOND_SOURCE, SITES
from tests.gates.gate_ids import gates_of
from tests.gates.table import ALL, NEVER_REFUSED, NEVER_UNKNOWN, Gate
from tests.runs.test_any_exception import plans

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
"""Only where a site is attested to be sick: their real cases are in `tests/faults/test_degraded.py`."""
OF_PRODUCERS_THAT_MOVE_THEMSELVES = {"fenceable-target"}
OF_STRETCHED = {
    "site-evacuable",
    "isr-full",
    "sites-returned",
    "lost-site-off",
    "quorum-continues",
    "voters-present",
    "files-as-known",
    "quorum-proven",
    "clean-leaders",
    "settings-known",
    "site-back",
    "margin-after",
    "brokers-unbroken",
    "tails-readable",
    "servers-told",
    "writes-go-on",
    "voters-droppable",
    "mirror-behind",
}
"""Only within a stretched cluster: `test_evacuated.py`, `test_site_lost.py`, `test_quorum_forced.py`,
`test_living_quorum.py`, the twin."""
OF_PARTS = {"selection"}
"""Only where a part moves, or is away."""
OF_ROUTES = {"groups-apart", "other-site", "routes-usable", "landing-alone", "landing-read"}
"""Only where positions are led by mirrors that go on, or sources go into a centre."""


@pytest.mark.parametrize("outcome", ["refused", "unknown"])
def test_every_gate_beside_applications_at_work_has_its_case(outcome: str) -> None:
    """By real servers, in `test_beside.py`."""
    shown = {
        gate
        for case in (*SITES, *AWAY, *CENTRE, SECOND_SOURCE)
        for verb in case.verbs
        for gate, found in case.closes(verb).items()
        if found == outcome
    }
    assert shown >= OF_PARTS | OF_ROUTES


def test_names_tell_cases_apart() -> None:
    """Otherwise a failure would not say what was broken."""
    names = [(case.state, case.name) for case in ALL]
    assert len(set(names)) == len(names)


def rows() -> list[list[str]]:
    """Those of the page: gates, whose they are, whether they are asked again, when they are closed, what then."""
    page = (Path(__file__).parents[2] / "docs" / "gates.md").read_text(encoding="utf-8")
    found = [line for line in page.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in found]


def test_every_gate_stands_on_the_page() -> None:
    """With whose it is and what to do: `docs/gates.md`."""
    named = {name for row in rows() for name in re.findall(r"`([a-z-]+)`", row[0])}
    assert (
        named
        == {gate for _, gate in EVERY}
        | OF_A_SICK_SITE
        | OF_PRODUCERS_THAT_MOVE_THEMSELVES
        | OF_ROUTES
        | OF_PARTS
        | OF_STRETCHED
    )


def test_the_page_says_which_gates_are_asked_again() -> None:
    """As each gate declares it; of some verbs only, where it names them."""
    told = {name: row[2].partition(": ") for row in rows() for name in re.findall(r"`([a-z-]+)`", row[0])}
    seen = set()
    for plan in plans().values():
        for gate in plan.gates:
            when, _, verbs = told[gate.id]
            is_of_verb = not verbs or plan.verb in verbs.split(", ")
            assert (when if is_of_verb else "no") == gate.asked_again, (plan.verb, gate.id)
            seen.add(gate.id)
    assert seen >= told.keys() - {"fenceable-target"} - OF_ROUTES - OF_PARTS - OF_STRETCHED
