"""A rehearsal is valid only where all is as it was stated: each way in which it can be otherwise is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.evidence.audit.ledgers import POSITIONS_COLUMNS, positions_path, processed_path, sends_path
from orchestrator.evidence.clients.ledger import LedgerWriter
from orchestrator.evidence.clients.records import RecordId
from orchestrator.values import TopicPartition
from tests.evidence.origins.stories import (
    EAST_LOG,
    FIRST,
    HOME,
    MOVED,
    Story,
    lost_and_home_again,
    lost_and_returned,
)
from tests.evidence.origins.worlds import records


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return lost_and_home_again(tmp_path)


@pytest.fixture
def returned(tmp_path: Path) -> Story:
    return lost_and_returned(tmp_path)


def without(path: Path, words: str) -> None:
    """The lines of a ledger but for those with some words."""
    lines = path.read_text().splitlines(keepends=True)
    assert any(words in line for line in lines)
    path.write_text("".join(line for line in lines if words not in line))


def test_all_as_stated_is_valid_and_says_what_moved(story: Story) -> None:
    """Two records came late, and one of them was processed again by each who had processed it."""
    found = story.judged()
    assert (found.verdict, found.reasons) == ("valid", ())
    there, back = [one.figures(None, None) for one in found.measured.moves]
    assert (there.late, there.positions, there.exact, there.wrong) == (2, 6, 6, 0)
    assert (there.read_again, there.read_again_late, there.read_again_at_most) == (0, 4, 12)
    assert (back.late, back.wrong, back.read_again) == (0, 0, 0)
    fates = {fate.name: (fate.stated, fate.happened) for fate in found.measured.fates}
    assert fates == {
        **dict.fromkeys(
            ("shop-west", "reporting", "billing", "analytics", "packing-west"), ("goes to east",) * 2
        ),
        **dict.fromkeys(("shop-east", "packing-east"), ("works on",) * 2),
    }


def _drop(cluster: str, topic: str, record: RecordId) -> Callable[[Story], object]:
    def change(story: Story) -> None:
        log = story.world.logs[cluster][TopicPartition(topic, 0)]
        log[:] = [entry for entry in log if entry[1] != record]

    return change


def _stand_again(cluster: str, topic: str, again: Iterable[RecordId]) -> Callable[[Story], object]:
    return lambda story: story.world.stands(cluster, topic, again)


def _restate(run: int, key: str, name: str, **bounds: int | None) -> Callable[[Story], object]:
    return lambda story: story.results[run]["predicted"][key][name].update(bounds)


def _no_ends(story: Story) -> None:
    story.results[0]["fence_offsets"]["mirrored"] = {}
    story.results[0]["predicted"]["loss"]["orders"].update(at_most=1)
    for row in story.results[0]["translations"]:
        row["exact"] = False


def _unread(consumer: str, life: int, words: str) -> Callable[[Story], object]:
    return lambda story: without(processed_path(story.world.ledgers, consumer, life), words)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_drop("east", "west.orders", FIRST[3]), "invalid: orders of west in west.orders at east: 1 records acknowledged, missing before later ones"),
        (_drop("west", "east.orders", EAST_LOG[-1]), "1 records acknowledged, missing at the end (shop-east 29 of life 1)"),
        (_stand_again("east", "west.orders", HOME[-2:]), "west.orders at east: 2 records there more than once"),
        (_stand_again("west", "east.orders", EAST_LOG[-2:]), "east.orders at west: 2 records there more than once"),
        (_restate(0, "loss", "orders", at_most=1), "loss of west: orders: 2 records lost, more than predicted (1 at most)"),
        (_restate(0, "loss", "orders", at_least=3), "loss of west: orders: 2 records lost, fewer than predicted"),
        (_restate(0, "loss", "orders", at_most=100), "loss of west: orders: the prediction was too wide"),
        (lambda s: s.results[0]["predicted"]["loss"].clear(), "unknown: loss of west: orders: 2 records lost, and no loss was predicted"),
        (lambda s: s.results[0]["predicted"].update(loss={"refunds": {"at_most": 9}}), "loss of west: orders: 2 records lost, and no loss was predicted"),
        (_no_ends, "unknown: loss of west: the run does not say where west.orders at east ended"),
        (_restate(0, "reread", "billing", at_most=None), "unknown: failover west → east: the plan does not say how much billing reads again"),
        (_unread("packing-west", 3, ",shop-west,17,"), "invalid: packing-west, orders of west: 1 records skipped (shop-west 17 of life 3)"),
        (_unread("packing-east", 1, ",shop-west,12,"), "packing-east, orders of east: 1 records skipped (shop-west 12 of life 2)"),
        (lambda s: s.world.read("packing-west", 2, "west.orders", FIRST[4:8], 4, at_s=31), "packing-west: 4 records read again, 3 at most were stated"),
        (lambda s: s.world.read("packing-east", 1, "orders", EAST_LOG[:2]), "packing-east, orders of east: 2 records processed again"),
        (lambda s: s.world.read("packing-west", 2, "orders", MOVED[:1], 20, at_s=22), "1 records processed that are not for it"),
        (lambda s: s.results[1]["translations"][0].update(target_offset=12), "failback east → west: reporting at orders-0: 2 records lie before its position, unread"),
        (lambda s: s.results[0]["translations"][0].update(target_offset=5), "3 records come again, and the position was called exact"),
        (lambda s: s.results[0]["translations"][0].update(target_offset=None), "unknown: failover west → east: no position was written for reporting at orders-0"),
        (lambda s: s.results[1].update(outcome="unknown", reason="a producer was not seen"), "unknown: failback east → west: it ended unknown: a producer was not seen"),
        (lambda s: setattr(s, "is_drained", False), "unknown: the consumers had not read to the end"),
        (lambda s: setattr(s, "stands_still", False), "invalid: logs grew after all producers had ended"),
        (lambda s: setattr(s, "stands_still", None), "unknown: it was not seen whether logs stood still"),
        (lambda s: s.losses.__setitem__(0, replace(s.losses[0], is_verified=False)), "unknown: it was not verified that the fault took effect"),
        (lambda s: sends_path(s.world.ledgers, "shop-west", 2).rename(s.world.ledgers / "hidden"), "unknown: shop-west: no ledger life-2.csv"),
        (lambda s: processed_path(s.world.ledgers, "billing", 2).write_text("a\nb\nc\nd\n"), "unknown: billing: its ledger life-2.processed.csv cannot be read"),
    ],
)  # fmt: skip
def test_whatever_is_otherwise_is_named(story: Story, change: Callable[[Story], object], said: str) -> None:
    """With the verdict that it forbids."""
    change(story)
    found = story.said()
    assert not found.startswith("valid")
    assert said in found


@pytest.mark.parametrize("life", [1, 2])
def test_for_want_of_a_producers_ledger_nothing_is_called_lost_or_read_again(story: Story, life: int) -> None:
    """Whichever life was followed by another one; who has none behind the last move was not seen again."""
    sends_path(story.world.ledgers, "shop-west", life).rename(story.world.ledgers / "hidden")
    found = story.judged()
    assert (found.verdict, found.reasons) == ("unknown", (f"shop-west: no ledger life-{life}.csv",))


def test_of_a_site_that_stays_away_only_what_its_plan_may_have_lost_is_excused(story: Story) -> None:
    """The tenth record is of its loss; what was written once it had returned is not."""
    for record in (FIRST[9], *HOME):
        _drop("east", "west.orders", record)(story)
    at_east = "west.orders at east: 5 records acknowledged, missing at the end (shop-west 15 of life 3"
    assert at_east in story.said()


def test_a_place_that_was_not_looked_at_leaves_the_verdict_open(story: Story) -> None:
    """A whole cluster, or a copy of it: nobody knows what is there; it is not valid for want of a look."""
    logs = dict(story.world.logs)
    for cluster, topic in (("east", "west.orders"), ("west", "east.orders"), ("east", "orders")):
        story.world.logs = {
            **logs,
            cluster: {tp: of for tp, of in logs[cluster].items() if tp.topic != topic},
        }
        assert story.judged().verdict != "valid"
        assert f"{topic} at {cluster}: the log of" in story.said()
    story.world.logs = {name: of for name, of in logs.items() if name != "east"}
    assert "orders at east: the log of orders of east there was not read" in story.said()


def test_what_a_killed_worker_copies_again_is_told_from_what_stands_twice_otherwise(story: Story) -> None:
    """Behind the records of before and before those of after the return, and no more than it may be."""
    log, at = story.world.logs["west"], TopicPartition("east.orders", 0)
    before, again = EAST_LOG[:11], EAST_LOG[9:11]
    log[at] = list(enumerate([*before, *again, *EAST_LOG[11:]]))
    story.at_work = {"west": {at: 20}}
    assert "east.orders at west" not in story.said()
    (replay,) = story.judged().measured.replays
    assert (replay.explained, replay.unexplained) == (2, ())
    story.at_work = {"west": {at: 11}}
    assert "east.orders at west: 2 records there more than once" in story.said()
    story.at_work = {"west": {at: 22}}
    log[at] = list(enumerate([*before, *EAST_LOG[:11], *EAST_LOG[11:]]))
    assert "11 records were copied again by workers that were killed" in story.said()


def test_where_nothing_moves_each_reads_everything_once_after_the_return(returned: Story) -> None:
    """Who has nothing to read meanwhile works on all the same; who wrote there waits."""
    found = returned.judged()
    assert (found.verdict, found.reasons) == ("valid", ())
    fates = {fate.name: (fate.stated, fate.happened) for fate in found.measured.fates}
    assert fates["shop-dc1"] == ("waits", "waits")
    assert {fates[name] for name in ("shop-dc2", "reporting", "audit")} == {("works on", "works on")}


def test_who_does_not_do_what_explain_says_is_named(returned: Story) -> None:
    """One that wrote while it was to wait, and one that stood still while it was to work on."""
    returned.world.sent("shop-dc1", 1, range(30, 32), at_s=20, first=30)
    without(sends_path(returned.world.ledgers, "shop-dc2", 1), ",20000,")
    said = returned.said()
    assert "loss of dc1: shop-dc1 of dc1 works on, and dcctl explain FILE says that it waits" in said
    lines = sends_path(returned.world.ledgers, "shop-dc2", 1)
    kept = [line for line in lines.read_text().splitlines(keepends=True) if not 12 <= _second(line) < 31]
    lines.write_text("".join(kept))
    assert (
        "loss of dc1: shop-dc2 of dc2 waits, and dcctl explain FILE says that it works on" in returned.said()
    )


def test_who_works_on_is_out_of_service_for_no_more_than_the_limit(returned: Story) -> None:
    """One success does not show that it works on: neither in the middle, nor up to the end, is a gap allowed."""
    lines = sends_path(returned.world.ledgers, "shop-dc2", 1)
    every = lines.read_text().splitlines(keepends=True)

    def said_without(first: int, until: int) -> str:
        lines.write_text("".join(line for line in every if not first <= _second(line) < until))
        return returned.said()

    told = "loss of dc1: shop-dc2 of dc2 works on, and got nothing done for 11.0 s (limit 10 s)"
    assert told in said_without(20, 30)
    assert "got nothing done" not in said_without(21, 30)
    assert told in said_without(35, 100)


@pytest.mark.parametrize(("stated_s", "limit_s"), [(None, "10"), (8.0, "10"), (10.5, "10.5"), (12.0, "")])
def test_who_shares_a_group_pauses_as_long_as_the_plan_says(
    story: Story, stated_s: float | None, limit_s: str
) -> None:
    """A member that stays at the place that is entered stands while positions are written."""
    path = processed_path(story.world.ledgers, "packing-east", 1)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], *(one for one in lines[1:] if not 20_000 <= _read_ms(one) < 31_000)]))
    if stated_s is not None:
        story.results[0]["plan"]["facts"]["pauses"] = [{"consumer": "packing-east", "expected_s": stated_s}]
    said = f"packing-east of east works on, and got nothing done for 12.0 s (limit {limit_s} s)"
    assert (said in story.said()) == bool(limit_s)
    assert ("got nothing done" in story.said()) == bool(limit_s)


def _read_ms(line: str) -> int:
    return int(line.split(",")[6])


def _second(line: str) -> int:
    fields = line.split(",")
    return int(fields[6]) // 1000 if fields[0] == "ack" else -1


def test_what_was_not_committed_before_a_kill_comes_again_and_nothing_else_may(returned: Story) -> None:
    """A consumer of a centre that returns goes on at its last commit."""
    world = returned.world
    returned.losses = [replace(returned.losses[0], cluster="centre")]
    world.read("reporting", 1, "dc2.orders", world_records(5, 8), 5, at_s=33)
    with LedgerWriter(positions_path(world.ledgers, "reporting", 1), POSITIONS_COLUMNS) as ledger:
        ledger.add("commit", "dc2.orders", 0, 5, 9_000, None)
    found = returned.judged()
    assert not [reason for reason in found.reasons if "again" in reason]
    assert len(found.measured.uncommitted["reporting"]) == 3
    with LedgerWriter(positions_path(world.ledgers, "reporting", 1), POSITIONS_COLUMNS) as ledger:
        ledger.add("commit", "dc2.orders", 0, 7, 10_000, None)
    assert "reporting, orders of dc2: 2 records processed again" in returned.said()


def test_what_was_not_committed_and_was_copied_again_is_one_record_all_the_same(returned: Story) -> None:
    """The last records before a kill of the centre: read, read again, and read where a worker copied them again."""
    world, at = returned.world, TopicPartition("dc2.orders", 0)
    returned.losses = [replace(returned.losses[0], cluster="centre")]
    log = world.logs["centre"][at]
    first, rest = [record for _, record in log[:10]], [record for _, record in log[10:]]
    log[:] = list(enumerate([*first, *first[8:], *rest]))
    returned.at_work = {"centre": {at: 40}}
    world.read("reporting", 1, "dc2.orders", first[8:], 8, at_s=32)
    world.read("reporting", 1, "dc2.orders", first[8:], 10, at_s=33)
    said = returned.said()
    assert "again" not in said
    assert "two places" not in said
    log[:] = list(enumerate([*first, *rest]))
    assert "reporting, orders of dc2: 2 records processed again" in returned.said()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: path.unlink(), "no ledger life-1.positions.csv"),
        (lambda path: path.write_text("a\nb\nc\nd\n"), "its ledger life-1.positions.csv cannot be read: more lines"),
        (lambda path: path.write_text(""), "its ledger life-1.positions.csv cannot be read: it has no whole line"),
        (lambda path: path.write_text("event,topic\nstart"), "its ledger life-1.positions.csv cannot be read: it has no"),
    ],
)  # fmt: skip
def test_without_its_commits_a_consumer_is_not_excused(
    returned: Story, damage: Callable[[Path], object], said: str
) -> None:
    """Whether what it processed again had been committed is then not known, and nor is anything else of it."""
    returned.losses = [replace(returned.losses[0], cluster="centre")]
    returned.world.read("reporting", 1, "dc2.orders", world_records(0, 8), 0, at_s=33)
    damage(positions_path(returned.world.ledgers, "reporting", 1))
    found = returned.judged()
    assert [reason for reason in found.reasons if reason.startswith(f"reporting: {said}")]
    assert not [reason for reason in found.reasons if "reporting, orders" in reason]


def world_records(first: int, until: int) -> list[RecordId]:
    return records("shop-dc2", 1, range(first, until))
