"""Configuration of an ensemble, as its servers will read it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from orchestrator.simulation import zookeepers
from orchestrator.simulation.estate import planned_estate
from orchestrator.topology.model import Topology
from tests.simulation.layouts import zookeeper_2dc
from tests.simulation.loopback import Loopback


def _settings(topology: Topology, server: int = 0) -> dict[str, str]:
    estate = planned_estate(topology)
    ensemble = estate.zookeepers
    is_hierarchical = topology.clusters["main"].quorum == "hierarchical"
    return zookeepers.ensemble_properties(
        ensemble[server], ensemble, Loopback(estate), is_hierarchical=is_hierarchical, data=Path("/d")
    )


def test_each_data_centre_is_a_group() -> None:
    """As the proven procedure has it: three and three, each server with weight 1."""
    settings = _settings(zookeeper_2dc())
    assert (settings["group.1"], settings["group.2"]) == ("1:2:3", "4:5:6")
    assert [settings[f"weight.{number}"] for number in range(1, 7)] == ["1"] * 6
    assert settings["server.4"].startswith("127.0.0.1:")
    assert len([key for key in settings if key.startswith("server.")]) == 6


def test_a_majority_quorum_has_no_groups() -> None:
    """Groups would make it hierarchical."""
    topology = zookeeper_2dc()
    main = replace(topology.clusters["main"], quorum="majority")
    settings = _settings(replace(topology, clusters={"main": main}))
    assert not [key for key in settings if key.startswith(("group.", "weight."))]


def test_brokers_ask_their_own_site() -> None:
    """A site that has no ZooKeeper asks all of them."""
    estate = planned_estate(zookeeper_2dc())
    ensemble, at = estate.zookeepers, Loopback(estate)
    own = {f"127.0.0.1:{at.ports[f'dc2/{one.program}/client']}" for one in ensemble if one.dc == "dc2"}
    assert set(zookeepers.client_addresses("dc2", ensemble, at).split(",")) == own
    assert len(zookeepers.client_addresses("dc9", ensemble, at).split(",")) == 6


def test_members_that_can_be_reconfigured_stand_in_a_file_of_their_own() -> None:
    """With the client port of each; who may change them is known by a digest alone."""
    topology = zookeeper_2dc()
    estate = planned_estate(topology)
    ensemble, at = estate.zookeepers, Loopback(estate)
    digest = zookeepers.superuser_digest("super", "secret")
    dynamic = zookeepers.DynamicMembers(Path("/d/zoo.cfg.dynamic"), digest)
    settings = zookeepers.ensemble_properties(
        ensemble[0], ensemble, at, is_hierarchical=True, data=Path("/d"), dynamic=dynamic
    )
    assert settings["dynamicConfigFile"] == "/d/zoo.cfg.dynamic"
    assert settings["reconfigEnabled"] == "true"
    assert "secret" not in "".join(settings.values())
    assert not [key for key in settings if key.startswith(("server.", "group.", "clientPort"))]
    lines = zookeepers.member_lines(ensemble[0], ensemble, at, is_hierarchical=True, is_dynamic=True)
    port = at.ports[f"dc1/{ensemble[0].program}/client"]
    assert lines["server.1"].endswith(f":participant;127.0.0.1:{port}")
    assert lines["group.2"] == "4:5:6"
