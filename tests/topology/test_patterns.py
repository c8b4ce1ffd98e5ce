"""A mirror's topics by patterns: what they match, and that a file keeps them as they were written."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.mirrors.mirrormaker2.connectors import configurations, connector_names
from orchestrator.replication.positions_back import reverse_mirror
from orchestrator.topology.loading import check_text, dump_topology, parse_topology
from orchestrator.topology.mirrored_topics import LEFT_OUT, MirroredTopics, is_left_out, pattern_problem
from orchestrator.topology.model import Topology
from orchestrator.topology.pattern_matching import by_pattern, matched, patterns_as_json

BASES = Path(__file__).parent / "bases"


def topology(base: str = "active-passive", mirrored: Any = None, more: tuple[str, ...] = ()) -> Topology:
    """A valid file in which each mirror has these topics, and west has further ones."""
    data = yaml.safe_load((BASES / f"{base}.yaml").read_text(encoding="utf-8"))
    for row in data["replication"]:
        row["topics"] = mirrored if mirrored is not None else row["topics"]
    first = data["topics"][0]
    data["topics"] += [{**first, "name": name} for name in more]
    return parse_topology(yaml.safe_dump(data, sort_keys=False))


def test_topics_that_a_pattern_matches_count_as_mirrored() -> None:
    """Wherever the names of mirrored topics are used."""
    found = topology(mirrored=["pay.*", "orders"], more=("payouts", "refunds"))
    (mirror,) = found.replication
    assert tuple(mirror.topics) == ("orders", "payments", "payouts")
    assert mirror.patterns == ("pay.*",)
    assert by_pattern(mirror) == {"pay.*": ("payments", "payouts")}
    assert "west.payouts" in found.names_at("east")
    assert "west.refunds" not in found.names_at("east")


def test_a_pattern_matches_the_whole_name_and_a_name_only_itself() -> None:
    """`.` in a name is no pattern, and stands for itself."""
    found = topology(mirrored=["order.?", "payments"], more=("orders.late", "ordersXlate"))
    assert tuple(found.replication[0].topics) == ("payments", "orders")
    plain = topology(mirrored=["orders", "payments", "orders.late"], more=("orders.late", "ordersXlate"))
    assert plain.replication[0].patterns == ()
    assert "ordersXlate" not in plain.replication[0].topics


def test_internal_topics_are_left_out_and_named() -> None:
    """Those of Kafka Streams are ordinary topics to MirrorMaker."""
    internal = ("app-store-changelog", "app-by-key-repartition", ".hidden", "a.internal", "b-internal")
    found = topology(mirrored=[".*"], more=internal)
    assert set(found.replication[0].topics).isdisjoint(internal)
    (told,) = patterns_as_json(found.replication, {name: found.names_at(name) for name in found.clusters})
    assert set(internal) == set(told["left_out"])  # type: ignore[call-overload]
    assert told["patterns"] == {".*": ["orders", "payments"]}


def test_what_came_from_the_target_does_not_go_back() -> None:
    """As MirrorMaker's cycle check has it."""
    found = topology("active-active", mirrored=[".*"])
    for mirror in found.replication:
        assert not any(name.startswith(f"{mirror.target}.") for name in mirror.topics)
        assert mirror.topics


def test_a_file_with_patterns_is_read_back_as_equal() -> None:
    """Patterns stay patterns, in whatever order the file had them."""
    found = topology(mirrored=["pay.*", "orders"], more=("payouts",))
    dumped = dump_topology(found)
    assert dumped["replication"][0]["topics"] == ["orders", "payments", "payouts", "pay.*"]
    assert parse_topology(yaml.safe_dump(dumped, sort_keys=False)) == found
    without = topology(mirrored=["payments", "orders", "payouts"], more=("payouts",))
    assert without != found


def test_topics_with_patterns_survive_copies() -> None:
    """Of the value itself, or of the topology around it."""
    topics = MirroredTopics.of(["orders", "pay.*"])
    for again in (copy.deepcopy(topics), copy.copy(topics)):
        assert again == topics
        assert again.patterns == ("pay.*",)
        assert hash(again) == hash(topics)
    assert topics != ("orders",)
    assert MirroredTopics(("orders",)) == ("orders",)
    found = topology(mirrored=["pay.*", "orders"])
    assert replace(found, name="other").replication == found.replication


def test_the_connectors_take_patterns_as_they_are_and_leave_internal_topics_out() -> None:
    """The source connector and the one that syncs groups alike."""
    found = topology(mirrored=["pay.*", "orders", "or.late"], more=("or.late", "payouts"))
    (mirror,) = found.replication
    configured = configurations(found, mirror)
    for name in connector_names(mirror)[:2]:
        assert configured[name]["topics"] == r"orders,or\.late,pay.*"
        assert configured[name]["topics.exclude"] == ",".join(LEFT_OUT)
    # A completed file names what is matched as well; its mirror is set up the same.
    again = parse_topology(yaml.safe_dump(dump_topology(found), sort_keys=False))
    assert configurations(again, again.replication[0]) == configured


def test_the_way_back_takes_topics_by_name() -> None:
    """At the standby a pattern would match what is at home there."""
    (mirror,) = topology(mirrored=["pay.*", "orders"]).replication
    back = reverse_mirror(mirror)
    assert back.patterns == ()
    assert tuple(back.topics) == ("orders", "payments")


@pytest.mark.parametrize("name", ["orders", "x.replica", "payments-v2", "internals", "connected"])
def test_ordinary_names_are_not_left_out(name: str) -> None:
    """A name may contain a word of an internal one."""
    assert not is_left_out(name)


def test_names_at_a_cluster_that_the_file_does_not_have_are_matched_too() -> None:
    """As `drift` asks."""
    (mirror,) = topology(mirrored=["pay.*", "orders"]).replication
    found = matched(mirror, ["payments", "payroll", "east.payroll", "pay-x-changelog", "refunds", "__pay"])
    assert found.copied == ("payroll",)
    assert found.left_out == ("pay-x-changelog",)


PIECES = ["a", "-", r"\.", ".", "[a-c]", "[^b]", "(a|b)", "(?:c)", "*", "+", "?", "|", "(?!a)", r"\d", "{2}"]


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join))
def test_whatever_is_no_problem_compiles(pattern: str) -> None:
    """And has neither comma nor flag, with which MirrorMaker would read other patterns than the file's."""
    if not pattern_problem(pattern):
        re.compile(pattern)
        assert "," not in pattern


@pytest.mark.parametrize(
    "pattern", ["a,b", "(?i)a", "(?P<n>a)", "[a&&b]", "[a[b]]", r"\p{L}", r"\Qa\E", "(", "a{1,2}"]
)
def test_what_the_two_languages_read_otherwise_is_a_problem(pattern: str) -> None:
    """With the reason."""
    assert pattern_problem(pattern)


def test_patterns_behind_a_misspelt_key_are_told_without_a_place_of_their_own() -> None:
    """The rest of the file is read on, and nothing fails."""
    text = (BASES / "active-passive.yaml").read_text(encoding="utf-8")
    found = check_text(
        text.replace("topics: [orders, payments], policy", 'topcis: ["pay.*", "x(", nobody], policy', 1)
    )
    assert any("unknown key `topcis`" in problem.message for problem in found.errors)
    assert found.topology is None
