"""Two sources lost at once, on real servers: one command, a run for each, and both come home."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from orchestrator.evidence.origins import read_ledgers
from tests.faults.estate import Estate
from tests.layouts.test_at_work import FILES, at_work, compared

pytestmark = [pytest.mark.drills, pytest.mark.timeout(900), pytest.mark.usefixtures("own_state")]

SOURCES = ("dc1", "dc2")
_STEADY_S = 5.0


def test_both_go_by_one_command_and_come_home(tmp_path: Path) -> None:
    """Killed under load, disks and all: nothing skipped, no more read again than was stated."""
    estate, file = Estate(tmp_path / "state"), tmp_path / "both.yaml"
    # Each source has a topic of its own name, and a standby; the centre's consumers read both.
    lines = (
        (FILES / "into-centre.yaml").read_text(encoding="utf-8").replace("[orders]", "[TOPIC]").splitlines()
    )
    named = [line.replace("TOPIC", "returns" if "dc2" in line else "orders") for line in lines]
    text = "\n".join(named).replace("name: orders, cluster: dc2", "name: returns, cluster: dc2")
    text = text.replace(r"'(.*\.)?orders'", r"'(.*\.)?(orders|returns)'")
    text = text.replace("  dc2:\n    kafka: 4.3.1\n", "  dc2:\n    kafka: 4.3.1\n    standby: centre\n")
    file.write_text(text, encoding="utf-8")
    attested = [word for site in SOURCES for word in ("--attest-down", site)]
    with at_work(file) as simulation:
        topology = simulation.topology
        moving = {c.name for site in SOURCES for c in topology.consumers_of(site)}
        for site in SOURCES:
            estate.must("sim", "kill", site)
        time.sleep(_STEADY_S)
        began = time.monotonic()
        done = estate.must("failover", *attested, "--yes", "--json")
        took_s = time.monotonic() - began
        moves = json.loads(done)["moves"]
        assert [(one["source"], one["outcome"]) for one in moves] == [("dc1", "ok"), ("dc2", "ok")]
        told = read_ledgers(topology, simulation.ledgers)
        assert {told.at[name] for name in moving} == {"centre"}
        stated = {
            name: cost["at_most"]
            for one in moves
            for name, cost in one["run"]["plan"]["predicted"]["reread"].items()
        }
        time.sleep(_STEADY_S)
        for site in SOURCES:
            estate.must("sim", "restart", site)
        for site in SOURCES:
            estate.must("failback", "--to", site, "--yes")
            time.sleep(_STEADY_S)
        found = compared(simulation, estate.results())
        told = read_ledgers(topology, simulation.ledgers)
        assert {told.at[name] for name in moving} == set(SOURCES)
        for one in found.readings:
            assert (one.skipped, one.lost, one.uncalled) == ((), (), ()), one
        for name, most in stated.items():
            again = sum(len(one.again) for one in found.readings if one.consumer == name)
            print(f"{name} read {again} records again, at most {most} were stated")  # noqa: T201
            assert again <= most
        print(f"two sources, one command: {took_s:.1f} s")  # noqa: T201
        assert [copy for copy in found.copies if copy.hole or copy.tail] == []
