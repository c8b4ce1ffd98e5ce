"""What a ZooKeeper ensemble tells of its members."""

from __future__ import annotations

from orchestrator.adapters.ensemble import EnsembleServer, parse_ensemble


def test_groups_and_client_addresses():
    """A client address of everywhere means the server's own host; without one it is not known."""
    servers, groups, weights = parse_ensemble(
        "server.1=zk1.dc1:2888:3888:participant;0.0.0.0:2181\n"
        "server.2=zk2.dc1:2888:3888:participant;10.0.0.2:2182\n"
        "server.3=zk3.dc2:2888:3888:observer\n"
        "server.4=zk4.dc2:2888:3888;2184\n"
        "group.1=1:2\n"
        "group.2=4\n"
        "weight.1=1\n"
        "weight.4=2\n"
        "version=0"
    )
    assert servers == {
        1: EnsembleServer(1, "zk1.dc1", "zk1.dc1:2181", True),
        2: EnsembleServer(2, "zk2.dc1", "10.0.0.2:2182", True),
        3: EnsembleServer(3, "zk3.dc2", "", False),
        4: EnsembleServer(4, "zk4.dc2", "zk4.dc2:2184", True),
    }
    assert (groups, weights) == ({1: (1, 2), 2: (4,)}, {1: 1, 4: 2})


def test_lone_server_tells_nothing():
    """Its configuration node is empty."""
    assert parse_ensemble("") == ({}, {}, {})
