"""A person's word that a site is down is good for one outage: by the order of what the watcher wrote, not by clocks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest

from orchestrator.adapters.kafka.writer import UnacknowledgedError
from orchestrator.runs.engine import state_from_journal
from orchestrator.runs.gate import GateResult
from orchestrator.runs.live.refusals import gates_to_go_on
from orchestrator.runs.overrides import (
    SOURCE_LAST_PLACE,
    SOURCE_LAST_ROUND,
    SOURCE_LAST_SEEN,
    attested_down,
    is_attested,
)
from orchestrator.runs.plan import Plan, RunEvent
from orchestrator.snapshot.samples import Round, Sample, SampleHistory, decode_sample
from orchestrator.verbs.plans import plan_failover
from orchestrator.watch.keeper import Keeper
from orchestrator.watch.recorder import SourceReading
from tests.verbs import pictures

SEEN_S = pictures.LOST_AT_S


def plan_of(samples: SampleHistory) -> Plan:
    """A failover as it is planned with these samples."""
    seen = pictures.with_parts(pictures.observation(), samples=pictures.part(samples))
    return plan_failover(pictures.topology(), seen, pictures.REQUEST)


def without_place(plan: Plan) -> Plan:
    """As a plan was before it told the place."""
    return replace(plan, facts={key: at for key, at in plan.facts.items() if key != SOURCE_LAST_PLACE})


def rounds(watcher: str, *, good_at_s: float, lost_at_s: float) -> tuple[Round, Round]:
    """One in which the source answered, and one in which it was away again, by that watcher's clock."""
    good = Round(watcher=watcher, begun_at_s=good_at_s, ended_at_s=good_at_s, outcome="good")
    lost = Round(
        watcher=watcher,
        begun_at_s=lost_at_s,
        ended_at_s=lost_at_s,
        outcome="failed",
        cause="refused",
        last_good_at_s=good_at_s,
        failing_since_s=lost_at_s,
    )
    return good, lost


class Watcher:
    """One that takes over from what is there, and writes to a target that may not acknowledge anything."""

    def __init__(self, name: str, known: SampleHistory, now_s: float) -> None:
        self.wrote: list[Sample] = []
        self._is_cut_off = False
        self._keeper = Keeper(name, self._write)
        self._keeper.take_over(known, now_s)

    def _write(self, records: Sequence[tuple[bytes, bytes]], _timeout_s: float) -> None:
        if self._is_cut_off:
            raise UnacknowledgedError("target", "is cut off")
        self.wrote.extend(decode_sample(*record) for record in records)

    def away(self, at_s: float) -> None:
        """A round in which the source refuses."""
        self._record(SourceReading(begun_at_s=at_s, ended_at_s=at_s, outcome="failed", cause="refused"))

    def unwritten(self, at_s: float) -> None:
        """A round in which the source answers, which the target does not acknowledge."""
        self._is_cut_off = True
        with pytest.raises(UnacknowledgedError):
            self._record(SourceReading(begun_at_s=at_s, ended_at_s=at_s, outcome="good"))
        self._is_cut_off = False

    def _record(self, reading: SourceReading) -> None:
        self._keeper.record(replace(reading, steady_s=reading.ended_at_s), ())


def word(plan: Plan) -> RunEvent:
    """A word given at `resume`, when a plan was as this one."""
    (said,) = attested_down(["west"], "ada: looked", plan.facts)
    return RunEvent(run_id="r1", sequence=1, kind="override", at_s=0.0, data=said.as_json())


def asked(plan: Plan, fresh: Plan, down: Collection[str] = ()) -> GateResult:
    """The gate on the word, of a run of `plan` that is to go on as `fresh` finds things."""
    state = state_from_journal(plan, "r1", [])
    gates = gates_to_go_on(state, [], fresh, asked={"always", "to act"}, sites=["west"], down=down)
    return next(gate for gate in gates if gate.of_outage == "word")


@pytest.mark.parametrize("behind_s", [0.0, 60.0, 300.0])
def test_a_source_that_came_back_is_known_by_any_clock(behind_s: float) -> None:
    """A second watcher has seen it, whose clock is behind, or the same one's was set back."""
    begun = plan_of(pictures.history())
    again = rounds("other", good_at_s=SEEN_S + 5 - behind_s, lost_at_s=SEEN_S + 6 - behind_s)
    fresh = plan_of(pictures.history(*again))
    assert is_attested(begun, [], fresh.facts) is False
    gate = asked(begun, fresh)
    assert gate.outcome == "refused"
    assert "west came back, and answered until" in gate.reason
    assert "dcctl resume r1 FILE --attest-down west --reason TEXT" in gate.hint
    assert asked(begun, fresh, ["west"]).outcome == "ok"
    assert is_attested(begun, [word(fresh)], fresh.facts) is True


@pytest.mark.parametrize("ahead_s", [-300.0, -5.0, 5.0, 3600.0])
def test_a_word_stays_good_whatever_clock_a_later_watcher_has(ahead_s: float) -> None:
    """It has seen nothing but the same outage."""
    begun = plan_of(pictures.history())
    later = Watcher("other", pictures.history(), SEEN_S + 4 + ahead_s)
    later.away(SEEN_S + 5 + ahead_s)
    fresh = plan_of(pictures.history(*later.wrote))
    assert is_attested(begun, [], fresh.facts) is True
    assert asked(begun, fresh).outcome == "ok"


def test_a_word_stays_good_when_the_clock_of_the_same_watcher_is_set_back() -> None:
    """All times that are told move with it; the round at the place says what it said."""
    begun = plan_of(pictures.history())
    _, lost = rounds("w", good_at_s=begun.facts[SOURCE_LAST_SEEN] - 60, lost_at_s=SEEN_S + 5 - 60)
    fresh = plan_of(pictures.history(replace(lost, set_back_s=60.0)))
    assert fresh.facts[SOURCE_LAST_SEEN] == begun.facts[SOURCE_LAST_SEEN] - 60
    assert is_attested(begun, [], fresh.facts) is True


@pytest.mark.parametrize("is_first_seen_away", [True, False])
@pytest.mark.parametrize("ahead_s", [-300.0, 0.0, 3600.0])
def test_a_source_that_answered_in_rounds_that_never_arrived_is_told_by_the_next_failed_one(
    ahead_s: float, is_first_seen_away: bool
) -> None:
    """The newest good round of the topic is still that of the word: it proves nothing any more."""
    begun = plan_of(pictures.history())
    later = Watcher("other", pictures.history(), SEEN_S + 4 + ahead_s)
    if is_first_seen_away:
        later.away(SEEN_S + 5 + ahead_s)
    later.unwritten(SEEN_S + 400 + ahead_s)
    later.away(SEEN_S + 401 + ahead_s)
    fresh = plan_of(pictures.history(*later.wrote))
    assert fresh.facts[SOURCE_LAST_PLACE] is None
    assert is_attested(begun, [], fresh.facts) is None
    assert asked(begun, fresh).outcome == "unknown"
    assert asked(begun, fresh, ["west"]).outcome == "ok"
    assert is_attested(begun, [word(fresh)], fresh.facts) is True


@pytest.mark.parametrize("set_back_s", [0.0, 299.5])
def test_so_it_is_by_the_watcher_that_wrote_the_good_round_itself(set_back_s: float) -> None:
    """Also where its clock was set back since by as much."""
    begun = plan_of(pictures.history())
    _, lost = rounds("w", good_at_s=SEEN_S + 299 - set_back_s, lost_at_s=SEEN_S + 301 - set_back_s)
    fresh = plan_of(pictures.history(replace(lost, set_back_s=set_back_s)))
    assert is_attested(begun, [], fresh.facts) is None


def test_an_answer_told_before_the_newest_good_round_takes_nothing_from_it() -> None:
    """Another watcher, whose clock is ahead, could not write what it saw; then the first one saw the source."""
    samples = pictures.history(
        rounds("other", good_at_s=SEEN_S + 3600, lost_at_s=SEEN_S + 3601)[1],
        *rounds("w", good_at_s=SEEN_S + 10, lost_at_s=SEEN_S + 11),
    )
    assert samples.last_good is not None
    assert samples.last_good.begun_at_s == SEEN_S + 10


def test_what_a_later_watcher_took_over_from_one_whose_clock_is_ahead_tells_of_no_answer() -> None:
    """Two were at work when the source was lost, and the one of the other clock did not write last."""
    again = [
        rounds("other", good_at_s=SEEN_S + 16, lost_at_s=SEEN_S + 17)[0],
        rounds("w", good_at_s=SEEN_S + 11, lost_at_s=SEEN_S + 12)[0],
        rounds("other", good_at_s=SEEN_S + 16, lost_at_s=SEEN_S + 17)[1],
    ]
    begun = plan_of(pictures.history(*again))
    later = Watcher("later", pictures.history(*again), SEEN_S + 20)
    later.away(SEEN_S + 21)
    fresh = plan_of(pictures.history(*again, *later.wrote))
    assert later.wrote[-1].last_good_at_s == SEEN_S + 16  # type: ignore[union-attr]
    assert fresh.facts[SOURCE_LAST_PLACE] == begun.facts[SOURCE_LAST_PLACE] is not None
    assert is_attested(begun, [], fresh.facts) is True


@pytest.mark.parametrize(("later_s", "is_good"), [(0.0, True), (1.5, True), (60.0, None), (-60.0, None)])
def test_without_a_place_clocks_tell_only_that_two_moments_are_one(
    later_s: float, is_good: bool | None
) -> None:
    """Of a journal that was begun by an earlier version."""
    begun = without_place(plan_of(pictures.history()))
    (seen_s,) = (at_s for name, at_s in begun.facts.items() if name == "source_last_seen_at_s")
    fresh = plan_of(pictures.history())
    fresh = replace(fresh, facts={**fresh.facts, "source_last_seen_at_s": seen_s + later_s})
    assert is_attested(begun, [], fresh.facts) is is_good
    gate = asked(begun, fresh)
    assert gate.outcome == ("ok" if is_good else "unknown")
    if not is_good:
        assert gate.reason == (
            "whether west has answered since west was attested to be down, the watcher's records do not show"
        )
        assert "--attest-down west" in gate.hint


def test_a_samples_topic_that_was_made_anew_tells_nothing_of_an_earlier_word() -> None:
    """Its places begin at 0 again; nor does one that nobody has dated."""
    begun = plan_of(pictures.history())
    anew = SampleHistory()
    for sample in rounds("other", good_at_s=SEEN_S, lost_at_s=SEEN_S + 1):
        anew.add(sample)
    assert is_attested(begun, [], plan_of(anew).facts) is None
    assert is_attested(replace(begun, facts={}), [], begun.facts) is None


@pytest.mark.parametrize("has_round", [True, False])
def test_another_round_at_the_same_place_is_no_proof(has_round: bool) -> None:
    """The topic was made anew, and a good round came to lie where the earlier one did, a day later.

    A journal of an earlier version does not tell the round: then the time at which the source was seen does.
    """
    begun = plan_of(pictures.history())
    day_s = 86_400.0
    now = {**begun.facts, **{key: begun.facts[key] + day_s for key in (SOURCE_LAST_SEEN, SOURCE_LAST_ROUND)}}
    if not has_round:
        begun = replace(begun, facts={**begun.facts, SOURCE_LAST_ROUND: None})
    assert is_attested(begun, [], now) is None
    assert is_attested(begun, [], {**now, SOURCE_LAST_SEEN: begun.facts[SOURCE_LAST_SEEN]}) is (
        None if has_round else True
    )


def test_a_topic_that_was_cut_behind_an_earlier_word_brings_that_to_nothing() -> None:
    """The newest word that tells of the source counts; one given while nobody could read that is no such."""
    begun = plan_of(pictures.history())
    back = plan_of(pictures.history(*rounds("w", good_at_s=SEEN_S + 5, lost_at_s=SEEN_S + 6)))
    assert is_attested(begun, [word(back)], back.facts) is True
    assert is_attested(begun, [word(back)], begun.facts) is None
    unread = replace(begun, facts={})
    assert is_attested(begun, [word(unread)], begun.facts) is True
    assert is_attested(begun, [word(unread)], back.facts) is False
