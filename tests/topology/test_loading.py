"""Loading a topology file: what a user sees when it is right, and when it is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.errors import TopologyError
from orchestrator.topology.loading import dump_topology, load_topology, parse_topology, topology_schema
from orchestrator.values import TopicPartition

EXAMPLE = Path(__file__).parents[2] / "topologies" / "active-passive.yaml"


def problems(text: str) -> list[str]:
    """The problems of a text, without the file's name."""
    with pytest.raises(TopologyError) as caught:
        parse_topology(text, "f")
    return [problem.removeprefix("f:") for problem in caught.value.problems]


def edited(*replacements: tuple[str, str]) -> str:
    """The example with some of its text replaced; every replacement must really apply."""
    text = EXAMPLE.read_text(encoding="utf-8")
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def test_the_example_is_valid_and_names_the_mirrored_topics() -> None:
    """The example loads, and its mirror names topics at the target by the default policy."""
    topology = load_topology(EXAMPLE)
    mirror = topology.mirror("west", "east")
    assert mirror is not None
    assert mirror.mirrored(TopicPartition("orders", 2)) == TopicPartition("west.orders", 2)
    assert topology.clusters["west"].is_combined


def test_a_dumped_topology_reads_back_as_equal() -> None:
    """What `sim up` writes is what was loaded."""
    topology = load_topology(EXAMPLE)
    assert parse_topology(json.dumps(dump_topology(topology))) == topology


def test_the_schema_knows_every_key_of_the_example() -> None:
    """Editors get a schema with the file's top-level keys."""
    schema = topology_schema()
    assert {"layout", "clusters", "replication", "failover"} <= set(schema["properties"])
    assert schema["additionalProperties"] is False


def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    """No traceback for a wrong path."""
    with pytest.raises(TopologyError, match="there is no such file"):
        load_topology(tmp_path / "none.yaml")


def test_every_error_is_shown_at_once() -> None:
    """Five errors show five."""
    text = edited(
        ("layout: active-passive", "layout: active-pasive"),
        ("partitions: 4", "partions: 4"),
        ("kafka: 4.3.1", "kafka: 4.3"),
        ("acks: all", "acks: most"),
    )
    assert problems(text) == [
        '10:9: layout is "active-pasive"; expected one of one-location, stretched-2dc, stretched-2.5dc, '
        "stretched-3dc, active-passive, active-active, aggregation\n    did you mean `active-passive`?",
        "15:12: clusters.west.kafka is 4.3; expected text\n    write it in quotes to make it text",
        "27:5: topics[0] lacks `partitions`\n    add it",
        "27:35: unknown key `partions` in topics[0]\n    did you mean `partitions`?",
        '35:61: producers[0].acks is "most"; expected one of all, 1, 0',
    ]


@pytest.mark.parametrize(
    ("replacements", "expected"),
    [
        (
            [("name: payments\n", "name: payments\nname: again\n")],
            ["10:1: `name` stands twice; first in line 9\n    keep one of them"],
        ),
        (
            [("brokers: 3", "brokers: 2")],
            [
                "27:60: `orders` has 3 replicas; cluster `west` has 2 brokers [replicas-fit]\n    add brokers or lower replicas",
                "28:62: `payments` has 3 replicas; cluster `west` has 2 brokers [replicas-fit]\n    add brokers or lower replicas",
            ],
        ),
        (
            [("min_insync_replicas: 2", "min_insync_replicas: 4")],
            [
                "27:84: `orders` has min_insync_replicas 4 above its 3 replicas [replicas-fit]\n"
                "    with acks=all no write would ever be accepted"
            ],
        ),
        (
            [("source: west", "source: wst")],
            ["32:14: there is no cluster `wst` [clusters-exist]\n    did you mean `west`?"],
        ),
        (
            [("{dc: west", "{dc: wset")],
            ["18:14: there is no data centre `wset` [datacenters-exist]\n    did you mean `west`?"],
        ),
        (
            [("topics: [orders], acks", "topics: [order], acks")],
            ["35:46: there is no topic `order` at cluster `west` [topics-exist]\n    did you mean `orders`?"],
        ),
        (
            [(", connect_workers: 1", "")],
            [
                "32:28: no Connect worker at `east` to run the mirror from `west` [mirror-runs]\n"
                "    add connect_workers there: the target survives the source"
            ],
        ),
        (
            [("metadata: kraft", "metadata: zookeeper"), ("controllers: 3", "zookeepers: 3")],
            [
                "16:15: Kafka 4.3.1 has no ZooKeeper mode; it ended with 3.9 [cluster-servers]\n    take kafka: 3.9.1, or metadata: kraft"
            ],
        ),
        (
            [("    kafka: 4.3.1\n", '    kafka: 4.3.1\n    client: {sasl.password: "hunter2"}\n')],
            [
                "16:29: a literal secret in clusters.west.client.sasl.password [secret-literal]\n"
                "    write sasl.password: ${env:NAME} or ${file:PATH}"
            ],
        ),
        (
            [("max_position_age_s: 5", "max_position_age_s: 0")],
            ["58:23: failover.max_position_age_s is 0; expected greater than 0"],
        ),
        (
            [("name: shipping", "name: billing")],
            [
                "39:12: the name `billing` stands more than once under consumers [names-unique]\n    rename one",
                "40:12: the name `billing` stands more than once under consumers [names-unique]\n    rename one",
            ],
        ),
        (
            [("    sink: {kind: files, remembers: batch-id}", "    #")],
            [
                "47:5: Spark query `revenue` lacks `sink` [spark-moves]\n    without it the query cannot be relocated"
            ],
        ),
        (
            [("policy: default", "policy: identity")],
            [
                "32:70: policy `identity` is not supported yet: after a failover both sides' topics fork [policy-supported]\n"
                "    take policy: default"
            ],
        ),
    ],
)
def test_each_mistake_has_its_message(replacements: list[tuple[str, str]], expected: list[str]) -> None:
    """Place, what is wrong, what to do: the exact words."""
    assert problems(edited(*replacements)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["1:1: the file is empty; expected a topology (version, name, layout, …)"]),
        ("a: [1", ["2:1: not YAML: did not find expected ',' or ']'"]),
        ("- 1", ["1:1: the topology is list; expected a mapping"]),
    ],
)
def test_what_is_no_topology_at_all(text: str, expected: list[str]) -> None:
    """Broken YAML has its place as well."""
    assert problems(text) == expected
