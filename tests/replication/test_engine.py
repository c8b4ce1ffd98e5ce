"""An engine that leaves everything out says of everything that it has no need of it."""

from __future__ import annotations

import pytest

from orchestrator.errors import ConnectError, DcctlError
from orchestrator.ports.servers import Connect, Kafka
from orchestrator.replication.engine import (
    Asked,
    Engine,
    MirrorSettings,
    NoMapError,
    TracedCluster,
    all_rehearsed,
    engine_named,
    engine_of,
)
from orchestrator.replication.mirror_ref import ref_to
from orchestrator.topology.model import Replication, Topology

MIRROR = Replication(source="west", target="east", topics=("orders",))
FILE = Topology(
    version=1, name="one", layout="active-passive", datacenters=("west",), clusters={}, replication=(MIRROR,)
)


class Plain(Engine):
    """It has a name, and nothing else."""

    name, title = "plain", "the plain one"


def nobody(name: str) -> Kafka:
    raise AssertionError(name)


def no_workers(name: str) -> Connect:
    raise AssertionError(name)


NOBODY = Asked(nobody, no_workers)


def test_it_needs_no_object_and_no_workers() -> None:
    """Neither at the target nor at the source."""
    engine = Plain()
    assert (engine.workers(ref_to(MIRROR)), engine.why_not(FILE, ref_to(MIRROR))) == ("", "")
    assert not [*engine.topics(FILE, MIRROR), *engine.shared_topics(FILE, "east"), *engine.programs(MIRROR)]
    assert not [*engine.acls(FILE, MIRROR, "east"), *engine.connectors(FILE, MIRROR)]


def test_nobody_is_asked_for_what_it_has_not() -> None:
    """No state, no position, no map; and that it keeps none is said."""
    engine, mirror = Plain(), ref_to(MIRROR)
    assert engine.states(NOBODY, mirror) == engine.read_up_to(NOBODY, FILE, mirror) == {}
    assert engine.settings(NOBODY, FILE, mirror) == MirrorSettings({}, in_transactions=False)
    assert engine.health(NOBODY, MIRROR, 7.0).at_s == 7.0
    assert (engine.has_map(NOBODY, MIRROR), engine.stopped_at(NOBODY, MIRROR)) == (False, None)
    assert engine.kept_positions(NOBODY, MIRROR) == {}
    with pytest.raises(NoMapError, match="the plain one keeps no offset map"):
        engine.offset_map(NOBODY, MIRROR, recreated={}, gaps={})


def test_it_leaves_no_traces() -> None:
    """Whatever lies in an estate is somebody else's."""
    engine, east = Plain(), TracedCluster(name="east", addresses=frozenset(), topics=frozenset({"orders"}))
    assert engine.own_topics(east, {"east": east}) == frozenset()
    assert engine.seen_mirrors({"east": east}) == ((), ())
    assert not engine.is_own_group("mirrormaker-1")


def test_an_engine_that_no_package_brings_is_named() -> None:
    """A plan may have been made where it was installed."""
    assert engine_of(MIRROR).title == "MirrorMaker 2"
    with pytest.raises(DcctlError, match="no engine has this name"):
        engine_named("nobodys")


def test_workers_are_trained_with_the_connectors_of_all_engines() -> None:
    """Their archives of classes hold what mirrors load."""
    found = all_rehearsed({"bootstrap.servers": "127.0.0.1:1"})
    assert set(found) == {"Heartbeat", "Source", "Checkpoint"}
    assert {config["target.cluster.bootstrap.servers"] for config in found.values()} == {"127.0.0.1:1"}


def test_a_map_is_not_closed_where_no_worker_says_that_the_mirror_stands() -> None:
    """Also where the file has no address of theirs: what is translated then is less tight, and safe."""

    def away(name: str) -> Connect:
        raise ConnectError(f"Connect at {name}", "has no address")

    assert engine_of(MIRROR).stopped_at(Asked(nobody, away), MIRROR) is None
