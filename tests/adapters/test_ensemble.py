"""What a ZooKeeper ensemble tells of its members."""

from __future__ import annotations

from orchestrator.adapters.ensemble import EnsembleMembers, EnsembleServer, addressed, parse_ensemble


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


LINES = (
    "server.1=a:2888:3888:participant;10.0.0.1:2181",
    "server.2=b:2888:3888:participant;10.0.0.2:2181",
    "server.3=c:2888:3888:observer;10.0.0.3:2181",
    "group.1=1",
    "group.2=2:3",
    "weight.1=1",
    "weight.2=1",
    "version=10000000f",
)


def test_members_are_told_line_by_line():
    """As a reconfiguration takes them again; the version is no part of them."""
    found = EnsembleMembers.of(LINES)
    assert (found.version, found.lines) == ("10000000f", LINES[:-1])
    assert found.servers[2] == "b:2888:3888:participant;10.0.0.2:2181"
    assert (found.voters, found.is_hierarchical) == (frozenset({1, 2}), True)
    assert found.client_addresses[1] == "10.0.0.1:2181"


def test_lines_of_some_members_alone():
    """A group of which nobody is left is none."""
    assert EnsembleMembers.of(LINES).of_these({2}) == [LINES[1], "group.2=2", LINES[6]]
    assert EnsembleMembers.of(LINES).of_these({1, 2, 3}) == list(LINES[:-1])


STATIC = {
    1: EnsembleServer(1, "zk1", "zk1:2181", True),
    2: EnsembleServer(2, "zk2", "", True),
    3: EnsembleServer(3, "zk3", "", True),
    4: EnsembleServer(4, "zk4", "", False),
}


def test_a_static_configuration_names_one_client_address_alone():
    """The others are known by the hosts of those that brokers have, or by the port that all have."""
    told = {"zk1:2181": None, "zk2:2181": None}
    assert addressed(STATIC, told) == {1: "zk1:2181", 2: "zk2:2181", 3: "zk3:2181"}
    told = {"zk1:2181": None, "zk2:2182": None}
    assert addressed(STATIC, told) == {1: "zk1:2181", 2: "zk2:2182", 3: ""}
    assert addressed(STATIC, {}) == {1: "zk1:2181", 2: "", 3: ""}


def test_on_one_host_only_the_servers_themselves_say_who_they_are():
    """Otherwise nobody is taken for another one."""
    servers = {number: EnsembleServer(number, "here", "", True) for number in (1, 2, 3)}
    assert addressed(servers, {"here:1": 2, "here:2": 1}) == {1: "here:2", 2: "here:1", 3: ""}
    assert addressed(servers, {"here:1": None, "here:2": None}) == {1: "", 2: "", 3: ""}
