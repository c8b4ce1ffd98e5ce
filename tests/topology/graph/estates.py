"""Topologies to draw: one of each layout, and random ones."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from hypothesis import strategies as st

from orchestrator.topology.model import (
    Cluster,
    Consumer,
    Link,
    Nodes,
    Producer,
    Replication,
    Topic,
    Topology,
)
from orchestrator.topology.spark import SparkQuery

KAFKA = {"kraft": "4.3.1", "zookeeper": "3.9.1"}


def kraft(*rows: Nodes, **more: object) -> Cluster:
    """A KRaft cluster."""
    return Cluster(kafka="4.3.1", metadata="kraft", nodes=rows, **more)  # type: ignore[arg-type]


def zookeeper(*rows: Nodes, **more: object) -> Cluster:
    """A cluster in ZooKeeper mode."""
    return Cluster(kafka="3.9.1", metadata="zookeeper", nodes=rows, **more)  # type: ignore[arg-type]


def topic(name: str, cluster: str, replicas: int = 3, minimum: int = 2) -> Topic:
    """A topic of six partitions."""
    return Topic(name=name, cluster=cluster, partitions=6, replicas=replicas, min_insync_replicas=minimum)


def home(site: str, workers: int = 0) -> Cluster:
    """Three combined nodes in one site."""
    return kraft(Nodes(dc=site, brokers=3, controllers=3, connect_workers=workers))


def topology(layout: str, sites: tuple[str, ...], clusters: dict[str, Cluster], **more: object) -> Topology:
    """A topology named like its layout."""
    return Topology(
        version=1,
        name=layout,
        layout=layout,
        datacenters=sites,
        clusters=clusters,
        **more,  # type: ignore[arg-type]
    )


HIERARCHICAL = topology(
    "stretched-2dc",
    ("dc1", "dc2"),
    {
        "main": zookeeper(
            Nodes(dc="dc1", brokers=2, zookeepers=3),
            Nodes(dc="dc2", brokers=2, zookeepers=3),
            quorum="hierarchical",
        )
    },
    topics=(topic("orders", "main", 4, 3), topic("audit", "main", 3, 2)),
    producers=(Producer(name="checkout", cluster="main", topics=("orders",), acks="1"),),
    consumers=(Consumer(name="billing", cluster="main", kind="group", topics=("orders", "audit")),),
    links=(Link(between=("dc1", "dc2"), latency_ms=2.5),),
)

WITNESS = topology(
    "stretched-2.5dc",
    ("dc1", "dc2", "dc3"),
    {
        "main": kraft(
            Nodes(dc="dc1", brokers=2, controllers=2),
            Nodes(dc="dc2", brokers=2, controllers=2),
            Nodes(dc="dc3", controllers=1),
        )
    },
    topics=(topic("orders", "main", 4, 3),),
)

BOTH_WAYS = topology(
    "active-active",
    ("west", "east"),
    {"west": home("west", 1), "east": home("east", 1)},
    topics=(topic("orders", "west"), topic("orders", "east")),
    replication=(
        Replication(source="west", target="east", topics=("orders",)),
        Replication(source="east", target="west", topics=("orders",)),
    ),
)

GATHERED = topology(
    "aggregation",
    ("dc1", "dc2", "dc3", "centre"),
    {**{site: home(site) for site in ("dc1", "dc2", "dc3")}, "centre": home("centre", 2)},
    topics=tuple(topic(name, site) for site in ("dc1", "dc2", "dc3") for name in ("events", "metrics")),
    replication=tuple(
        Replication(source=site, target="centre", topics=("events", "metrics"))
        for site in ("dc1", "dc2", "dc3")
    ),
)

CENTRES = topology(
    "aggregation",
    ("dc1", "dc2", "centre", "reserve"),
    {
        **{site: home(site) for site in ("dc1", "dc2")},
        "centre": replace(home("centre", 2), standby="reserve"),
        "reserve": home("reserve", 2),
    },
    topics=(topic("events", "dc1"), topic("events", "dc2")),
    replication=tuple(
        Replication(source=site, target=centre, topics=("events",))
        for site in ("dc1", "dc2")
        for centre in ("centre", "reserve")
    ),
    producers=(Producer(name="tills", cluster="dc1", topics=("events",)),),
    consumers=(
        Consumer(name="search", cluster="centre", kind="group", topics=("dc1.events",)),
        Consumer(name="stock", cluster="dc1", kind="group", topics=("events",), standby="reserve"),
    ),
)

HUGE = topology(
    "one-location",
    ("only",),
    {"only": kraft(Nodes(dc="only", brokers=120, controllers=5, connect_workers=9), combined=False)},
    topics=tuple(topic(name, "only") for name in ("orders", "payments"))
    + tuple(topic(f"topic-{number:05}", "only") for number in range(9_998)),
    producers=tuple(
        Producer(name=f"writer-{number}", cluster="only", topics=("orders",)) for number in range(300)
    ),
    consumers=(
        Consumer(
            name="all", cluster="only", kind="group", topics=tuple(f"topic-{n:05}" for n in range(9_998))
        ),
    ),
)

ALL = {
    "hierarchical": HIERARCHICAL,
    "witness": WITNESS,
    "both-ways": BOTH_WAYS,
    "gathered": GATHERED,
    "centres": CENTRES,
    "huge": HUGE,
}

_NAMES = st.one_of(
    st.sampled_from(["end", "a", "W" * 120, "graph", "x-1", "dc.2"]),
    st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,40}\Z"),
)


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    """Any topology that the model allows: up to five sites and clusters, joined in every way."""
    sites = tuple(draw(st.lists(_NAMES, min_size=1, max_size=5, unique=True)))
    names = draw(st.lists(_NAMES, min_size=1, max_size=5, unique=True))
    standbys = st.none() | st.sampled_from(names)
    clusters = {name: replace(draw(_clusters(sites)), standby=draw(standbys)) for name in names}
    topics = tuple(
        Topic(
            name=draw(_NAMES),
            cluster=draw(st.sampled_from(names)),
            partitions=draw(st.integers(1, 100_000)),
            replicas=draw(st.integers(1, 5)),
            min_insync_replicas=draw(st.integers(1, 5)),
            replicas_per_dc=draw(st.dictionaries(st.sampled_from(sites), st.integers(0, 3), max_size=3)),
        )
        for _ in range(draw(st.integers(0, 12)))
    )
    some = st.lists(_NAMES, min_size=0, max_size=8).map(tuple)
    pairs = st.tuples(st.sampled_from(names), st.sampled_from(names))
    return Topology(
        version=1,
        name=draw(_NAMES),
        layout="active-active",
        datacenters=sites,
        clusters=clusters,
        topics=topics,
        replication=tuple(
            Replication(source=source, target=target, topics=draw(some))
            for source, target in draw(st.lists(pairs, max_size=6))
        ),
        producers=tuple(
            Producer(
                name=name,
                cluster=draw(st.sampled_from(names)),
                topics=draw(some),
                acks=draw(st.sampled_from(["all", "1"])),
            )
            for name in draw(st.lists(_NAMES, max_size=6, unique=True))
        ),
        consumers=tuple(
            draw(st.sampled_from([partial(Consumer, kind="group"), partial(SparkQuery, kind="spark")]))(
                name=name,
                cluster=draw(st.sampled_from(names)),
                topics=draw(some),
                standby=draw(standbys),
            )
            for name in draw(st.lists(_NAMES, max_size=6, unique=True))
        ),
        links=tuple(
            Link(between=pair, latency_ms=latency)
            for pair, latency in draw(
                st.lists(
                    st.tuples(st.tuples(st.sampled_from(sites), st.sampled_from(sites)), st.floats(0, 500)),
                    max_size=3,
                )
            )
        ),
    )


@st.composite
def _clusters(draw: st.DrawFn, sites: tuple[str, ...]) -> Cluster:
    metadata = draw(st.sampled_from(["kraft", "zookeeper"]))
    voters = "controllers" if metadata == "kraft" else "zookeepers"
    homes = draw(st.lists(st.sampled_from(sites), min_size=1, max_size=len(sites) + 1))
    rows = tuple(
        Nodes(
            dc=site,
            brokers=draw(st.integers(0, 12)),
            connect_workers=draw(st.integers(0, 3)),
            **{voters: draw(st.integers(0, 7))},
        )
        for site in homes
    )
    return Cluster(
        kafka=KAFKA[metadata],
        metadata=metadata,
        nodes=rows,
        quorum=draw(st.sampled_from(["majority", "hierarchical"])),
        combined=draw(st.sampled_from([None, True, False])),
    )
