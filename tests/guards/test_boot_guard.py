"""Who may let applications in when its servers start: by runs, by topics and by denials."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.guards.boot_guard import BootGuardStatus, Disk, boot_guard_status, newest_begun
from orchestrator.runs.estate_record import DenialInForce, DenialLifted, PrimaryMoved
from orchestrator.runs.writers import Topic
from tests.guards.guard_facts import ORDERS, PAYMENTS, REFUNDS, TOPICS, Story, writer_of

Told = tuple[str, str, str, str, str]
"""Verb, source, target, outcome, and `held` where it holds the side that it leads to."""


def told(verb: str, source: str, target: str, outcome: str = "ok", held: str = "") -> Told:
    return verb, source, target, outcome, held


def story_of(oldest_first: Iterable[Told]) -> Story:
    """Runs as an earlier dcctl has left them, with no record of a primary."""
    story = Story()
    for number, (verb, source, target, outcome, held) in enumerate(oldest_first):
        run_id = f"{number}-{verb}"
        story.begin(run_id, verb, source, target)
        if held:
            story.deny(run_id, *TOPICS, at=target)
        if outcome:
            story.end(run_id, outcome)
    return story


AWAY = told("failover", "west", "east")
ON_ITS_WAY = told("failover", "west", "east", "")
BACK = told("failback", "east", "west")


@pytest.mark.parametrize(
    ("oldest_first", "west", "east"),
    [
        ([], True, True),
        ([AWAY], False, True),
        ([ON_ITS_WAY], False, True),  # it comes back in the middle of a failover
        ([told("failover", "west", "east", "incomplete")], False, True),
        ([told("failover", "west", "east", "unknown")], False, True),
        ([told("failover", "west", "east", "undone")], True, True),
        ([AWAY, told("failback", "east", "west", "")], False, True),
        ([AWAY, told("failback", "east", "west", "", "held")], True, True),
        ([AWAY, told("failback", "east", "west", "undone", "held")], True, True),
        ([AWAY, told("failback", "east", "west", "undone")], False, True),
        ([AWAY, BACK], True, True),
        ([AWAY, BACK, ON_ITS_WAY], False, True),
        ([AWAY, BACK, AWAY, told("failback", "east", "west", "incomplete")], False, True),
        ([AWAY, told("fence", "west", "")], False, True),
        ([AWAY, told("apply", "", "")], False, True),
        ([AWAY, told("failover", "east", "west")], True, False),
    ],
)
def test_the_newest_run_that_says_something_decides(oldest_first: list[Told], west: bool, east: bool) -> None:
    """Closed from the first effect of a failover until a failback holds it by rules."""
    story = story_of(oldest_first)
    of_west = (ORDERS, PAYMENTS)
    assert story.word("west", of_west).is_open is west
    assert story.word("east", of_west).is_open is east


def lost(*topics: Topic) -> Story:
    """West was lost, and some of its topics are primary at east."""
    return Story().begin("1-failover", "failover").move("1-failover", "east", *topics).end("1-failover")


def planned(*topics: Topic) -> Story:
    """The same by a planned move, which has denied them and left the rules there."""
    story = Story().begin("1-switchover", "switchover").deny("1-switchover", *topics)
    return story.move("1-switchover", "east", *topics).end("1-switchover")


def test_it_says_for_which_topics_it_is_closed() -> None:
    """Those that are primary here, or denied, are not among them."""
    story = lost(PAYMENTS)
    assert story.word() == BootGuardStatus(False, "east has taken over (run 1-failover): payments")
    story.move("1-failover", "east", ORDERS)
    assert story.word().reason == "east has taken over (run 1-failover): orders, payments"
    story.begin("2-failback", "failback", "east", "west").deny("2-failback", PAYMENTS)
    assert story.word().reason == "east has taken over (run 1-failover): orders"
    story.deny("2-failback", ORDERS)
    assert story.word().is_open


def test_many_topics_are_named_by_a_few_and_how_many_more() -> None:
    """The word is one line of a log."""
    topics = [("west", f"t{number:02d}") for number in range(20)]
    facts = Story().begin("r", "failover").move("r", "east", *topics).facts
    word = boot_guard_status("west", dict.fromkeys(topics, frozenset({"User:a"})), facts, disk=Disk())
    assert word.reason.startswith("east has taken over (run r): t00, t01, ")
    assert word.reason.endswith(" more")
    assert len(word.reason) < 120


def test_each_cause_is_told_with_its_topics() -> None:
    """A topic that went by a run that nobody knows, beside one that a failover has led away."""
    story = lost(PAYMENTS).move("gone", "east", ORDERS)
    assert story.word().reason == (
        "recorded as primary at east by run gone: orders; east has taken over (run 1-failover): payments"
    )


def test_a_failover_that_has_not_recorded_its_topics_leads_all_away() -> None:
    """Nobody can say yet which of them will work elsewhere in a moment."""
    story = Story().begin("1-failover", "failover")
    assert story.word("west", (ORDERS, PAYMENTS)).reason.endswith(": orders, payments")
    assert not story.move("1-failover", "east", PAYMENTS).word("west", (ORDERS, PAYMENTS)).is_open
    assert story.word("west", (ORDERS,)).is_open


def test_a_part_that_was_moved_as_planned_leaves_the_rest_open() -> None:
    """Its rules are in the metadata of the side that it left."""
    assert planned(PAYMENTS).word() == BootGuardStatus(
        True,
        "no failover has led away from this cluster: orders; run 1-switchover denies applications by access rules: payments; "
        "no application is started here: refunds of east",
    )


def test_two_active_sites_judge_each_by_its_own() -> None:
    """Each mirrors its topics to the other. East is lost; its topics work at west beside west's own."""
    story = Story().begin("1", "failover", "east", "west").move("1", "west", REFUNDS).end("1")
    assert story.word("west").is_open
    assert story.word("east") == BootGuardStatus(False, "west has taken over (run 1): refunds")
    # Then west is lost, with all that works there.
    story.begin("2", "failover", "west", "east").move("2", "east", *TOPICS).end("2")
    assert story.word("east").is_open
    assert story.word("west") == BootGuardStatus(
        False, "east has taken over (run 2): orders, payments, refunds of east"
    )


def test_what_left_as_planned_stands_by() -> None:
    """A standby is open, lest a failover has to wait for it; what came by failover and went by one is not."""
    story = Story().begin("1", "switchover", "west", "east").deny("1", ORDERS).move("1", "east", ORDERS)
    assert story.word("east", (ORDERS,)).is_open
    story.begin("2", "failback", "east", "west").deny("2", ORDERS).deny("2", ORDERS, at="east")
    story.lift("2", ORDERS).move("2", "west", ORDERS).lift("2", ORDERS, at="east").end("2")
    assert story.word("east", (ORDERS,)).is_open
    assert story.word("west", (ORDERS,)).is_open


@pytest.mark.parametrize(
    ("change", "is_open"),
    [
        (lambda story: story, True),
        (lambda story: story.lift("3-unfence", ORDERS), False),
        (lambda story: story.lift("3-unfence", PAYMENTS), True),
        (lambda story: story.lift("3", ORDERS).withdraw("3", DenialLifted), True),
        (lambda story: story.withdraw("2-fence", DenialInForce), False),
        (lambda story: story.lift("3", ORDERS).begin("4", "fence", "west", "").deny("4", ORDERS), True),
        # It was primary here since, so the rules cannot have stayed.
        (lambda story: story.begin("3", "failback", "east", "west").move("3", "west", ORDERS), True),
        (
            lambda story: (
                story.begin("3", "failback", "east", "west")
                .move("3", "west", ORDERS)
                .begin("4", "failover")
                .move("4", "east", ORDERS)
            ),
            False,
        ),
    ],
)
def test_a_denial_counts_until_it_is_lifted_or_undone(change: object, is_open: bool) -> None:
    """West was fenced before it was lost."""
    story = Story().begin("2-fence", "fence", "west", "").deny("2-fence", ORDERS).end("2-fence")
    story.begin("2-failover", "failover").move("2-failover", "east", ORDERS).end("2-failover")
    assert change(story).word("west", (ORDERS,)).is_open is is_open  # type: ignore[operator]


def test_a_denial_does_not_count_for_a_writer_that_it_does_not_name() -> None:
    """The file has got one since."""
    facts = planned(ORDERS).facts
    for who, is_open in (
        (set(), True),
        ({writer_of(ORDERS)}, True),
        ({writer_of(ORDERS), "User:new"}, False),
    ):
        assert boot_guard_status("west", {ORDERS: frozenset(who)}, facts, disk=Disk()).is_open is is_open


def test_a_denial_at_the_other_side_is_none_here() -> None:
    """Nor does one against another topic count."""
    story = lost(ORDERS).begin("2", "fence", "east", "").deny("2", ORDERS, at="east").deny("2", PAYMENTS)
    assert not story.word("west", (ORDERS,)).is_open


@pytest.mark.parametrize(
    ("disk", "is_open"),
    [
        # Its access rules lie on its disks: as long as these are the same.
        (Disk(), True),
        (Disk(is_new=True, after=None), False),
        (Disk(is_new=True, after="1-switchover"), False),
        (Disk(is_new=True, after="2-fence"), False),
        # It came new before it was moved away from: the first start of an estate, for one.
        (Disk(is_new=True, after=""), True),
        (Disk(is_new=True, after="0-apply"), True),
        (Disk(is_new=True, after="a-run-that-is-gone"), False),
    ],
)
def test_rules_do_not_count_on_a_newer_disk(disk: Disk, is_open: bool) -> None:
    """The order is that in which runs began."""
    story = Story().begin("0-apply", "apply", "", "").begin("1-switchover", "switchover")
    story.deny("1-switchover", ORDERS).move("1-switchover", "east", ORDERS).begin("2-fence", "fence", "east")
    assert newest_begun(story.facts) == "2-fence"
    assert story.word("west", (ORDERS,), disk=disk).is_open is is_open


@pytest.mark.parametrize("is_ended", [True, False])
@pytest.mark.parametrize(
    ("disk", "is_open"),
    [
        (Disk(), True),
        (Disk(is_new=True, after="2-failback"), False),
        (Disk(is_new=True, after="1-failover"), True),
    ],
)
def test_a_hold_counts_on_disks_that_were_there_before_it(disk: Disk, is_open: bool, is_ended: bool) -> None:
    """Also one of a failback that was taken back."""
    story = lost(ORDERS).begin("2-failback", "failback", "east", "west").deny("2-failback", ORDERS)
    if is_ended:
        story.end("2-failback", "undone")
    assert story.word("west", (ORDERS,), disk=disk).is_open is is_open


def test_a_disk_that_came_new_is_told_with_the_way_out() -> None:
    """Who reads the service's log at night knows what to do."""
    word = planned(ORDERS).word("west", (ORDERS,), disk=Disk(is_new=True, after="1-switchover"))
    assert word.reason == (
        "the data folder is new, and lacks the access rules by which run 1-switchover denies applications: "
        "a failback has to write them first: orders"
    )


@pytest.mark.parametrize("disk", [Disk(), Disk(is_new=True), Disk(is_new=True, after="2-failback")])
def test_a_primary_opens_on_whatever_disk(disk: Disk) -> None:
    """Also one that is primary since a moment ago, by a failback that has not ended."""
    story = lost(ORDERS).begin("2-failback", "failback", "east", "west").move("2-failback", "west", ORDERS)
    assert story.word("west", (ORDERS,), disk=disk).is_open
    assert Story().word("west", disk=disk).is_open


def test_records_of_runs_that_are_gone_do_not_open_a_side_that_is_not_primary() -> None:
    """Nor do runs in a wrong order."""
    gone = Story().move("gone", "east", ORDERS)
    assert not gone.word("west", (ORDERS,)).is_open
    assert not gone.begin("1", "failover", "east", "west").word("west", (ORDERS,)).is_open
    back_first = Story().begin("2", "failback", "east", "west").begin("1", "failover").end("2")
    assert not back_first.move("2", "west", ORDERS).move("1", "east", ORDERS).word("west", (ORDERS,)).is_open


def test_where_topics_went_is_lost_in_its_turn() -> None:
    """Applications are led here: it opens as that begins, and what is lost then is closed."""
    story = lost(ORDERS).begin("2", "failover", "east", "west")
    assert story.word("west", (ORDERS,)).is_open
    assert not story.word("east", (ORDERS,)).is_open
    story.move("2", "west", ORDERS).end("2")
    assert story.word("west", (ORDERS,)).is_open
    assert not story.word("east", (ORDERS,)).is_open
    story.end("2", "undone").withdraw("2", PrimaryMoved)
    assert not story.word("west", (ORDERS,)).is_open
    assert story.word("east", (ORDERS,)).is_open


@given(
    st.fixed_dictionaries(
        {topic: st.tuples(st.sampled_from(["", "switchover", "failover"]), st.booleans()) for topic in TOPICS}
    ),
    st.permutations(TOPICS),
    st.sampled_from(["west", "east"]),
)
def test_open_is_a_side_where_each_topic_is_primary_or_denied(
    state: dict[Topic, tuple[str, bool]], order: list[Topic], cluster: str
) -> None:
    """Whichever topics have left it, each by a run of its own, and whichever denials stand there."""
    other = {"west": "east", "east": "west"}[cluster]
    topics = [topic for topic in order if topic[0] == cluster]
    story = Story()
    for topic in topics:
        verb, is_denied = state[topic]
        run_id = f"{verb or 'fence'}-{topic[1]}"
        story.begin(run_id, verb or "fence", cluster, other if verb else "")
        if is_denied:
            story.deny(run_id, topic, at=cluster)
        if verb:
            story.move(run_id, other, topic)
        story.end(run_id)
    closed = {topic for topic in topics if state[topic][0] and not state[topic][1]}
    word = story.word(cluster, topics)
    assert word.is_open is (not closed)
    if closed:
        assert {topic for topic in topics if topic[1] in word.reason.replace(f"-{topic[1]}", "")} == closed
    # At the other side nothing is denied, and all is primary that has come: what has not stands by.
    assert story.word(other).is_open
