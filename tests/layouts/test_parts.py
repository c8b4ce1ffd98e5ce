"""Parts of a site on real servers: a group alone, a topic with its applications, while others write on."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from orchestrator.evidence.clients.places import LIFE_AT_SOURCE
from orchestrator.evidence.origins import read_ledgers
from tests.faults.estate import Estate
from tests.layouts.test_at_work import FILES, at_work, compared

pytestmark = [pytest.mark.drills, pytest.mark.timeout(800), pytest.mark.usefixtures("own_state")]

_STEADY_S = 5.0


def test_parts_move_and_come_home_while_others_write(tmp_path: Path) -> None:
    """Each record is read once by each consumer, wherever it works; who stays is never stopped."""
    estate = Estate(tmp_path / "state")
    parts = {
        ("--applications", "billing"): {"billing"},
        ("--topics", "orders"): {"billing", "shipping", "fraud", "checkout"},
    }
    with at_work(FILES / "parts.yaml") as simulation:
        topology = simulation.topology
        torn = estate.command("switchover", "--to", "east", "--applications", "checkout", "--yes")
        assert torn.returncode == 4, torn.stderr
        assert "--topics orders moves them with all that write and read them" in torn.stderr
        consumers = {consumer.name for consumer in topology.consumers}
        for words, moving in parts.items():
            estate.must("switchover", "--to", "east", *words, "--yes")
            told = read_ledgers(topology, simulation.ledgers)
            away = {name for name, cluster in told.at.items() if cluster == "east"}
            assert away & consumers == moving & consumers
            time.sleep(_STEADY_S)
            estate.must("failback", "--to", "west", *words, "--yes")
            assert set(read_ledgers(topology, simulation.ledgers).at.values()) == {"west"}
            time.sleep(_STEADY_S)
        found = compared(simulation, estate.results())
        assert found.problems() == []
        assert all(one.expected == one.read for one in found.readings)
        for one in found.readings:
            print(f"{one.consumer}, {one.origin}: {one.read:,} of {one.expected:,} read, each once")  # noqa: T201
        told = read_ledgers(topology, simulation.ledgers)
        assert told.life["shipping"] == told.life["fraud"] < told.life["billing"]
        assert {record.life for record in told.acked if record.producer == "settlement"} == {LIFE_AT_SOURCE}
