"""A lost site is left: what is done to the world, and what becomes of the applications."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orchestrator.adapters import ansible
from orchestrator.errors import GateRefusedError, UsageError
from tests.twin import truths
from tests.twin.clusters import State
from tests.twin.conftest import Estates
from tests.twin.crew import ProcessDied
from tests.twin.operator import Operator
from tests.twin.record import Harm

ACTIVE_PASSIVE = "topologies/active-passive.yaml"
SMALL = "tests/faults/small.yaml"
MOVED = {"orders": ["west", "east"], "payments": ["west", "east"]}


def lost(estates: Estates, file: str = SMALL) -> Operator:
    """West is gone, and the watcher has seen it."""
    operator = estates.at_work(file)
    operator.estate.lose("west")
    operator.estate.live(5)
    return operator


def test_a_lost_site_is_left(estates: Estates) -> None:
    """Groups skip nothing of what is there, topics are written at one side, and what is lost is the tail."""
    operator = lost(estates, ACTIVE_PASSIVE)
    result = operator.failover()
    assert (result.outcome, list(result.not_seen)) == ("ok", [])
    operator.estate.live(5)
    assert truths.written_at(operator.estate) == MOVED
    assert truths.skipped(operator.estate, "east") == {}
    gone = truths.lost_at(operator.estate, "east")
    predicted = result.predicted["loss"]
    assert 0 < len(gone) <= sum(row["at_most"] for row in predicted.values())


def test_what_is_done_is_told_in_plain_words(estates: Estates) -> None:
    """Nothing else is done to the world, and each doing is its step's."""
    operator = lost(estates)
    operator.failover()
    done = operator.estate.record.done
    assert ("stop connector", "east", "west-to-east-source") in done
    assert ("start client", "east", "producer checkout") in done
    assert ("commit offset", "east", "billing orders-0 → 0") in done
    assert {verb for verb, *_ in done} == {
        "stop connector",
        "commit offset",
        "start client",
        "record fact",
    }
    by_step = operator.estate.record.by_step()
    assert ("start client", "east", "producer checkout") in by_step["start-producers"]
    assert ("see", "east", "ends of orders, payments") in by_step["record-landing-ends"]
    assert operator.plan is not None
    assert set(by_step) - {""} <= {step.id for step in operator.plan.steps}


def test_the_same_story_is_told_in_the_same_words(estates: Estates) -> None:
    """Nothing depends on the machine, or on which thread is faster."""
    told = []
    for _ in range(2):
        operator = lost(estates)
        operator.failover()
        told.append(operator.estate.record.entries)
    assert told[0] == told[1]


def test_a_site_that_answers_is_not_left(estates: Estates) -> None:
    """The gates see the estate as it is."""
    operator = estates.at_work(SMALL)
    with pytest.raises(GateRefusedError, match="source-unreachable"):
        operator.failover()
    assert operator.estate.record.done == []


@pytest.mark.parametrize(("harm", "every"), [("dies before", 2), ("dies after", 7)])
def test_wherever_the_process_dies_the_run_is_gone_on_with(estates: Estates, harm: Harm, every: int) -> None:
    """At each doing, and at each record of the journal; nothing is skipped, and nobody writes at both sides."""
    whole = lost(estates)
    whole.failover()
    expected = {words for words in whole.estate.record.done if words[0] != "record fact"}
    for number in range(0, whole.estate.record.count, every):
        operator = lost(estates)
        operator.estate.record.harm_nth(number, harm)
        with pytest.raises(ProcessDied):
            operator.failover()
        operator.estate.record.heal()
        operator.estate.restart_dcctl()
        result = operator.resume() if operator.has_begun else operator.failover()
        assert result.outcome == "ok", (number, result.reason)
        operator.estate.live(5)
        assert truths.written_at(operator.estate) == MOVED
        assert truths.skipped(operator.estate, "east") == {}
        assert {words for words in operator.estate.record.done if words[0] != "record fact"} == expected


def stopped_and_back(estates: Estates, at: str) -> Operator:
    """The process has died behind that doing, and west is back without a boot guard, its producers at work."""
    operator = lost(estates)
    operator.estate.record.harm_where(lambda entry: entry.verb == at, "dies after")
    with pytest.raises(ProcessDied):
        operator.failover()
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    operator.estate.bring_back("west", applications=True)
    operator.estate.live(20)
    return operator


def test_a_failover_that_moved_nobody_yet_is_taken_back_when_its_site_is_back(estates: Estates) -> None:
    """Applications had never left it; going on is refused, and names that way by its command."""
    operator = stopped_and_back(estates, "stop connector")
    run_id = operator.run_id
    with pytest.raises(GateRefusedError, match="source-unreachable refused: west answers") as refused:
        operator.resume(run_id)
    assert f"dcctl abort {run_id}" in refused.value.hint
    assert "switchover" not in refused.value.hint
    assert operator.abort(run_id).outcome == "undone"
    operator.estate.live(5)
    assert truths.written_at(operator.estate) == {"orders": ["west"], "payments": ["west"]}


def test_a_failover_that_moved_somebody_goes_on_once_its_site_is_stopped_again(estates: Estates) -> None:
    """The one way that is left is in the refusal, as a command; what both sides took is late, and not lost."""
    operator = stopped_and_back(estates, "commit offset")
    run_id, estate = operator.run_id, operator.estate
    for verb in (operator.failover, operator.failback, operator.switchover, operator.leave):
        with pytest.raises(GateRefusedError) as refused:
            verb()
        assert f"dcctl resume {run_id}" in refused.value.hint
    with pytest.raises(
        GateRefusedError, match=r"cannot be rolled back any more: since .*: Start the producers"
    ):
        operator.abort(run_id)
    with pytest.raises(GateRefusedError, match="source-unreachable") as refused:
        operator.resume(run_id)
    told = f"stop every broker of west, then dcctl resume {run_id} FILE --attest-down west --reason TEXT"
    assert refused.value.hint == told
    estate.lose("west")
    estate.live(5)
    assert operator.resume(run_id, attest_down=["west"], reason="ada: switched off").outcome == "ok"
    assert "--attest-down west by ada: switched off" in [event.message for event in operator.events]
    estate.live(5)
    assert truths.skipped(estate, "east") == {}
    estate.bring_back("west")
    estate.live(10)
    assert operator.failback().outcome == "ok"
    estate.live(6)
    assert truths.skipped(estate, "west") == {}
    assert truths.lost_at(estate, "west") == set()


@pytest.mark.parametrize("again", ["gone", "silent"])
def test_a_person_s_word_that_a_site_is_down_is_good_for_one_outage(estates: Estates, again: State) -> None:
    """It may be cut off, and at work, where it was back since: what was said before says nothing of that."""
    operator = stopped_and_back(estates, "commit offset")
    run_id, estate = operator.run_id, operator.estate
    estate.lose("west", again)
    estate.live(10)
    started = len(estate.record.done)
    with pytest.raises(GateRefusedError, match="attested refused: west came back, and answered until") as no:
        operator.resume(run_id)
    assert re.search(rf"dcctl resume {run_id} FILE --attest-down west", no.value.hint)
    assert len(estate.record.done) == started
    with pytest.raises(UsageError, match="no such data centre"):
        operator.resume(run_id, attest_down=["wets"])
    estate.record.harm_where(lambda entry: entry.verb == "start client", "dies before")
    with pytest.raises(ProcessDied):
        operator.resume(run_id, attest_down=["west"], reason="ada: looked")
    estate.record.heal()
    estate.restart_dcctl()
    assert operator.resume(run_id).outcome == "ok"


def test_a_run_that_rests_on_no_such_word_takes_none(estates: Estates) -> None:
    """Nothing would be asked of it: whoever gives it means another run."""
    operator = estates.at_work(SMALL)
    operator.estate.record.harm_where(lambda entry: entry.verb == "commit offset", "dies after")
    with pytest.raises(ProcessDied):
        operator.switchover()
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    with pytest.raises(UsageError, match="begun without an attestation"):
        operator.resume(attest_down=["west"])


@pytest.mark.parametrize("missing", ["playbooks", "Ansible"])
def test_nothing_is_touched_where_the_clients_could_not_be_started(
    missing: str, estates: Estates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a dcctl that lacks its own playbooks, or Ansible: seen before the mirror is stopped."""
    operator = lost(estates)
    if missing == "playbooks":
        monkeypatch.setattr(ansible, "own_folder", lambda _name: tmp_path)
        words, hint = "start-clients.yml", "install it again"
    else:
        monkeypatch.setattr(ansible, "_search_path", lambda: str(tmp_path))
        words, hint = "ansible-playbook is neither beside this Python nor on PATH", "dcctl[operator]"
    with pytest.raises(GateRefusedError, match=f"clients-startable.*{words}") as refused:
        operator.failover()
    assert hint in str(refused.value)
    assert operator.estate.record.done == []
