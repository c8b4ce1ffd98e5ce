"""A copy that would refuse a record of its source, or delete it sooner, refuses a planned move there and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.moves.request import SwitchoverRequest
from orchestrator.ports.part import Part
from orchestrator.replication.engine import MirrorSettings
from orchestrator.runs.plan import GateResult
from orchestrator.snapshot.observation import AccessState, TopicState
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.agreement import disagreements, largest_record, sending, too_small_to_send
from orchestrator.verbs.plans import plan_failback, plan_switchover
from tests.verbs import failback_pictures, pictures
from tests.verbs.pictures import ABSENT, part

Config = Mapping[str, str]


def both_up(*, source: Config | None = None, copy: Config | None = None, partitions: int = 0) -> Snapshot:
    """West and east answer; `orders` and its copy have these settings, the copy so many partitions."""
    seen = pictures.observation()
    at_east = dict(seen.clusters["east"].topics.value or {})
    at_west = {name: state for name, state in at_east.items() if not name.startswith("west.")}
    at_west["orders"] = replace(at_west["orders"], config=source or {})
    found = at_east["west.orders"]
    count = partitions or len(found.leaders)
    at_east["west.orders"] = replace(found, config=copy or {}, leaders=(1,) * count, isr=(3,) * count)
    seen = pictures.with_cluster(seen, "east", topics=part(at_east))
    none: Part[Any] = part({})
    access = part(AccessState("StandardAuthorizer", None))
    return pictures.with_cluster(
        seen, "west", topics=part(at_west), log_ends=none, committed=none, access=access
    )


def gate(seen: Snapshot) -> GateResult:
    """What a switchover is told of the two sides."""
    plan = plan_switchover(pictures.topology(), seen, SwitchoverRequest(to="east"))
    return next(gate for gate in plan.gates if gate.id == "sides-agree")


def test_sides_that_agree_are_ok() -> None:
    """With Kafka's defaults, and where a copy does more than its source."""
    assert gate(both_up()).outcome == "ok"
    assert gate(both_up(copy={"retention.ms": "-1", "max.message.bytes": "9000000"})).outcome == "ok"


@pytest.mark.parametrize(
    ("source", "copy", "words"),
    [
        (
            {"max.message.bytes": "900000"},
            {"max.message.bytes": "800000"},
            "a larger record stops the mirror",
        ),
        (
            {},
            {"retention.ms": "1000"},
            "west.orders at east has retention.ms 1000, orders at west has 604800000",
        ),
        ({}, {"retention.bytes": "1000"}, "the copy deletes records sooner"),
        ({}, {"cleanup.policy": "compact"}, "of each key keeps the last record alone"),
        (
            {"cleanup.policy": "compact"},
            {"cleanup.policy": "compact,delete"},
            "deletes records that the source",
        ),
        ({}, {"message.timestamp.type": "LogAppendTime"}, "by the time of its copying"),
        ({}, {"message.timestamp.after.max.ms": "3600000"}, "a record with a time further ahead"),
        ({}, {"message.timestamp.before.max.ms": "3600000"}, "a record with a time further back"),
        ({}, {"compression.type": "uncompressed"}, "once it is unpacked"),
    ],
)
def test_a_copy_that_refuses_or_loses_records_is_refused(source: Config, copy: Config, words: str) -> None:
    """In a sentence with both values and what comes of it."""
    found = gate(both_up(source=source, copy=copy))
    assert found.outcome == "refused"
    assert words in found.reason
    assert "dcctl drift FILE" in found.hint


def test_a_copy_with_fewer_partitions_is_refused() -> None:
    """Records of the others have nowhere to go."""
    found = gate(both_up(partitions=1))
    assert found.outcome == "refused"
    assert "west.orders at east has 1 partition, orders at west has" in found.reason


def test_a_mirror_that_does_not_send_the_largest_record_is_refused() -> None:
    """Though both topics would take it; what dcctl sets is enough."""
    large = {"max.message.bytes": "5000000"}
    seen = both_up(source=large, copy=large)
    found = gate(seen)
    assert found.outcome == "refused"
    assert "west-to-east-source has producer.override.max.request.size 1048576" in found.reason
    assert "which needs 5001024" in found.reason
    set_up = part(MirrorSettings(sending([5_000_000]), in_transactions=False))
    assert gate(pictures.with_parts(seen, mirror_settings=set_up)).outcome == "ok"


@pytest.mark.parametrize("unread", ["west", "east", "mirror"])
def test_what_could_not_be_read_is_unknown(unread: str) -> None:
    """Topics of either side, or the mirror's own settings."""
    seen = both_up()
    if unread == "mirror":
        seen = pictures.with_parts(seen, mirror_settings=ABSENT)
    else:
        seen = pictures.with_cluster(seen, unread, topics=ABSENT)
    found = gate(seen)
    assert found.outcome == "unknown"
    assert ABSENT.problem in found.reason


def test_a_disagreement_is_refused_though_the_mirror_does_not_answer() -> None:
    """What was seen is enough for a no."""
    seen = pictures.with_parts(both_up(copy={"retention.ms": "1"}), mirror_settings=ABSENT)
    assert gate(seen).outcome == "refused"


def _back(name: str, at: str, config: Config) -> GateResult:
    seen = failback_pictures.picture()
    topics: dict[str, TopicState] = dict(seen.clusters[at].topics.value or {})
    known = topics.get(name) or topics["orders"]
    topics[name] = replace(known, config=config)
    seen = pictures.with_cluster(seen, at, topics=part(topics))
    plan = plan_failback(failback_pictures.topology(), seen, failback_pictures.REQUEST)
    return next(gate for gate in plan.gates if gate.id == "sides-agree")


def test_on_the_way_back_both_mirrors_are_judged() -> None:
    """The tail comes to the standby, and what was written there goes home."""
    assert _back("orders", "west", {}).outcome == "ok"
    tail = _back("west.orders", "east", {"max.message.bytes": "1000"})
    assert (tail.outcome, "west.orders at east" in tail.reason) == ("refused", True)
    home = _back("east.orders", "west", {"max.message.bytes": "1000"})
    assert (home.outcome, "east.orders at west" in home.reason) == ("refused", True)


SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "max.message.bytes": st.integers(1, 10_000_000).map(str),
        "retention.ms": st.integers(-1, 10_000).map(str),
        "cleanup.policy": st.sampled_from(["delete", "compact", "compact,delete", "delete, compact"]),
        "message.timestamp.type": st.sampled_from(["CreateTime", "LogAppendTime"]),
        "message.timestamp.after.max.ms": st.integers(0, 10_000).map(str),
        "compression.type": st.sampled_from(["producer", "zstd", "uncompressed"]),
    },
)


@given(SETTINGS)
def test_a_topic_agrees_with_itself(settings: Config) -> None:
    """And a mirror that dcctl sets up sends on all that it takes."""
    assert list(disagreements(settings, settings)) == []
    limit = largest_record(settings)
    assert too_small_to_send(sending([limit]), limit) is None


@given(SETTINGS, SETTINGS, SETTINGS)
def test_what_two_copies_in_a_row_take_the_second_takes_of_the_first_topic(
    one: Config, two: Config, three: Config
) -> None:
    """But for times: a copy that dates records anew says so itself."""
    timed = ("message.timestamp", "compression")
    kept = [
        {key: value for key, value in settings.items() if not key.startswith(timed)}
        for settings in (one, two, three)
    ]
    if not list(disagreements(kept[0], kept[1])) and not list(disagreements(kept[1], kept[2])):
        assert list(disagreements(kept[0], kept[2])) == []
