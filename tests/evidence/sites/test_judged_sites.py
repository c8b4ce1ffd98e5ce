"""A rehearsal of a stretched cluster is valid only where all is as it was stated, and as before in the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import AuditError
from orchestrator.evidence.audit.ledgers import POSITIONS_COLUMNS, positions_path, processed_path, sends_path
from orchestrator.evidence.clients.ledger import LedgerWriter
from orchestrator.evidence.origins import read_ledgers
from orchestrator.evidence.sites.judged import SiteGone, SitesJudged, SitesRehearsed, judge_sites
from orchestrator.evidence.sites.kept import keep_sites, sites_judged_again
from orchestrator.topology.durability.analysis import explain_topology
from orchestrator.topology.durability.losses import loss_of
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition
from tests.drill.rehearsal import ROOT
from tests.evidence.origins.worlds import World, records

STEPS = ("fence-site", "await-leaders")
AT = TopicPartition("orders", 0)


def one_partition() -> Topology:
    """Of the example: one producer at dc1, one consumer, one partition."""
    topology = load_topology(ROOT / "topologies" / "stretched-2dc-kraft.yaml")
    orders = replace(topology.topics[0], partitions=1)
    return replace(
        topology, topics=(orders,), producers=topology.producers[:1], consumers=topology.consumers[:1]
    )


@dataclass
class Story:
    """dc1 is lost at 20.5 s; the command is given at 35 s, and all is as before at 60 s."""

    world: World
    gone: list[SiteGone]
    differences: tuple[str, ...] = ()
    results: list[dict[str, Any]] = field(default_factory=list)
    is_drained: bool = True
    stands_still: bool | None = True

    def rehearsed(self) -> SitesRehearsed:
        topology = self.world.topology
        found = explain_topology(topology, [loss_of(topology, [site]) for site in ("dc1", "dc2")])
        return SitesRehearsed(
            topology=topology,
            cluster="main",
            fates={loss.lost[0]: loss.clusters["main"] for loss in found.losses},
            gone=tuple(self.gone),
            results=tuple(self.results),
            work_ended_s=80.0,
            differences=self.differences,
            is_drained=self.is_drained,
            stands_still=self.stands_still,
        )

    def judged(self) -> SitesJudged:
        return judge_sites(
            self.rehearsed(), read_ledgers(self.world.topology, self.world.ledgers), self.world.logs
        )


@pytest.fixture
def story(tmp_path: Path) -> Story:
    """Two records had been processed and not committed when the site was lost; they come again."""
    world = World(one_partition(), tmp_path / "ledgers")
    first, second, third = (
        records("checkout", life, numbers)
        for life, numbers in ((1, range(20)), (2, range(10)), (3, range(10)))
    )
    world.sent("checkout", 1, range(20), at_s=1)
    world.sent("checkout", 2, range(10), at_s=40, first=20)
    world.sent("checkout", 3, range(10), at_s=62, first=30)
    world.stands("main", "orders", [*first, *second, *third])
    world.read("billing", 1, "orders", first, at_s=1)
    world.read("billing", 2, "orders", [*first[18:], *second], 18, at_s=41)
    world.read("billing", 3, "orders", third, 30, at_s=63)
    gone = SiteGone(
        site="dc1",
        is_lost=True,
        at_s=20.5,
        is_verified=True,
        settled_s=30.0,
        commanded_s=35.0,
        ended_s=39.0,
        restored_s=60.0,
        changes_metadata=False,
        steps=STEPS,
        foreseen=STEPS,
        placed={"producer-checkout": "dc2", "consumer-billing": "dc2"},
    )
    run = {"run_id": "1", "outcome": "ok", "reason": "", "predicted": {"loss": {}}}
    return Story(world, [gone], results=[run])


def test_all_as_stated_is_valid(story: Story) -> None:
    """Who writes was lost with the site: of writes before the command nothing could be seen, and is said."""
    found = story.judged()
    assert (found.verdict, found.reasons) == ("valid", ())
    told = {one.subject: (one.stated, one.happened) for one in found.measured.statements}
    assert told == {
        "control plane": ("stands still", "stands still"),
        "writes to orders": ("stands still", None),
        "failover": ("done", "done"),
        "steps of failover": ("fence-site, await-leaders",) * 2,
    }
    assert len(found.measured.uncommitted["billing"]) == 2
    (producer, consumer) = found.measured.clients
    assert found.measured.pauses(producer) == [19.501]
    assert found.measured.pauses(consumer) == [20.502]


def test_who_read_on_without_its_coordinator_reads_that_again_once_it_is_in_its_group(story: Story) -> None:
    """The site had the coordinator alone: nothing read meanwhile could be committed. What was is not explained."""
    world = story.world
    story.gone[0] = replace(story.gone[0], placed={"producer-checkout": "dc2"})
    for life in (1, 2, 3):
        processed_path(world.ledgers, "billing", life).unlink()
        positions_path(world.ledgers, "billing", life).unlink()
    every = [
        *records("checkout", 1, range(20)),
        *records("checkout", 2, range(10)),
        *records("checkout", 3, range(10)),
    ]
    world.read("billing", 1, "orders", every[:16], at_s=1)
    world.read("billing", 1, "orders", every[16:20], 16, at_s=22)
    world.read("billing", 1, "orders", every[15:20], 15, at_s=27)
    world.read("billing", 1, "orders", every[20:30], 20, at_s=41)
    world.read("billing", 1, "orders", every[30:], 30, at_s=63)
    with LedgerWriter(positions_path(world.ledgers, "billing", 1), POSITIONS_COLUMNS) as ledger:
        ledger.add("commit", "orders", 0, 15, 26_900, None)
        ledger.add("assigned", "orders", 0, 15, 26_950, None)
    found = story.judged()
    assert (found.verdict, found.reasons) == ("valid", ())
    with LedgerWriter(positions_path(world.ledgers, "billing", 1), POSITIONS_COLUMNS) as ledger:
        ledger.add("commit", "orders", 0, 17, 26_940, None)
    assert any("records processed again" in reason for reason in story.judged().reasons)


def _log(story: Story) -> list[Any]:
    return story.world.logs["main"][AT]


def _drop(story: Story) -> None:
    del _log(story)[19]


def _given_away(story: Story) -> None:
    """The next leader has given the offset of the last record before the loss to another one."""
    log = _log(story)
    del log[19]
    log[19:] = [(offset - 1, record) for offset, record in log[19:]]


def _unprocessed(story: Story) -> None:
    for life in (1, 2):
        path = processed_path(story.world.ledgers, "billing", life)
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if ",checkout,19," not in line))


@pytest.mark.parametrize(
    ("acks", "seconds_before", "lose", "may_be_missing"),
    [
        ("1", 19.5, (_given_away, _unprocessed), True),
        ("1", 60.0, (_given_away, _unprocessed), False),
        ("all", 19.5, (_given_away, _unprocessed), False),
        ("1", 19.5, (_drop, _unprocessed), False),
        ("1", 19.5, (_given_away,), False),
    ],
    ids=["at the change of leader", "long before", "acks=all", "a hole", "processed"],
)
def test_what_only_a_leader_had_may_be_missing_where_its_producer_asked_for_no_more(
    story: Story,
    acks: str,
    seconds_before: float,
    lose: Sequence[Callable[[Story], object]],
    may_be_missing: bool,
) -> None:
    """Nobody can have read it, and its place is another record's now."""
    for step in lose:
        step(story)
    producers = (replace(story.world.topology.producers[0], acks=acks),)
    story.world.topology = replace(story.world.topology, producers=producers)
    found = story.judged()
    record = next(one for one in found.measured.told.acked if (one.sequence, one.life) == (19, 1))
    acked_s = found.measured.told.acked[record].at_ms / 1000
    story.gone[0] = replace(story.gone[0], at_s=acked_s + seconds_before, restored_s=acked_s + 200.0)
    judged = story.judged()
    assert judged.measured.missing("orders") == (record,)
    is_said = any("acknowledged, and missing" in reason for reason in judged.reasons)
    assert is_said is not may_be_missing


def test_who_waits_for_the_site_elsewhere_need_not_have_worked_there(story: Story) -> None:
    """It was started there, and stopped before its topic could be written."""
    story.gone[0] = replace(story.gone[0], waiting=("orders",))
    path = sends_path(story.world.ledgers, "checkout", 2)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("ack,")))
    reasons = story.judged().reasons
    assert not [reason for reason in reasons if "lives" in reason]
    story.gone[0] = replace(story.gone[0], waiting=())
    assert [reason for reason in story.judged().reasons if "lives" in reason]


def _gone(**changed: object) -> Callable[[Story], object]:
    return lambda story: story.gone.__setitem__(0, replace(story.gone[0], **changed))  # type: ignore[arg-type]


def _twice(story: Story) -> None:
    _log(story).append((40, _log(story)[19][1]))


def _skipped(story: Story) -> None:
    path = processed_path(story.world.ledgers, "billing", 2)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if ",checkout,5," not in line))


def _again(story: Story) -> None:
    story.world.read("billing", 3, "orders", records("checkout", 2, range(2)), 20, at_s=75)


def _never_home(story: Story) -> None:
    sends_path(story.world.ledgers, "checkout", 3).unlink()


def _at_both(story: Story) -> None:
    story.world.sent("checkout", 3, range(10, 12), at_s=45, first=40)
    story.world.stands("main", "orders", records("checkout", 3, range(10, 12)))
    story.world.read("billing", 3, "orders", records("checkout", 3, range(10, 12)), 40, at_s=75)


def _set(name: str, value: object) -> Callable[[Story], object]:
    return lambda story: setattr(story, name, value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_drop, "invalid: orders: 1 records acknowledged, and missing (checkout 19 of life 1)"),
        (_twice, "invalid: orders: 1 records there more than once"),
        (_skipped, "invalid: billing, orders: 1 records skipped (checkout 5 of life 2)"),
        (_again, "invalid: billing, orders: 2 records processed again (checkout 0 of life 2"),
        (_gone(changes_metadata=True), "invalid: loss of dc1, control plane: stated: stands still; happened: goes on"),
        (_gone(steps=("fence-site",)), "invalid: loss of dc1, steps of failover: stated: fence-site, await-leaders; happened: fence-site"),
        (_gone(refused="a gate"), "invalid: loss of dc1, failover: stated: done; happened: refused"),
        (_never_home, "invalid: checkout: went elsewhere 1 times by the plans, and home, and worked in lives [1, 2]"),
        (_at_both, "invalid: checkout: worked at two sites at once (life 3)"),
        (_gone(placed={}), "invalid: checkout: went elsewhere 0 times by the plans, and home, and worked in lives [1, 2, 3]"),
        (_gone(restored_s=39.5), "invalid: checkout: got nothing done between the command and the return of dc1"),
        (_gone(is_verified=False), "unknown: it was not verified that the fault took effect"),
        (_set("differences", ("settings of orders: …",)), "invalid: not as before: settings of orders: …"),
        (_set("is_drained", False), "unknown: the consumers had not read to the end"),
        (_set("stands_still", False), "invalid: logs grew after all producers had ended"),
        (_set("stands_still", None), "unknown: it was not seen whether logs stood still"),
        (lambda s: s.results[0].update(outcome="unknown", reason="late"), "unknown: 1: it ended unknown: late"),
        (lambda s: s.world.logs.clear(), "unknown: orders: its log was not read, or is empty"),
        (lambda s: sends_path(s.world.ledgers, "checkout", 2).rename(s.world.ledgers / "hidden"), "unknown: checkout: no ledger life-2.csv"),
    ],
)  # fmt: skip
def test_whatever_is_otherwise_is_named(story: Story, change: Callable[[Story], object], said: str) -> None:
    """With the verdict that it forbids."""
    change(story)
    found = story.judged()
    verdict, _, words = said.rpartition(": ") if said.startswith("never") else said.partition(": ")
    assert any(words in reason for reason in found.reasons), found.reasons
    assert found.verdict == verdict if verdict == "invalid" else found.verdict != "valid"


def test_an_acknowledgement_without_a_place_counts_all_the_same(story: Story) -> None:
    """A broker that has had the record already, from an earlier try, does not say where it stands."""
    path = sends_path(story.world.ledgers, "checkout", 1)
    text = path.read_text()
    assert ",orders,0,5," in text
    path.write_text(text.replace(",orders,0,5,", ",orders,0,None,"))
    assert (story.judged().verdict, story.judged().reasons) == ("valid", ())
    del _log(story)[5]
    assert "orders: 1 records acknowledged, and missing (checkout 5 of life 1)" in story.judged().reasons


def test_what_a_survivor_writes_before_the_command_is_held_against_what_was_stated(story: Story) -> None:
    """At the loss of the other site the producer is there: its topic was to stand still, and was written."""
    story.gone[0] = replace(story.gone[0], site="dc2")
    assert _writes(story) == ("stands still", "stands still")
    story.gone[0] = replace(story.gone[0], settled_s=39.0, commanded_s=45.0)
    assert _writes(story) == ("stands still", "goes on")
    assert any("loss of dc2, writes to orders" in reason for reason in story.judged().reasons)


def _writes(story: Story) -> tuple[str, str | None]:
    found = {one.subject: one for one in story.judged().measured.statements}["writes to orders"]
    return found.stated, found.happened


def test_who_is_not_seen_again_is_named(story: Story) -> None:
    """And who waits for the site is waited for until it is back."""
    for life in (2, 3):
        sends_path(story.world.ledgers, "checkout", life).unlink()
    assert "checkout: not seen again after dc1 was lost or left" in story.judged().reasons


def test_the_same_comes_out_of_what_is_kept(story: Story, tmp_path: Path) -> None:
    """And nothing where it was changed."""
    keep_sites(tmp_path, story.rehearsed(), story.world.logs)
    again = sites_judged_again(tmp_path, story.world.topology)
    assert (again.verdict, again.measured) == ("valid", story.judged().measured)
    (tmp_path / "kept" / "sites.json").write_text("{}")
    with pytest.raises(AuditError, match="cannot be read"):
        sites_judged_again(tmp_path, story.world.topology)
