"""An estate as some file describes it, seen without the file: the file that comes out says the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import ClusterError, UsageError
from orchestrator.estate.observed import ObservedCluster, ObservedConnector, ObservedEstate, ObservedQuorum
from orchestrator.imports.live.run import topology_text
from orchestrator.imports.seen import SeenEstate
from orchestrator.imports.topology import imported_topology
from orchestrator.topology.loading import check_text, load_topology
from orchestrator.topology.mirrored_topics import MirroredTopics
from orchestrator.topology.model import Topology
from orchestrator.topology.reading import RACK_AWARE, SELECTOR
from tests.imports.estates import decided, seen, with_addresses
from tests.reconcile.estates import as_described, planned, with_cluster, with_config, with_topic

_EXAMPLES = sorted((Path(__file__).parents[2] / "topologies").glob("*.yaml"))
_PASSIVE = with_addresses(load_topology(next(f for f in _EXAMPLES if f.stem == "active-passive")))
_STRETCHED = with_addresses(load_topology(next(f for f in _EXAMPLES if f.stem == "stretched-2dc")))


def _cluster(estate: SeenEstate, name: str, **changes: object) -> SeenEstate:
    found = {**estate.clusters, name: replace(estate.clusters[name], **changes)}  # type: ignore[arg-type]
    return replace(estate, clusters=found)


def _observed(estate: SeenEstate, name: str, **changes: object) -> SeenEstate:
    changed = replace(estate.clusters[name].observed, **changes)  # type: ignore[arg-type]
    return _cluster(estate, name, observed=changed)


@pytest.mark.parametrize("file", _EXAMPLES, ids=lambda file: file.stem)
def test_each_example_comes_back(file: Path) -> None:
    """Layout, sites, quorum, topics, mirrors; and the plan of the file that was written is empty."""
    topology = with_addresses(load_topology(file))
    observed = as_described(topology)
    imported = imported_topology(seen(topology, observed))
    imported = decided(imported, topology)
    checked = check_text(topology_text(imported, "from a test"))
    assert checked.errors == ()
    found = checked.valid()
    assert found == imported.topology
    assert found.layout == topology.layout
    assert set(found.datacenters) == set(topology.datacenters)
    for name, cluster in topology.clusters.items():
        assert found.clusters[name].unknown == ()
        assert found.clusters[name].brokers_per_dc == cluster.brokers_per_dc
        assert found.clusters[name].is_combined == cluster.is_combined
        assert found.clusters[name].quorum == cluster.quorum
        assert found.clusters[name].kafka == cluster.kafka
        assert found.clusters[name].mirror_client == (cluster.mirror_client if topology.replication else {})
    assert {(m.source, m.target, m.topics, m.policy, m.managed) for m in found.replication} == {
        (m.source, m.target, m.topics, m.policy, m.managed) for m in topology.replication
    }
    assert {(t.name, t.cluster, t.partitions) for t in found.topics} == {
        (t.name, t.cluster, t.partitions) for t in topology.topics
    }
    # Where `standby` gives rights, an import that cannot see it leaves the principal and its rules alone; so
    # the mirrors of the file do not know the group.
    groups = [consumer for consumer in topology.consumers if consumer.kind == "group"]
    unseen = [consumer for consumer in groups if topology.clusters[consumer.cluster].standby is not None]
    assert {c.principal for c in found.consumers} == {c.principal for c in groups if c not in unseen}
    differing = [difference["aspect"] for difference in planned(found, observed).facts["differences"]]
    assert set(differing) == ({"config groups.exclude"} if unseen else set())
    assert {p.principal for p in found.producers} == {p.principal for p in topology.producers}


def test_settings_of_brokers_are_not_written_into_topics() -> None:
    """A topic that takes min.insync.replicas from its brokers needs no setting of its own."""
    observed = with_config(as_described(_PASSIVE), "west", "orders", {"min.insync.replicas": None})
    estate = seen(_PASSIVE, observed)
    estate = _observed(estate, "west", topic_defaults={"min.insync.replicas": "2"})
    found = imported_topology(estate).topology
    orders = found.topic("orders", "west")
    assert orders is not None
    assert (orders.min_insync_replicas, orders.config) == (2, {})
    observed = with_cluster(observed, "west", topic_defaults={"min.insync.replicas": "2"})
    assert planned(found, observed).facts["differences"] == []


def test_what_cannot_be_seen_is_unknown() -> None:
    """Racks, quorum, rules and Kafka's own topics, each by itself; the file is valid all the same."""
    estate = seen(_STRETCHED)
    bare = tuple(replace(broker, rack=None) for broker in estate.clusters["main"].observed.brokers)
    estate = _cluster(estate, "main", settings={}, voter_hosts={})
    topics = {
        name: topic for name, topic in estate.clusters["main"].observed.topics.items() if name[:2] != "__"
    }
    estate = _observed(
        estate, "main", brokers=bare, quorum=None, acls=None, topics=topics, unknown={"acls": "no right"}
    )
    imported = imported_topology(estate)
    assert imported.topology.clusters["main"].unknown == ("quorum", "racks", "internal-topics", "acls")
    assert imported.topology.layout == "one-location"
    assert any("no right" in note for note in imported.notes)
    text = topology_text(imported, "from a test")
    assert check_text(text).errors == ()
    assert "unknown: [quorum, racks, internal-topics, acls]" in text


def test_mirror_without_connectors_is_observed() -> None:
    """MirrorMaker's own topics tell of it; the file leaves it, and what belongs to it, alone."""
    observed = as_described(_PASSIVE)
    for name in ("orders", "payments", "dcctl-samples.west.internal"):
        observed = with_topic(observed, "east", name, lambda _: None)
    observed = with_cluster(observed, "east", connectors=None)
    estate = _cluster(seen(_PASSIVE, observed), "east", connect=())
    imported = imported_topology(estate)
    (mirror,) = imported.topology.replication
    assert (mirror.managed, mirror.policy, mirror.topics) == (False, "default", ("orders", "payments"))
    assert (mirror.offset_syncs, imported.topology.layout) == ("target", "active-passive")
    assert imported.topology.clusters["east"].unknown == ("connectors",)
    assert any("known by its topics alone" in note for note in imported.notes)
    assert planned(imported.topology, observed).facts["differences"] == []


def test_mirror_of_an_operator_is_observed() -> None:
    """Names as Strimzi's operator gives them; topics by a pattern, offset syncs at the source."""
    observed = as_described(_PASSIVE)
    config = {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": "west",
        "source.cluster.bootstrap.servers": "west-1:9092",
        "target.cluster.alias": "east",
        "topics": "ord.*",
    }
    name = "west->east.MirrorSourceConnector"
    connector = ObservedConnector(name=name, config=config, state="RUNNING", tasks=("RUNNING",))
    observed = with_cluster(observed, "east", connectors={name: connector})
    imported = imported_topology(seen(_PASSIVE, observed))
    (mirror,) = imported.topology.replication
    assert (mirror.managed, tuple(mirror.topics), mirror.offset_syncs) == (False, ("orders",), "source")
    assert mirror.patterns == ("ord.*",)
    assert any("belongs to an operator" in note for note in imported.notes)


def test_mirror_with_another_setup_is_observed() -> None:
    """One property that the file cannot say is enough; one that it can is written down."""
    observed = as_described(_PASSIVE)
    connectors = observed.clusters["east"].connectors or {}

    def with_properties(changes: dict[str, str], *names: str) -> SeenEstate:
        changed = {
            name: replace(c, config={**c.config, **changes}) if name in names or not names else c
            for name, c in connectors.items()
        }
        return seen(_PASSIVE, with_cluster(observed, "east", connectors=changed))

    said = imported_topology(with_properties({"emit.heartbeats.interval.seconds": "2"})).topology
    assert said.replication[0].managed
    assert said.replication[0].connectors == {"emit.heartbeats.interval.seconds": "2"}
    only_source = imported_topology(
        with_properties({"refresh.topics.enabled": "false"}, "west-to-east-source")
    )
    assert not only_source.topology.replication[0].managed
    fixed = imported_topology(with_properties({"emit.offset-syncs.enabled": "false"}))
    assert any("emit.offset-syncs.enabled" in note for note in fixed.notes)
    secret = imported_topology(with_properties({"producer.override.sasl.jaas.config": "(not shown)"}))
    assert not secret.topology.replication[0].managed
    assert "(not shown)" not in topology_text(secret, "")


def test_mirror_calls_a_cluster_by_another_name() -> None:
    """Mirrored topics bear the mirror's name for it, so the file must."""
    observed = as_described(_PASSIVE)
    connectors = {
        name: replace(c, config={**c.config, "source.cluster.alias": "primary"})
        for name, c in (observed.clusters["east"].connectors or {}).items()
        if name.endswith("-source")
    }
    estate = seen(_PASSIVE, with_cluster(observed, "east", connectors=connectors))
    with pytest.raises(UsageError, match="calls it `primary`") as refused:
        imported_topology(estate)
    assert refused.value.hint == "import it as primary=…"


def test_clusters_without_a_mirror_are_refused() -> None:
    """Several clusters are one topology only if something joins them."""
    observed = as_described(_PASSIVE)
    observed = with_cluster(observed, "east", topics={}, connectors={})
    observed = with_cluster(observed, "west", topics={})
    with pytest.raises(ClusterError, match="no mirror between it and the others"):
        imported_topology(seen(_PASSIVE, observed))


def test_cluster_that_was_not_read_is_an_error() -> None:
    """Half an estate would plan to delete the other half."""
    estate = _cluster(seen(_PASSIVE), "east", observed=ObservedCluster(name="east", problem="no answer"))
    with pytest.raises(ClusterError, match="cluster east: no answer"):
        imported_topology(estate)


def test_racks_of_a_mirrored_cluster_are_its_zones() -> None:
    """Availability zones of one site are no data centres."""
    estate = seen(_PASSIVE)
    zones = tuple(
        replace(broker, rack=f"zone-{broker.broker_id}")
        for broker in estate.clusters["west"].observed.brokers
    )
    imported = imported_topology(_observed(estate, "west", brokers=zones))
    assert imported.topology.clusters["west"].datacenters == ("west",)
    assert any("zone-1, zone-2, zone-3 of west" in note for note in imported.notes)


def test_racks_inside_one_site_of_the_inventory_are_racks() -> None:
    """Without an inventory nobody can tell them from data centres, and each is taken for one."""
    racks = with_addresses(load_topology(Path(__file__).parents[1] / "topology" / "racks.yaml"))
    observed = as_described(racks)
    first_of_each = ObservedQuorum(kind="kraft", voters=(1, 3, 5))
    estate = _observed(seen(racks, observed), "main", quorum=first_of_each)
    estate = replace(estate, dc_of_host=dict.fromkeys(estate.clusters["main"].hosts.values(), "north"))
    imported = imported_topology(estate)
    found = check_text(topology_text(imported, "from a test")).valid()
    assert (found.layout, found.datacenters) == ("one-location", ("north",))
    assert found.clusters["main"].nodes == racks.clusters["main"].nodes
    assert found.clusters["main"].unknown == ()
    assert any("is taken for one of north" in note for note in imported.notes)
    assert planned(found, observed).facts["differences"] == []
    alone = imported_topology(replace(estate, dc_of_host={})).topology
    assert (alone.layout, alone.datacenters) == ("stretched-3dc", ("rack-a", "rack-b", "rack-c"))


def test_groups_are_consumers_at_home() -> None:
    """What a mirror synchronises to its target is the same group, and tools are none."""
    observed = with_cluster(as_described(_PASSIVE), "west", acls=frozenset(), has_authorizer=False)
    observed = with_cluster(observed, "east", acls=frozenset(), has_authorizer=False)
    estate = seen(_PASSIVE, observed)
    west = {"billing": {"orders"}, "console-consumer-1": {"orders"}, "gone": {"deleted"}, "b!": {"orders"}}
    east = {"billing": {"west.orders"}, "reader": {"west.payments"}}
    estate = _cluster(estate, "west", groups={name: frozenset(read) for name, read in west.items()})
    estate = _cluster(estate, "east", groups={name: frozenset(read) for name, read in east.items()})
    found = imported_topology(estate).topology
    assert [(c.name, c.cluster, c.topics, c.principal) for c in found.consumers] == [
        ("billing", "west", ("orders",), None),
        ("reader", "east", ("west.payments",), None),
    ]


def test_rules_that_the_file_would_not_make_are_left_alone() -> None:
    """A principal with one rule more is not in the file, so nothing of it is changed."""
    observed = as_described(_PASSIVE)
    rules = observed.clusters["west"].acls or frozenset()
    more = next(r for r in rules if r.principal == "User:billing")._replace(operation="DELETE")
    observed = with_cluster(observed, "west", acls=rules | {more})
    imported = imported_topology(seen(_PASSIVE, observed))
    assert "User:billing" not in {c.principal for c in imported.topology.consumers}
    assert any("User:billing" in note for note in imported.notes)
    assert planned(imported.topology, observed).facts["differences"] == []


def test_a_transactional_producer_comes_back() -> None:
    """With its ids, by name and by beginning, so that it may write in transactions wherever it lands."""
    ids = ("checkout-1", "checkout-batch-*")
    producer = replace(_PASSIVE.producers[0], transactional_ids=ids)
    topology = replace(_PASSIVE, producers=(producer, *_PASSIVE.producers[1:]))
    imported = imported_topology(seen(topology))
    found = check_text(topology_text(imported, "from a test")).valid()
    assert {p.name: p.transactional_ids for p in found.producers} == {"checkout": ids, "settlement": ()}
    assert planned(found, as_described(topology)).facts["differences"] == []


def _by_patterns(*patterns: str) -> tuple[Topology, ObservedEstate]:
    """The estate whose mirror copies by these, and how it stands."""
    mirrors = tuple(replace(m, topics=MirroredTopics((), patterns)) for m in _PASSIVE.replication)
    topology = replace(_PASSIVE, replication=mirrors)
    return topology, as_described(topology)


def test_mirrors_by_patterns_come_back() -> None:
    """As patterns, so that a topic to come is mirrored as well, and as drift is told; not as names beside them."""
    topology, observed = _by_patterns("ord.*", "(payments|refunds)")
    imported = imported_topology(seen(topology, observed))
    text = topology_text(imported, "from a test")
    assert "topics: [ord.*, (payments|refunds)]}" in text
    found = check_text(text).valid()
    assert found == imported.topology
    (mirror,) = found.replication
    assert (mirror.managed, tuple(mirror.topics)) == (True, ("orders", "payments"))
    assert planned(found, observed).facts["differences"] == []
    assert any(
        "copies what ord.*, (payments|refunds) matches: orders, payments now" in n for n in imported.notes
    )


@pytest.mark.parametrize(
    ("patterns", "exclude", "managed"),
    [
        (("payments", "ord.*"), r"mm2.*\.internal", True),
        # Without the file's own list the mirror would copy state: an apply would change that.
        (("payments", "ord.*"), None, False),
        # Java's own: what is selected now stands by name, and the file does not take care of the mirror.
        (("payments", "(?i)ORD.*"), r"mm2.*\.internal", False),
    ],
)
def test_patterns_that_the_file_would_not_make(
    patterns: tuple[str, ...], exclude: str | None, managed: bool
) -> None:
    """A list of what is left out becomes a setting of the file's; what it cannot have is observed only."""
    topology, observed = _by_patterns("ord.*", "payments")
    connectors = dict(observed.clusters["east"].connectors or {})
    for name, connector in connectors.items():
        config = {**connector.config} | ({} if exclude is None else {"topics.exclude": exclude})
        if "topics" in config:
            config["topics"] = ",".join(patterns)
        if exclude is None:
            config.pop("topics.exclude", None)
        connectors[name] = replace(connector, config=config)
    observed = with_cluster(observed, "east", connectors=connectors)
    imported = imported_topology(seen(topology, observed))
    found = check_text(topology_text(imported, "from a test")).valid()
    (mirror,) = found.replication
    assert mirror.managed == managed
    assert set(mirror.topics) == {"orders", "payments"}
    assert mirror.patterns == tuple(p for p in patterns if p == "ord.*")
    assert planned(found, observed).facts["differences"] == []


def test_uneven_spread_is_said() -> None:
    """All partitions agree on two copies here and one there: that is no accident."""
    topology = _with_uneven(_STRETCHED)
    observed = as_described(topology)
    found = imported_topology(seen(topology, observed)).topology
    orders = found.topic("orders", "main")
    assert orders is not None
    assert orders.replicas_per_dc == {"dc1": 2, "dc2": 1}
    assert planned(found, observed).facts["differences"] == []


def _with_uneven(topology: Topology) -> Topology:
    topics = tuple(
        replace(t, replicas=3, min_insync_replicas=2, replicas_per_dc={"dc1": 2, "dc2": 1})
        for t in topology.topics
    )
    return replace(topology, topics=topics)


def test_brokers_that_are_down_still_count() -> None:
    """They hold replicas; in one data centre it is known where they stand."""
    estate = seen(_PASSIVE)
    alive = estate.clusters["west"].observed.brokers[:2]
    imported = imported_topology(_observed(estate, "west", brokers=alive))
    assert imported.topology.clusters["west"].brokers == 3
    assert "brokers of west that are not alive: 3" in imported.notes
    alive = seen(_STRETCHED).clusters["main"].observed.brokers[:3]
    imported = imported_topology(_observed(seen(_STRETCHED), "main", brokers=alive))
    assert imported.topology.clusters["main"].brokers == 3
    assert any("import again when they are alive" in note for note in imported.notes)


def test_copied_state_of_applications_is_left_out() -> None:
    """MirrorMaker's defaults copy changelogs; the file's rules refuse such a mirror."""
    observed = as_described(_PASSIVE)
    changelog = replace(observed.clusters["west"].topics["orders"], name="app-store-changelog")
    topics = {**observed.clusters["west"].topics, changelog.name: changelog}
    observed = with_cluster(observed, "west", topics=topics)
    copy = replace(changelog, name=f"west.{changelog.name}")
    observed = with_cluster(observed, "east", topics={**observed.clusters["east"].topics, copy.name: copy})
    observed = with_cluster(observed, "east", connectors={})
    imported = imported_topology(seen(_PASSIVE, observed))
    (mirror,) = imported.topology.replication
    assert mirror.topics == ("orders", "payments")
    assert any("app-store-changelog" in note for note in imported.notes)
    assert check_text(topology_text(imported, "from a test")).errors == ()
    assert {t.name for t in imported.topology.topics_of("east")} == {"orders", "payments"}


def test_the_limit_of_a_mirror_comes_back() -> None:
    """As bytes a second of all brokers. A quota that nobody writes under is no limit."""
    topology = _PASSIVE
    (mirror,) = topology.replication
    limited = replace(topology, replication=(replace(mirror, max_bytes_per_s=21_000_000),))
    observed = as_described(limited)
    imported = imported_topology(seen(limited, observed))
    (found,) = imported.topology.replication
    assert (found.managed, found.max_bytes_per_s) == (True, 21_000_000)
    assert planned(imported.topology, observed).facts["differences"] == []
    unused = with_cluster(as_described(topology), "east", quotas=observed.clusters["east"].quotas)
    (found,) = imported_topology(seen(topology, unused)).topology.replication
    assert (found.managed, found.max_bytes_per_s) == (True, None)
    hidden = with_cluster(observed, "east", quotas=None, unknown={"quotas": "no right"})
    assert any("no right" in note for note in imported_topology(seen(limited, hidden)).notes)


def test_dynamic_voters_of_kraft_are_written() -> None:
    """Of an ensemble nobody tells."""
    found = seen(_PASSIVE, as_described(_PASSIVE))
    imported = imported_topology(_cluster(found, "west", has_dynamic_voters=True))
    assert {name: one.voters for name, one in imported.topology.clusters.items()} == {
        "west": "dynamic",
        "east": "static",
    }


def test_whom_consumers_read_from_is_told_by_the_selector_of_a_broker() -> None:
    """The rack-aware one is a word of the file; another one is left to a note."""
    estate = seen(_STRETCHED)
    (name,) = estate.clusters
    settings = estate.clusters[name].settings
    aware = imported_topology(_cluster(estate, name, settings={**settings, SELECTOR: RACK_AWARE}))
    assert aware.topology.clusters[name].read_from == "nearest"
    assert "read_from: nearest" in topology_text(aware, "from a test")
    other = imported_topology(_cluster(estate, name, settings={**settings, SELECTOR: "com.example.Own"}))
    assert other.topology.clusters[name].read_from == "leader"
    assert any("com.example.Own" in note and "read_from: leader" in note for note in other.notes)
