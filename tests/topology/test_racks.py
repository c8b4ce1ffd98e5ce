"""Where brokers stand by the racks that they tell, and how a file with racks is drawn."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.cli.main import run
from orchestrator.topology.loading import dump_topology, load_topology, parse_topology
from orchestrator.topology.model import Cluster, Nodes

FILE = Path(__file__).with_name("racks.yaml")
MAIN = load_topology(FILE).clusters["main"]


def _cluster(*rows: Nodes) -> Cluster:
    return replace(MAIN, nodes=rows)


@pytest.mark.parametrize(
    ("cluster", "sites"),
    [
        (MAIN, {"rack-a": "north", "rack-z": "north", "": "north", None: "north"}),
        (_cluster(Nodes(dc="west", brokers=3)), {"west": "west", "zone-1": "west", None: "west"}),
        (
            _cluster(Nodes(dc="dc1", brokers=2), Nodes(dc="dc2", brokers=2)),
            {"dc1": "dc1", "dc3": "dc3", "": None, None: None},
        ),
    ],
)
def test_a_broker_stands_where_all_do_or_where_its_rack_says(
    cluster: Cluster, sites: dict[str | None, str | None]
) -> None:
    """Only where brokers stand in several data centres a rack is one."""
    assert {rack: cluster.site_of(rack) for rack in sites} == sites


def test_brokers_are_counted_by_what_kafka_spreads_over() -> None:
    """Racks where the file has some, data centres otherwise."""
    assert (MAIN.racks, MAIN.brokers_per_dc) == (("rack-a", "rack-b", "rack-c"), {"north": 6})
    assert MAIN.brokers_per_rack == {"rack-a": 2, "rack-b": 2, "rack-c": 2}
    two = _cluster(Nodes(dc="dc1", brokers=2), Nodes(dc="dc2", brokers=1), Nodes(dc="dc2", controllers=3))
    assert (two.racks, two.brokers_per_rack) == ((), {"dc1": 2, "dc2": 1})


def test_a_file_with_racks_reads_back_as_it_is_written() -> None:
    """What `sim up` writes is what was loaded."""
    topology = load_topology(FILE)
    assert parse_topology(json.dumps(dump_topology(topology))) == topology


@pytest.mark.parametrize("form", ["svg", "dot", "mermaid", "json"])
def test_a_picture_tells_of_racks(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line for all brokers of the site; each name in the data."""
    assert run(["graph", str(FILE), "--format", form]) == 0
    said = capsys.readouterr().out
    if form == "json":
        (servers,) = [node for node in json.loads(said)["nodes"] if "brokers" in node]
        assert servers["racks"] == ["rack-a", "rack-b", "rack-c"]
    else:
        assert "6 brokers, 3 + controller, 3 racks" in said
