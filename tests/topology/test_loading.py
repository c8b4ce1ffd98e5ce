"""Loading a topology file: what a user sees when it is right, and when it is not."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path

import pytest

from orchestrator.errors import TopologyError
from orchestrator.topology.loading import (
    check_text,
    dump_topology,
    load_topology,
    parse_topology,
)
from orchestrator.topology.schema import topology_schema
from orchestrator.values import TopicPartition

EXAMPLE = Path(__file__).parents[2] / "topologies" / "active-passive.yaml"


def problems(text: str) -> list[str]:
    """The problems of a text, without the file's name."""
    with pytest.raises(TopologyError) as caught:
        parse_topology(text, "f")
    return [problem.removeprefix("f:") for problem in caught.value.problems]


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["1:1: the file is empty; expected a topology (version, name, layout, …)"]),
        ("a: [1", ["2:1: not YAML: did not find expected ',' or ']'"]),
        ("a: &x [*x]", ["1:1: an alias contains itself, or aliases multiply without end"]),
        (
            "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
            + "".join(
                f"{y}: &{y} [{', '.join([f'*{x}'] * 10)}]\n" for x, y in itertools.pairwise("abcdefgh")
            ),
            ["1:1: an alias contains itself, or aliases multiply without end"],
        ),
        ("? [a]\n: 1", ["1:3: not YAML: a key must be text"]),
        ("a: !secret x", ["1:4: not YAML: unknown tag !secret"]),
        ("a: 1\n---\nb: 2", ["2:1: not YAML: but found another document"]),
        ("- 1", ["1:1: the topology is a list; expected a mapping"]),
        ("a:\n\tb: 1", ["2:1: not YAML: a tab, where YAML wants spaces\n    indent by spaces"]),
        (
            "\n".join(f"{' ' * depth}a:" for depth in range(200)),
            ["101:101: not YAML that can be read: nested more than 100 levels deep"],
        ),
    ],
)
def test_what_is_no_topology_at_all(text: str, expected: list[str]) -> None:
    """Broken YAML has its place as well."""
    assert problems(text) == expected


def test_a_part_written_once_can_be_used_again() -> None:
    """Anchors, aliases and merges, where the file's own keys win over merged ones."""
    text = EXAMPLE.read_text(encoding="utf-8").replace(
        """  - {name: orders, cluster: west, partitions: 4, replicas: 3, min_insync_replicas: 2}
  - {name: payments, cluster: west, partitions: 3, replicas: 3, min_insync_replicas: 2}
""",
        """  - &usual {name: orders, cluster: west, partitions: 4, replicas: 3, min_insync_replicas: 2}
  - {<<: *usual, name: payments, partitions: 3}
""",
    )
    assert parse_topology(text) == load_topology(EXAMPLE)


def test_names_that_look_like_dates_are_text() -> None:
    """A topic may be called 2026-01-01."""
    text = EXAMPLE.read_text(encoding="utf-8").replace("name: payments\n", "name: 2026-01-01\n", 1)
    assert parse_topology(text).name == "2026-01-01"


def test_ten_thousand_topics_take_seconds_and_time_grows_with_their_number() -> None:
    """No search over all topics for each: ten times as many take about ten times as long."""
    spent = []
    for count in (500, 5_000):
        text = large_file(count)
        started = time.process_time()
        assert not check_text(text).errors
        spent.append(time.process_time() - started)
    assert spent[1] < 25 * spent[0]
    assert spent[1] < 5


def large_file(topics: int) -> str:
    """A file with a mirror of this many topics."""
    names = [f"topic-{number}" for number in range(topics)]
    rows = "".join(
        f"  - {{name: {name}, cluster: west, partitions: 10, replicas: 3, min_insync_replicas: 2}}\n"
        for name in names
    )
    head = EXAMPLE.read_text(encoding="utf-8").partition("topics:\n")[0]
    mirror = f"replication:\n  - {{source: west, target: east, topics: [{', '.join(names)}]}}\n"
    return f"{head}topics:\n{rows}{mirror}failover: {{max_loss: {{records: 10}}}}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("version: 0x" + "f" * 6000, "1:10: `0xffffffff"),
        ("version: " + "9" * 6000, "1:10: not YAML: `99999999"),
        (f"version: {2**63}", "is too large a number; expected at most 9223372036854775807"),
        (f"version: -{2**63 + 1}", "is too large a number"),
    ],
)
def test_a_number_of_any_length_is_an_error_in_words(text: str, words: str) -> None:
    """JSON writers refuse some, and nobody wants to read it whole."""
    (problem,) = check_text(text).problems
    assert words in problem.text("f")
    assert len(problem.text("f")) < 200


@pytest.mark.parametrize("level", ["[", "{a: ", "- ", "? ", "[a, {b: "])
@pytest.mark.parametrize("count", [101, 200_000])
def test_no_depth_ends_the_process(level: str, count: int) -> None:
    """The library's own recursion does at some ten thousand levels."""
    begin = "" if level in ("- ", "? ") else "a: "
    (problem,) = check_text(begin + level * count).problems
    assert "nested more than 100 levels deep" in problem.text("f")
    assert problem.place.line == 1


def test_brackets_in_texts_are_no_levels() -> None:
    """Nor in comments."""
    signs = "]" * 300 + "[" * 300
    assert "nested" not in check_text(f'name: "{signs}" # {signs}').problems[0].message


@pytest.mark.parametrize(
    ("before", "after", "problem", "hint"),
    [
        ("layout: active-passive\n", "", "the topology lacks `layout`", "one of one-location, stretched-2dc"),
        ("kind: group, ", "", "lacks `kind`", "add it: one of group, spark"),
        ("kafka: 4.3.1", "kafka: 4.3", "expected a version of three numbers", "write all three numbers"),
        (
            "replicas: 3",
            "replication_factor: 3",
            "unknown key `replication_factor`",
            "called `replicas` here",
        ),
        ("kind: group", "kind: group, group.id: x", "unknown key `group.id`", "`name` is the same"),
        ("dc: east", "dc: fra", "there is no data centre `fra`", "add `fra` to datacenters"),
    ],
)
def test_a_hint_says_what_can_be_written(before: str, after: str, problem: str, hint: str) -> None:
    """The values, the name that the file has for it, or where a new name is listed."""
    text = EXAMPLE.read_text(encoding="utf-8")
    assert before in text
    found = check_text(text.replace(before, after, 1)).problems
    assert any(problem in one.message and hint in one.hint for one in found), found
