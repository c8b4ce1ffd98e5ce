"""Each of two active sites has the other's applications, and both come home: who went last comes first."""

from __future__ import annotations

import pytest

from orchestrator.errors import GateRefusedError
from orchestrator.values import TopicPartition
from tests.twin import truths
from tests.twin.conftest import Estates
from tests.twin.operator import Operator
from tests.twin.test_active_sites import at_work, rest, unread

ADA = "ada: they cannot wait"
WRITES_AT_EAST = ("User:shop-west",)


def crossed(estates: Estates, *, is_guarded: bool = False) -> Operator:
    """West's applications were at east when that was lost, and east's went to west; east is back with both."""
    operator = at_work(estates)
    if is_guarded:
        operator.estate.guard("east")
    assert operator.switchover(to="east").outcome == "ok"
    operator.estate.live(5)
    operator.estate.lose("east")
    operator.estate.live(5)
    with pytest.raises(
        GateRefusedError, match="dcctl brings neither home before they are kept off it: dcctl f"
    ):
        operator.failover(to="west", attested=("east",))
    assert operator.failover(to="west", attested=("east",), acknowledge=ADA).outcome == "ok"
    operator.estate.live(10)
    operator.estate.bring_back("east", applications=True)
    operator.estate.live(10)
    return operator


def exiles_start_at_east(operator: Operator) -> None:
    """Their hosts came up with the site."""
    applications = operator.estate.applications
    for (dc, name), client in applications.clients.items():
        if dc == "east" and not name.endswith("-east"):
            applications.set_running(client, True, operator.estate.crew.now_s)
    operator.estate.live(10)


@pytest.mark.parametrize("is_guarded", [False, True])
def test_both_come_home_by_the_commands_that_the_refusal_names(estates: Estates, is_guarded: bool) -> None:
    """No refusal leads round in a circle, and nothing is skipped."""
    operator = crossed(estates, is_guarded=is_guarded)
    exiles_start_at_east(operator)
    with pytest.raises(GateRefusedError, match="bring them home first: dcctl failback FILE --to east"):
        operator.failback(to="west")
    with pytest.raises(GateRefusedError, match="keeps its logs from standing still") as refused:
        operator.failback(to="east")
    fence, back, unfence, last = (line.strip() for line in refused.value.hint.split(";"))
    assert fence == "dcctl fence FILE --cluster east --principal User:shop-west"
    assert back == 'dcctl failback FILE --to east --acknowledge "OWNER: comment"'
    assert unfence.startswith("dcctl unfence FILE --cluster east --principal User:shop-west")
    assert last == "dcctl failback FILE --to west"
    assert operator.fence("east", principals=WRITES_AT_EAST).outcome == "ok"
    assert operator.failback(to="east", acknowledge=ADA).outcome == "ok"
    operator.estate.live(5)
    assert operator.unfence("east", principals=WRITES_AT_EAST, acknowledge=ADA).outcome == "ok"
    operator.estate.live(10)
    assert operator.failback(to="west").outcome == "ok"
    operator.estate.live(10)
    rest(operator)
    assert unread(operator, "reporting") == unread(operator, "search") == set()
    everybody = set(operator.estate.applications.ledger.acknowledged)
    packed = {name: everybody - unread(operator, name) for name in ("packing-west", "packing-east")}
    assert packed["packing-west"] | packed["packing-east"] == everybody
    for workers in operator.estate.workers.values():
        assert {c.state for n, c in workers.connectors.items() if n.endswith("-source")} == {"RUNNING"}
    assert truths.lost_at(operator.estate, "west") == truths.lost_at(operator.estate, "east") == set()


def test_while_the_others_write_on_nothing_is_done_to_who_works(estates: Estates) -> None:
    """The logs at home do not stand still: it stops before anybody else is, and goes on once they are fenced."""
    operator = crossed(estates)
    exiles_start_at_east(operator)
    result = operator.failback(to="east", acknowledge=ADA)
    assert result.outcome == "incomplete"
    now_s = operator.estate.crew.now_s
    written = operator.estate.applications.ledger.written_at
    at_work_s = [at for at, producer, cluster in written if (producer, cluster) == ("shop-east", "west")]
    assert max(at_work_s) > now_s - 3
    run_id = operator.run_id
    assert operator.fence("east", principals=WRITES_AT_EAST).outcome == "ok"
    assert operator.resume(run_id).outcome == "ok"


def test_a_site_that_was_lost_itself_takes_nobody_in_before_it_was_compared(estates: Estates) -> None:
    """Its logs may have been cut: the others wait, and it comes home first."""
    operator = at_work(estates)
    operator.estate.lose("west")
    operator.estate.live(5)
    assert operator.failover(to="east").outcome == "ok"
    operator.estate.bring_back("west")
    operator.estate.live(10)
    operator.estate.lose("east")
    operator.estate.live(5)
    with pytest.raises(GateRefusedError, match="other-site refused: applications of west work at") as refused:
        operator.failover(to="west", attested=("east",), acknowledge=ADA)
    assert "wait until east is back: west had been lost, and nobody has compared" in refused.value.hint
    operator.estate.bring_back("east", applications=True)
    exiles_start_at_east(operator)
    assert operator.failback(to="west").outcome == "ok"


@pytest.mark.parametrize("is_read", [True, False], ids=["read in part", "never read"])
def test_records_that_expired_before_they_were_copied_are_counted_and_accepted(
    estates: Estates, *, is_read: bool
) -> None:
    """While the mirror stands, retention goes on: nobody goes home over a gap that nobody has accepted."""
    operator = crossed(estates)
    exiles_start_at_east(operator)
    first = TopicPartition("orders", 0)
    log = operator.estate.clusters["west"].log(first)
    if not is_read:
        for connector in operator.estate.workers["east"].connectors.values():
            connector.stored.pop(first, None)
            connector.read.pop(first, None)
    log.start = log.end - 5
    assert operator.fence("east", principals=WRITES_AT_EAST).outcome == "ok"
    result = operator.failback(to="east", acknowledge=ADA)
    (said,) = [step["message"] for step in result.steps if step["id"] == "see-fits"]
    assert result.outcome == "incomplete"
    assert "expired at west before they were copied: orders-0" in said
    gone = int(said.rsplit("--accept-loss ", 1)[1])
    assert operator.abort().outcome == "undone"
    assert operator.failback(to="east", acknowledge=ADA, accept_loss=gone).outcome == "ok"


def test_a_topic_that_was_made_anew_meanwhile_is_not_gone_on_with_unseen(estates: Estates) -> None:
    """Its log may have grown beyond the old position: a person says where the mirror goes on."""
    operator = crossed(estates)
    exiles_start_at_east(operator)
    operator.estate.make_anew("west", "orders")
    operator.estate.live(60)
    assert operator.fence("east", principals=WRITES_AT_EAST).outcome == "ok"
    result = operator.failback(to="east", acknowledge=ADA)
    (said,) = [step["message"] for step in result.steps if step["id"] == "see-fits"]
    assert said.startswith("orders was deleted and created again at west since applications left it: compare")
    assert operator.abort().outcome == "undone"
    connectors = operator.estate.workers["east"].connectors
    for place in (connectors["west-to-east-source"].stored, connectors["west-to-east-source"].read):
        for tp in [tp for tp in place if tp.topic == "orders"]:
            del place[tp]
    assert operator.failback(to="east", acknowledge=ADA, accept_unrecorded=True).outcome == "ok"
    operator.estate.live(10)
    assert not truths.present_at(operator.estate, "west") - truths.present_at(operator.estate, "east")
