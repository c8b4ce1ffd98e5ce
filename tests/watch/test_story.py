"""Events from readings: when they began and ended, how long, and nothing where nothing was told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.ports.told_metadata import PartitionTold
from orchestrator.values import TopicPartition
from orchestrator.watch.within_cluster.reading import Reading, ServerSeen
from orchestrator.watch.within_cluster.said import decode, encode, in_short, in_words, resumed, said_of
from orchestrator.watch.within_cluster.story import KINDS, Event, Moment, Story, after_reading

BROKERS = (1, 2, 3)
ORDERS = [TopicPartition("orders", number) for number in range(3)]
WHOLE = {tp: PartitionTold(at, 0, BROKERS, BROKERS) for tp, at in zip(ORDERS, BROKERS, strict=True)}
UP = ServerSeen(True)
DOWN = ServerSeen(False)


def reading(at_s: float, **told: object) -> Reading:
    """All is well half a second before `at_s`, but for what is told."""
    well = Reading(
        begun_at_s=at_s - 0.1,
        ended_at_s=at_s,
        told_by=2,
        registered=frozenset(BROKERS),
        brokers=dict.fromkeys(BROKERS, UP),
        sites={1: "dc1", 2: "dc2", 3: "dc2"},
        voters={"controller 101": UP, "controller 102": UP},
        controller="controller 101",
        controller_epoch=4,
        partitions=WHOLE,
    )
    return replace(well, **told)  # type: ignore[arg-type]


def silent(at_s: float, **told: object) -> Reading:
    """No broker told anything."""
    return Reading(begun_at_s=at_s - 0.1, ended_at_s=at_s, problem="no answer", **told)  # type: ignore[arg-type]


def story_of(readings: Iterable[Reading], begin: Story | None = None) -> Story:
    """After all of them."""
    story = begin or Story()
    for one in readings:
        story = after_reading(story, one)
    return story


def the(story: Story, kind: str) -> Event:
    """The one event of a kind."""
    (event,) = story.of(kind)  # type: ignore[arg-type]
    return event


def lost(number: int, leader: int, epoch: int = 1) -> dict[TopicPartition, PartitionTold]:
    """A broker is fenced: others lead, and it is in sync nowhere."""
    left = tuple(other for other in BROKERS if other != number)
    return {
        tp: replace(told, isr=left, leader=leader, epoch=epoch)
        if told.leader == number
        else replace(told, isr=left)
        for tp, told in WHOLE.items()
    }


def test_a_broker_is_lost_and_comes_back() -> None:
    """Each thing with its own times: the port, the fence, its partitions, its replicas."""
    port_gone = {**dict.fromkeys(BROKERS, UP), 1: DOWN}
    fenced = {"brokers": port_gone, "registered": frozenset({2, 3}), "partitions": lost(1, 2)}
    story = story_of(
        [
            reading(10.0),
            reading(10.5, brokers=port_gone),
            reading(11.0, brokers=port_gone),
            reading(19.5, **fenced),
            reading(
                30.0, brokers=dict.fromkeys(BROKERS, UP), registered=frozenset({2, 3}), partitions=lost(1, 2)
            ),
            reading(31.0, partitions=lost(1, 2)),
            reading(33.0, partitions={**WHOLE, ORDERS[0]: replace(WHOLE[ORDERS[0]], leader=2, epoch=1)}),
        ]
    )
    assert not story.going_on
    down, away, behind = (the(story, kind) for kind in ("broker-down", "broker-fenced", "not-in-sync"))
    assert (down.begun, down.ended) == ((9.9, 10.5), (19.4, 30.0))
    assert (away.begun, away.ended) == ((10.9, 19.5), (29.9, 31.0))
    assert (behind.begun.by_s, behind.seconds(99.0), behind.partitions) == (19.5, 13.5, 3)
    assert (down.subject, down.site) == ("broker 1", "dc1")
    moved = the(story, "leaders-moved")
    # Nobody led it from when its leader took no connections, whatever the cluster said of it.
    assert (moved.partitions, moved.named, moved.not_led_s) == (1, ("orders-0",), 9.0)
    assert moved.now == "broker 2: 1"
    assert "1 partition led by others; nobody led them for up to 9.0 s" in in_words(moved, 99.0)


def test_leaders_that_are_moved_on_purpose_were_never_without_one() -> None:
    """Elections one after the other are one event; a later one is another."""
    first = {**WHOLE, ORDERS[0]: replace(WHOLE[ORDERS[0]], leader=2, epoch=1)}
    second = {**first, ORDERS[2]: replace(WHOLE[ORDERS[2]], leader=1, epoch=1)}
    story = story_of(
        [
            reading(1),
            reading(2, partitions=first),
            reading(3, partitions=second),
            reading(4, partitions=second),
        ]
    )
    event = the(story, "leaders-moved")
    assert (event.partitions, event.not_led_s, event.begun.by_s) == (2, 0.0, 2)
    assert event.now == "broker 1: 1, broker 2: 1"
    story = story_of([reading(60, partitions=second), reading(61)], story)
    assert len(story.of("leaders-moved")) == 2


def test_another_controller_and_how_long_there_was_none() -> None:
    """From when the old one was last seen to be it; one that is elected anew counts as well."""
    story = story_of(
        [
            reading(1),
            reading(1.5, controller=""),
            reading(2.5, controller=""),
            reading(3.0, controller="controller 102", controller_epoch=5),
        ]
    )
    event = the(story, "controller-moved")
    assert (event.before, event.now, event.seconds(9)) == ("controller 101", "controller 102", 1.5)
    assert not story.of("no-controller")
    story = story_of([reading(4.0, controller="controller 102", controller_epoch=7)], story)
    assert story.of("controller-moved")[-1].now == "controller 102"
    assert "was elected again" in in_words(story.ended[-1], 9)


def test_a_controller_that_is_seen_down_is_gone_at_once() -> None:
    """Not when the quorum has failed to answer."""
    gone = {"controller 101": DOWN, "controller 102": UP}
    story = story_of(
        [
            reading(1),
            reading(1.5, controller="", controller_at_s=2.3, voters=gone),
            reading(3.0, controller="controller 102", controller_epoch=5, controller_at_s=3.1, voters=gone),
        ]
    )
    event = the(story, "controller-moved")
    assert (event.begun.by_s, event.ended) == (1.5, (1.4, 3.1))


def test_no_controller_for_long_is_an_event_that_goes_on_and_ends() -> None:
    """It began when the last one was gone, not when that had lasted."""
    story = story_of([reading(at, controller="") for at in (2.0, 3.0, 4.0, 5.0)], story_of([reading(1.0)]))
    assert the(story, "no-controller").begun == (0.9, 2.0)
    assert the(story, "no-controller").ended is None
    story = story_of([reading(6.0, controller_epoch=9)], story)
    assert the(story, "no-controller").seconds(99) == 4.0


def test_a_voter_is_down_since_it_fetched_last() -> None:
    """Where the quorum tells since when, that is the time, not when it was noticed."""
    gone = {"controller 101": UP, "controller 102": ServerSeen(False, (7.2, 7.7))}
    story = story_of([reading(1.0), reading(9.5, voters=gone)])
    assert the(story, "voter-down").begun == (7.2, 7.7)


def test_silence_is_an_event_and_nothing_else_is_said_of_it() -> None:
    """What went on goes on; what was well is not said to be ill; and the one event ends with the next answer."""
    fenced = reading(2.0, registered=frozenset({2, 3}), partitions=lost(1, 2))
    story = story_of([reading(1.0), fenced, *(silent(2.0 + at) for at in range(1, 8))])
    assert the(story, "no-answer").begun == (1.9, 3.0)
    assert {key.kind for key in story.going_on} == {"no-answer", "broker-fenced", "not-in-sync"}
    story = story_of([reading(20.0)], story)
    assert not story.going_on
    # It came back at some time since it was last told that it was away, nobody knows when.
    assert the(story, "broker-fenced").ended == (1.9, 20.0)
    assert the(story, "no-answer").seconds(99) == 17.0


def test_one_late_answer_is_no_event() -> None:
    """A busy machine."""
    assert not story_of([reading(1.0), silent(2.0), silent(3.0), reading(4.0)]).ended


def test_ports_are_seen_while_nobody_tells_anything() -> None:
    """Brokers that refuse connections are down, also when no other one is left."""
    down = dict.fromkeys(BROKERS, DOWN)
    story = story_of([reading(1.0), silent(2.0, brokers=down)])
    assert [event.subject for event in story.of("broker-down")] == ["broker 1", "broker 2", "broker 3"]


def test_what_was_so_as_the_watcher_began_has_no_begin() -> None:
    """Nobody had looked before."""
    event = the(
        story_of([reading(5.0, registered=frozenset({2, 3}), partitions=lost(1, 2))]), "broker-fenced"
    )
    assert event.begun.after_s is None


def test_another_watcher_goes_on_with_what_went_on() -> None:
    """By what the first one said in the ensemble; what ended meanwhile ended at some time since."""
    last = reading(3.0, registered=frozenset({2, 3}), partitions=lost(1, 2))
    story = story_of([reading(1.0), last])
    said = decode(*encode(said_of(story, last, site="dc1", host="h", watcher="w")))
    assert said is not None
    later = story_of([reading(60.0)], resumed(said))
    assert the(later, "broker-fenced").begun == (0.9, 3.0)
    assert the(later, "broker-fenced").ended == (3.0, 60.0)
    assert not later.going_on


def test_a_broker_that_was_taken_away_is_not_fenced_for_ever() -> None:
    """It has no replicas any more, and nobody knows its port."""
    two = {tp: PartitionTold(2, 1, (2, 3), (2, 3)) for tp in ORDERS}
    without_1 = {"registered": frozenset({2, 3}), "brokers": {2: UP, 3: UP}}
    story = story_of([reading(1.0), reading(2.0, partitions=lost(1, 2), **without_1)])
    assert the(story, "broker-fenced").ended is None
    story = story_of([reading(3.0, partitions=two, **without_1)], story)
    assert the(story, "broker-fenced").ended == (1.9, 3.0)


def test_a_reading_in_short() -> None:
    """Counts; and by name only what is not whole."""
    found = in_short(reading(1.0, registered=frozenset({2, 3}), partitions=lost(1, 2)))
    assert (found.partitions, found.not_led, found.not_in_sync, found.not_preferred) == (3, 0, 3, 0)
    assert found.in_one_site == 3
    assert found.leads == {"2": 2, "3": 1}
    assert [row.partition for row in found.not_whole] == ["orders-0", "orders-1", "orders-2"]
    nothing = in_short(silent(2.0))
    assert (nothing.partitions, nothing.not_led, nothing.in_one_site) == (None, None, None)


def test_a_preferred_leader_counts_as_missing_where_it_could_lead() -> None:
    """While it is away no election can put it back."""
    by_others = {tp: replace(told, leader=BROKERS[told.leader % 3]) for tp, told in WHOLE.items()}
    assert in_short(reading(1.0, partitions=by_others)).not_preferred == 2
    without_1 = {tp: replace(told, isr=(2, 3)) for tp, told in by_others.items()}
    assert in_short(reading(1.0, partitions=without_1)).not_preferred == 0
    assert in_short(reading(1.0, partitions=by_others, registered=frozenset({2, 3}))).not_preferred == 0


def test_a_replica_whose_site_nobody_knows_may_be_anywhere() -> None:
    """Then it is not known whether its partition is in sync at one site alone."""
    found = in_short(reading(1.0, sites={2: "dc2", 3: "dc2"}, partitions=lost(1, 2)))
    assert found.in_one_site == 0


def test_words_of_a_newer_version_are_not_read() -> None:
    """Nothing is made of them."""
    word, events = encode(said_of(Story(), reading(1.0), site="dc1", host="h", watcher="w"))
    assert decode(word, events) is not None
    assert decode(b'{"format_version": 99}', events) is None
    assert decode(word, b"no json") is None


STATES = st.lists(
    st.tuples(
        st.floats(0.2, 3.0),
        st.booleans(),
        st.sets(st.sampled_from(BROKERS)),
        st.sets(st.sampled_from(BROKERS)),
        st.sampled_from(["", "controller 101", "controller 102"]),
    ),
    max_size=30,
)


@settings(max_examples=300, deadline=None)
@given(STATES)
def test_whatever_is_read_events_are_in_order_and_each_goes_on_once(
    steps: list[tuple[float, bool, set[int], set[int], str]],
) -> None:
    """A begin before its end, no two at once of the same, and all ended once all is well for a while."""
    story, at_s = Story(), 100.0
    for pause_s, answers, up, registered, controller in steps:
        at_s += pause_s
        ports = {number: ServerSeen(number in up) for number in BROKERS}
        told = {"brokers": ports, "registered": frozenset(registered), "controller": controller}
        one = reading(at_s, **told) if answers else silent(at_s, brokers=ports)
        story = after_reading(story, one)
        _check(story)
    for _ in range(2):
        at_s += 5
        story = after_reading(story, reading(at_s, controller_epoch=99))
        _check(story)
    assert not story.going_on


def _check(story: Story) -> None:
    spans: dict[tuple[str, str], list[Event]] = {}
    for event in (*story.ended, *story.going_on.values()):
        assert event.kind in KINDS
        assert event.begun.after_s is None or event.begun.after_s <= event.begun.by_s
        if event.ended is not None:
            assert event.ended.after_s is None or event.ended.after_s <= event.ended.by_s
            assert event.begun.by_s <= event.ended.by_s
        assert event.seconds(1e9) >= 0
        spans.setdefault(tuple(event.key), []).append(event)
    for events in spans.values():
        rows = sorted(events, key=lambda event: event.begun.by_s)
        for before, after in pairwise(rows):
            assert before.ended is not None
            assert before.ended.by_s <= after.begun.by_s


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_a_sentence(kind: str) -> None:
    """While it goes on, and once it has ended."""
    event = Event(kind=kind, subject="broker 1", begun=Moment(None, 1.0))  # type: ignore[arg-type]
    assert in_words(event, 5.0)
    assert in_words(replace(event, ended=Moment(2.0, 3.0)), 5.0)


def test_one_open_port_of_a_broker_that_is_away_ends_nothing():
    """Somebody else's listener, or a proxy: the cluster does not take it for living, and it is one outage."""
    gone = {"registered": frozenset({2, 3}), "partitions": lost(1, 2)}
    down = {**dict.fromkeys(BROKERS, UP), 1: DOWN}
    rows = [reading(1.0), *(reading(1.0 + n / 2, brokers=down, **gone) for n in range(1, 20))]
    rows += [reading(11.0, **gone), *(reading(11.5 + n / 2, brokers=down, **gone) for n in range(4))]
    (event,) = story_of(rows).of("broker-down")
    assert event.ended is None
    back = story_of([*rows, reading(14.0), reading(14.5)])
    assert [event.ended and event.ended.by_s for event in back.of("broker-down")] == [14.0]
