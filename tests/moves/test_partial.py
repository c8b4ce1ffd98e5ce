"""Leaving a sick site, step by step: what changes between two looks, and what nobody can see any more."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.applications.spark.ports import CopiedCheckpoint, QueryCheckpoints
from orchestrator.errors import ClusterError, PlaybookError
from orchestrator.mirrors.mirrormaker2.formats import OffsetSync, encode_offset_sync
from orchestrator.mirrors.mirrormaker2.offset_syncs import OffsetSyncs
from orchestrator.moves.ports import FinalMap, Maps, PartialClusters, Seen
from orchestrator.moves.results import MirrorEnd, PartlyStanding, RulesHeard, Stopped
from orchestrator.ports.servers import Record
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.runs.engine import StepOutcome
from orchestrator.runs.plan import Plan
from orchestrator.snapshot.clients import ClientHost
from orchestrator.snapshot.partial_view import PartialPartition, PartialView
from orchestrator.snapshot.samples import CheckpointCopy, Round, SampleHistory
from orchestrator.topology.model import Failover, MaxLoss
from orchestrator.values import LogEnd, LogReach, TopicPartition
from orchestrator.verbs.plans import plan_failover
from tests.verbs.degraded_pictures import FILE, NO_CONTROLLER, PARTITIONS, REQUEST, left, picture
from tests.verbs.pictures import (
    GROUPS,
    LOST_AT_S,
    MIRROR,
    MIRRORED,
    NOW_S,
    history,
    host,
    of,
    offset_map,
    part,
    with_parts,
)
from tests.verbs.some_moves import WithPorts, a_session, performed, undone
from tests.verbs.some_servers import Hosts, PassingClock, SomeServers

FIRST = PARTITIONS[0]
AWAY = dict.fromkeys(PARTITIONS, "its leader, broker 3, does not answer")


def ends_at(end: int) -> dict[TopicPartition, LogEnd]:
    return dict.fromkeys(PARTITIONS, LogEnd(0, end))


class Site:
    """What the source says, look by look; the last look stays. It is asked in place of a real cluster."""

    def __init__(self, *looks: Mapping[TopicPartition, LogEnd]) -> None:
        self._looks: list[Mapping[TopicPartition, LogEnd]] = list(looks)
        self._seen: Mapping[TopicPartition, LogEnd] = {}
        self.beyond: dict[TopicPartition, int] = {}
        self.endless: set[TopicPartition] = set()
        self.silent: dict[str, str] = {}
        self.positions: Mapping[str, Any] = {}
        self.brokers = {1: "west:1", 2: "west:2"}

    def left(self, _cluster: str, _timeout_s: float | None = None) -> Site:
        return self

    def __enter__(self) -> Site:
        return self

    def __exit__(self, *_: object) -> None: ...

    def ask_brokers(self) -> dict[int, str]:
        return self.brokers

    def partitions(
        self,
        wanted: Iterable[TopicPartition],
        *,
        anew: bool = False,  # noqa: ARG002
    ) -> dict[TopicPartition, PartialPartition]:
        """One look."""
        look = self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]
        self._seen = look
        return {
            tp: PartialPartition(1, 2, look[tp]) if tp in look else PartialPartition(3, 1, None, AWAY[tp])
            for tp in wanted
        }

    def reaches(self, wanted: Iterable[TopicPartition]) -> dict[TopicPartition, LogReach | ClusterError]:
        """As the last look; of some partitions more, or nothing at all."""
        silent = ClusterError("cluster west", "no answer")
        found: dict[TopicPartition, LogReach | ClusterError] = {}
        for tp in wanted:
            end = self._seen[tp].end_offset
            found[tp] = silent if tp in self.endless else LogReach(end, end + self.beyond.get(tp, 0))
        return found

    def committed(self, groups: Iterable[str]) -> dict[str, Any]:
        """Coordinators that say something are in `positions`."""
        silent = ClusterError("group coordinator", "no answer")
        return {group: self.positions.get(group, silent) for group in groups}


class West:
    """Every range of offsets holds a record."""

    name = "west"

    def read_records(
        self, ranges: Mapping[TopicPartition, tuple[int, int]], **_: object
    ) -> Iterator[list[Record]]:
        yield [Record(tp.topic, tp.partition, first, 1, None, b"") for tp, (first, _) in ranges.items()]


class East:
    """Nobody asks it anything."""

    name = "east"


class Workers:
    """The mirror is configured as it comes."""

    def configuration(self, _connector: str) -> dict[str, str]:
        return {}


class SeenAnew:
    """What the run has seen, and what the watcher has recorded since."""

    def __init__(self, seen: Any, history: SampleHistory) -> None:
        self._seen, self._history = seen, history

    def __getattr__(self, name: str) -> Any:
        return getattr(self._seen, name)

    def samples_now(self, _mirror: object) -> SampleHistory:
        return self._history


class Final:
    """The map of the mirror that stands."""

    def __init__(self, offset_map: OffsetMap, logs: Mapping[TopicPartition, LogEnd]) -> None:
        self._found = FinalMap(offset_map, logs)

    def final(self, *_: object) -> FinalMap:
        return self._found


class Unreadable:
    """No checkpoint can be copied."""

    def bring_over(self, *_: object, **__: object) -> CopiedCheckpoint:
        return CopiedCheckpoint(is_whole=False, message="cannot be copied")


def no_hosts(*_: object, **__: object) -> frozenset[str]:
    raise NotImplementedError


class Left:
    """A run that leaves a sick site, at the step that is looked at. Waiting takes no time."""

    def __init__(
        self,
        folder: Path,
        site: Site,
        *,
        seen: PartialView | None = None,
        is_fenced: bool = True,
        accept_loss: int | None = None,
        history: SampleHistory | None = None,
        max_loss: MaxLoss | None = None,
        playbooks: Any = no_hosts,
        inventory: Sequence[ClientHost] | None = None,
        now_s: float = NOW_S,
    ) -> None:
        found = seen or left()
        if not is_fenced:
            found = replace(found, controller=NO_CONTROLLER)
        request = replace(REQUEST, accept_unfenced=not is_fenced, accept_loss=accept_loss)
        file = FILE if max_loss is None else replace(FILE, failover=Failover(max_loss=max_loss))
        self.plan: Plan = plan_failover(file, picture(found), request)
        observation = picture()
        if history is not None:
            observation = with_parts(observation, samples=part(history))
        if inventory is not None:
            observation = replace(observation, inventory=part(tuple(inventory)))
        servers = SomeServers(
            clusters={"west": West(), "east": East()},
            workers={"east": Workers()},
            playbooks=Hosts(playbooks),
            clock=PassingClock(now_s),
        )
        self.session = a_session(folder, servers, FILE, observation)
        self._ports: dict[type[Any], Any] = {PartialClusters: site, QueryCheckpoints: Unreadable()}
        if history is not None:
            self._ports[Seen] = SeenAnew(self.session.port(Seen), history)
        self._is_fenced = is_fenced

    def performed(self, step: str, **results: Any) -> StepOutcome:
        """What one step comes to; every rule is heard of wherever anybody answers."""
        before = {
            "stop-left": Stopped(clients=()),
            "deny": RulesHeard(heard=(1, 2, 3), silent=()),
            **results,
        }
        return performed(WithPorts(self.session, self._ports), self.plan.step(step), before)

    def standing(self) -> StepOutcome:
        """What `stands-still` comes to."""
        return self.performed("stands-still")

    def stop_left_undone(self) -> StepOutcome:
        """The applications of the site are started again."""
        return undone(self.session, self.plan.step("stop-left"))

    def account(
        self,
        *,
        read: int = MIRRORED,
        stood_at: int = MIRRORED,
        copies: OffsetMap | None = None,
        logs: Mapping[TopicPartition, LogEnd] | None = None,
        unread: Sequence[TopicPartition] = (),
        ended_at: int | None = None,
    ) -> StepOutcome:
        """What `account-loss` comes to, the mirror having read up to `read`.

        `ended_at` is where the logs ended when they stood still; None where nobody told.
        """
        there = dict.fromkeys((MIRROR.mirrored(tp) for tp in PARTITIONS), LogEnd(0, read))
        self._ports[Maps] = Final(copies or offset_map(), {**there, **(logs or {})})
        stood = [tp for tp in PARTITIONS if tp not in unread]
        results = {
            "record-mirrored-ends": MirrorEnd(ends={}, mirror_offsets=dict.fromkeys(PARTITIONS, read - 1)),
            "stands-still": PartlyStanding(
                ends=dict.fromkeys(stood, stood_at),
                starts=dict.fromkeys(stood, 0),
                log_ends={} if ended_at is None else dict.fromkeys(stood, ended_at),
                unread={str(tp): AWAY[tp] for tp in unread},
                silent=(),
                is_fenced=self._is_fenced,
            ),
        }
        return self.performed("account-loss", **results)


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Makes a run that meets a site."""
    return lambda site, **how: Left(tmp_path, site, **how)


def test_what_is_not_fenced_and_written_on_is_not_left(run: Any) -> None:
    """A person has said that nobody writes; somebody does."""
    found = run(Site(ends_at(MIRRORED + 7)), is_fenced=False).account()
    assert found.outcome == "failed"
    assert f"{FIRST} (7 records so far)" in found.message
    assert run(Site(ends_at(MIRRORED)), is_fenced=False).account().outcome == "ok"


@pytest.mark.parametrize("is_fenced", [True, False])
def test_where_no_log_is_read_nothing_is_known_to_stand_still(run: Any, is_fenced: bool) -> None:
    """All of nothing is no standstill."""
    found = run(Site({}), is_fenced=is_fenced).standing()
    assert found.outcome == "unknown"
    said = "could be read when the plan was made" if is_fenced else "no log can be read"
    assert said in found.message
    assert str(FIRST) in found.message


def test_who_is_silent_for_a_moment_is_waited_for_whether_fenced_or_not(run: Any) -> None:
    """The first looks find nobody."""
    for is_fenced in (True, False):
        found = run(Site({}, ends_at(5)), is_fenced=is_fenced).standing()
        assert (found.outcome, found.result["unread"]) == ("ok", {})


def test_that_nothing_can_be_read_may_be_known_beforehand_only_where_it_is_fenced(run: Any) -> None:
    """Whoever writes to what nobody sees is denied at least."""
    nothing = left(unread=AWAY)
    assert run(Site({}), seen=nothing).standing().outcome == "ok"
    assert run(Site({}), seen=nothing, is_fenced=False).standing().outcome == "unknown"


def test_a_host_that_nobody_reaches_keeps_no_run_from_being_taken_back(run: Any) -> None:
    """Stopping forgives it, so must starting again; whoever was not started is named."""

    def unreachable(*_: object, **__: object) -> frozenset[str]:
        raise PlaybookError("playbook start-clients.yml", "app-2, task “Start”: no route to host")

    taken_back = run(Site({}), playbooks=unreachable)
    found = taken_back.stop_left_undone()
    assert found.outcome == "ok"
    assert "app-2" in found.message
    taken_back.session.cancel()
    assert taken_back.stop_left_undone().outcome == "failed"


def test_what_no_host_has_started_is_named(run: Any) -> None:
    """The hosts that answer do not have it; those that are well say so."""
    hosts = (host("app-1", "west"), host("app-2", "west", clients=["producer-checkout"]))
    taken_back = run(Site({}), playbooks=lambda *_, **__: frozenset({"app-2"}), inventory=hosts)
    found = taken_back.stop_left_undone()
    assert found.outcome == "ok"
    (named,) = re.findall("no host has started ([^;]*)", found.message)
    assert "consumer-billing" in named
    assert "producer-checkout" not in named


def lost(found: StepOutcome, tp: TopicPartition = FIRST) -> tuple[int | None, str]:
    row = found.result["loss"][tp.topic][str(tp.partition)]
    return row["lost"], row["reason"]


def began_at(first: int) -> OffsetMap:
    """A copy that holds nothing below a source offset, for every partition."""
    builder = OffsetSyncs(gaps=dict.fromkeys(PARTITIONS, "no"))
    for tp in PARTITIONS:
        for upstream in (first, MIRRORED - 1):
            key, value = encode_offset_sync(OffsetSync(tp, upstream, upstream - first))
            builder.add_syncs([key], [value])
    return builder.build()


def test_what_the_mirror_has_passed_and_the_target_does_not_have_is_lost(run: Any) -> None:
    """The copies were deleted and made anew at source offset 5,000; one has had nothing since."""
    site = Site(ends_at(MIRRORED))
    found = run(site, accept_loss=10**9).account(copies=began_at(5_000))
    assert found.outcome == "ok"
    assert {row["lost"] for rows in found.result["loss"].values() for row in rows.values()} == {5_000}
    assert "docs/copies.md" in found.message
    empty = {MIRROR.mirrored(FIRST): LogEnd(0, 0)}
    found = run(site, accept_loss=10**9).account(logs=empty, stood_at=MIRRORED)
    assert lost(found) == (MIRRORED, "")
    assert lost(found, PARTITIONS[1]) == (0, "")
    assert "docs/copies.md" not in run(site).account().message


def test_more_than_is_allowed_is_taken_back_whoever_has_passed_it(run: Any) -> None:
    """Before the first client is started at the target."""
    found = run(Site(ends_at(MIRRORED)), accept_loss=4_999).account(copies=began_at(5_000))
    assert found.outcome == "failed"
    assert "only 4,999 may be lost" in found.message


def test_what_a_fenced_log_lets_through_late_is_counted_as_unknown(run: Any) -> None:
    """Requests that waited for a follower that is gone by now; beyond what is allowed, all is taken back."""
    moved = {**ends_at(MIRRORED), FIRST: LogEnd(0, MIRRORED + 3)}
    found = run(Site(moved), accept_loss=3).account()
    assert found.outcome == "ok"
    assert lost(found)[0] is None
    assert "3 records became readable after the log had stood still" in lost(found)[1]
    assert lost(found, PARTITIONS[1]) == (0, "")
    assert run(Site(moved), accept_loss=2).account().outcome == "failed"


def test_what_nobody_can_read_yet_is_unknown_and_never_nothing(run: Any) -> None:
    """A replica in sync hangs: it is waited for, then named, counted against the limit, and not called 0."""
    site = Site(ends_at(MIRRORED))
    site.beyond = {FIRST: 500}
    stood = run(site).standing()
    assert (stood.outcome, stood.result["ends"]["orders"]["0"]) == ("ok", MIRRORED)
    assert stood.result["log_ends"]["orders"]["0"] == MIRRORED + 500
    assert f"records above the high watermark: {FIRST} 500" in stood.message
    found = run(site, accept_loss=500).account(ended_at=MIRRORED)
    assert found.outcome == "ok"
    assert lost(found)[0] is None
    assert "its leader holds 500 more records" in lost(found)[1]
    assert "may still be acknowledged" in lost(found)[1]
    assert lost(found, PARTITIONS[1]) == (0, "")
    assert run(site, accept_loss=499).account().outcome == "failed"


def test_a_log_whose_end_nobody_tells_is_unknown_and_within_no_number(run: Any) -> None:
    """Nor does it stand still for sure where nobody is kept from writing."""
    seconds = MaxLoss(seconds=3_600)
    site = Site(ends_at(MIRRORED))
    site.endless = {FIRST}
    stood = run(site).standing()
    assert stood.outcome == "ok"
    assert "0" not in stood.result["log_ends"]["orders"]
    found = run(site, max_loss=seconds).account()
    assert (found.outcome, lost(found)[0]) == ("ok", None)
    assert "its log end offset is unknown (no answer)" in lost(found)[1]
    assert lost(found, PARTITIONS[1]) == (0, "")
    assert run(site, accept_loss=10**9).account().outcome == "unknown"
    assert run(site, max_loss=seconds, is_fenced=False).account().outcome == "unknown"


def test_what_was_there_when_it_stood_still_is_counted_once_it_can_be_read(run: Any) -> None:
    """Nothing more can come: the number is known, and within what is allowed or not."""
    moved = {**ends_at(MIRRORED), FIRST: LogEnd(0, MIRRORED + 3)}
    site = Site(moved)
    found = run(site, accept_loss=3).account(ended_at=MIRRORED + 3)
    assert found.outcome == "ok"
    assert lost(found) == (3, "")
    assert run(site, accept_loss=2).account(ended_at=MIRRORED + 3).outcome == "failed"
    assert run(site, is_fenced=False, accept_loss=3).account(ended_at=MIRRORED + 3).outcome == "ok"


def test_who_writes_where_nobody_can_read_it_has_written_on(run: Any) -> None:
    """Nobody is kept from it, and the end that can be read stands still."""
    site = Site(ends_at(MIRRORED))
    site.beyond = {FIRST: 7}
    found = run(site, is_fenced=False, accept_loss=10**9).account(ended_at=MIRRORED)
    assert found.outcome == "failed"
    assert f"{FIRST} (7 records so far)" in found.message


def test_a_log_that_is_not_seen_again_is_not_within_a_number(run: Any) -> None:
    """It may have another leader in a moment; without a number it is named."""
    gone = {tp: log for tp, log in ends_at(MIRRORED).items() if tp != FIRST}
    found = run(Site(gone), accept_loss=0).account()
    assert found.outcome == "unknown"
    assert str(FIRST) in found.message
    assert run(Site(gone, ends_at(MIRRORED)), accept_loss=0).account().outcome == "ok"


def test_without_a_number_a_log_that_is_not_seen_again_is_named_if_it_is_fenced(run: Any) -> None:
    """Where nobody is kept from writing, somebody may be writing."""
    gone = {tp: log for tp, log in ends_at(MIRRORED).items() if tp != FIRST}
    seconds = MaxLoss(seconds=3_600)
    found = run(Site(gone), max_loss=seconds).account()
    assert found.outcome == "ok"
    assert lost(found)[0] is None
    assert lost(found, PARTITIONS[1]) == (0, "")
    assert run(Site(gone), is_fenced=False, max_loss=seconds).account().outcome == "unknown"


@pytest.mark.parametrize("is_fenced", [True, False])
def test_what_the_plan_could_read_is_not_left_unread(run: Any, is_fenced: bool) -> None:
    """What it could not read, a person has approved."""
    gone = {tp: log for tp, log in ends_at(5).items() if tp != FIRST}
    found = run(Site(gone), is_fenced=is_fenced).standing()
    assert found.outcome == "unknown"
    assert str(FIRST) in found.message
    known = left(unread={FIRST: AWAY[FIRST]})
    found = run(Site(gone), is_fenced=is_fenced, seen=known).standing()
    assert (found.outcome, list(found.result["unread"])) == ("ok", [str(FIRST)])


def test_a_coordinator_that_falls_silent_leaves_the_watcher_s_word_if_it_is_young(run: Any) -> None:
    """As young as the file demands of any position."""
    limit_s = FILE.failover.max_position_age_s
    site = Site({})
    site.positions = {group: dict.fromkeys(PARTITIONS, 7) for group in GROUPS[1:]}
    seen_at_s = LOST_AT_S - 0.5
    for late_s, outcome in ((limit_s - 1, "ok"), (limit_s + 1, "unknown")):
        young = run(site, history=history(silent_since_s=LOST_AT_S), now_s=seen_at_s + late_s)
        found = young.performed("record-positions")
        assert found.outcome == outcome, found.message
        assert GROUPS[0] in found.message
    ahead = run(site, history=history(silent_since_s=LOST_AT_S), now_s=seen_at_s - 30)
    found = ahead.performed("record-positions")
    assert (found.outcome, "of unknown age" in found.message) == ("unknown", True)
    never = run(site, history=SampleHistory()).performed("record-positions")
    assert (never.outcome, "never seen" in never.message) == ("unknown", True)


def test_a_copy_of_a_checkpoint_that_is_too_old_is_not_gone_on_with(run: Any) -> None:
    """The checkpoint could be read when this was planned, and cannot now."""
    read_at_s = of(picture(), "samples").at_s
    for age_s, outcome in ((1.0, "ok"), (600.0, "unknown")):
        copy = CheckpointCopy(watcher="w", query="revenue", at_s=read_at_s - age_s, batch=7, source_batch=7)
        samples = SampleHistory()
        samples.add(copy)
        found = run(Site({}), history=samples).performed("copy-revenue")
        assert found.outcome == outcome, found.message
    assert "600 s old" in found.message
    later = Round(
        watcher="w", begun_at_s=read_at_s + 30, ended_at_s=read_at_s + 30, outcome="failed", cause="silent"
    )
    samples = SampleHistory()
    samples.add(CheckpointCopy(watcher="w", query="revenue", at_s=read_at_s, batch=7, source_batch=7))
    samples.add(later)
    ahead = run(Site({}), history=samples).performed("copy-revenue")
    assert (ahead.outcome, "age of the watcher's copy is unknown" in ahead.message) == ("unknown", True)
    none = run(Site({}), history=SampleHistory()).performed("copy-revenue")
    assert (none.outcome, "the watcher has no copy either" in none.message) == ("unknown", True)
