"""A stretched cluster that a mirror copies from, in memory: one of its sites is lost, or all of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.errors import GateRefusedError, GateUnknownError, UsageError
from orchestrator.moves.support import unsupported
from orchestrator.moves.within_cluster.requests import cluster_without
from orchestrator.runs.estate_record import LogsTruncated
from orchestrator.runs.live.estate_record import written_facts
from orchestrator.values import ReplicaEnd, TopicPartition
from orchestrator.verbs.live.run_result import RunResult
from tests.twin.conftest import Estates
from tests.twin.crew import EPOCH_S
from tests.twin.killing import Story, each, gone_on_with, sampled, taken_back
from tests.twin.operator import Operator

FILE = "tests/layouts/stretched-mirrored.yaml"
_COPIED_S = 10.0


def lost(estates: Estates, dc: str = "dc1") -> Operator:
    """One site of the stretched cluster is away, and leaders have been elected."""
    operator = estates.at_work(FILE)
    operator.estate.lose(dc)
    operator.estate.live(12)
    return operator


def not_copied(operator: Operator) -> dict[str, int]:
    """How far each copy ends before its source, by partition: below 0 where something was copied twice."""
    main, reserve = operator.estate.clusters["main"], operator.estate.clusters["reserve"]
    found = {}
    for tp in main.partitions(["orders"]):
        log, copy = main.log(tp), reserve.log(TopicPartition(f"main.{tp.topic}", tp.partition))
        assert log is not None
        assert copy is not None
        found[str(tp)] = log.end - copy.end
    return found


def ends(operator: Operator) -> int:
    """Records at the target."""
    reserve = operator.estate.clusters["reserve"]
    return sum(reserve.log(tp).end for tp in reserve.partitions(["main.orders"]))  # type: ignore[union-attr]


def is_copied(operator: Operator) -> None:
    """Once nothing is written any more, each record has a copy, and none has two."""
    for client in operator.estate.applications.clients.values():
        operator.estate.applications.set_running(client, False, operator.estate.crew.now_s)
    operator.estate.live(_COPIED_S)
    assert set(not_copied(operator).values()) == {0}


def test_the_mirror_goes_on_without_a_site_and_after_its_return(estates: Estates) -> None:
    """Its steps are those of every stretched cluster: the mirror is not touched."""
    operator = lost(estates)
    before = ends(operator)
    assert operator.go_on_without("dc1", cluster="main", lower_min_insync=("all",)).outcome == "ok"
    operator.estate.live(_COPIED_S)
    assert ends(operator) > before
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome == "ok"
    assert operator.lead_as_before("main").outcome == "nothing-to-do"
    is_copied(operator)


def test_one_site_is_no_reason_to_leave_the_cluster(estates: Estates) -> None:
    """Along the mirror applications go only where a person says of every site with brokers that it is down."""
    operator = lost(estates)
    with pytest.raises(GateRefusedError, match="nobody attests that dc2 is down"):
        operator.failover(attested=("dc1",))


def test_where_all_its_sites_are_lost_applications_go_along_the_mirror(estates: Estates) -> None:
    """Also after one of them was gone on without; and back. Nobody need attest the witness: it has no broker."""
    operator = lost(estates)
    assert operator.go_on_without("dc1", cluster="main", lower_min_insync=("all",)).outcome == "ok"
    operator.estate.live(_COPIED_S)
    operator.estate.lose("dc2")
    operator.estate.live(12)
    result = operator.failover(attested=("dc1", "dc2"), accept_loss=10_000)
    assert result.outcome == "ok", result.reason
    operator.estate.live(_COPIED_S)
    reserve = operator.estate.clusters["reserve"]
    assert sum(log.end for log in reserve.topics["orders"].logs) > 0
    for dc in ("dc1", "dc2"):
        operator.estate.bring_back(dc)
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome == "ok"
    result = operator.failback()
    assert result.outcome == "ok", result.reason
    main = operator.estate.clusters["main"]
    before = sum(log.end for log in main.topics["orders"].logs)
    operator.estate.live(_COPIED_S)
    assert sum(log.end for log in main.topics["orders"].logs) > before


def test_what_is_attested_says_which_of_both_is_meant(estates: Estates) -> None:
    """Sites of one cluster that goes on; all of them; sites of two clusters."""
    topology = estates.at_work(FILE).estate.topology
    assert [cluster_without(topology, sites) for sites in (["dc1"], ["dc2", "witness"], ["witness"])] == [
        "main"
    ] * 3
    assert cluster_without(topology, ["dc1", "dc2"]) is None
    assert cluster_without(topology, ["far"]) is None
    assert unsupported(topology, "drill") == ["mirror main → reserve: main lies at several sites"]
    with pytest.raises(UsageError, match="main goes on at other sites"):
        cluster_without(topology, ["dc1", "far"])


def left_behind(estates: Estates) -> Operator:
    """A partition of which dc1 alone was in sync is lost with it; the mirror has copied more than is left."""
    operator = estates.at_work(FILE)
    main = operator.estate.clusters["main"]
    log = main.topics["orders"].logs[0]
    log.isr = tuple(number for number in log.replicas if main.brokers[number].dc == "dc1")
    log.leader = log.isr[0]
    now_s = EPOCH_S + operator.estate.crew.now_s
    log.behind = {
        number: ReplicaEnd(log.epoch, log.end - 10 * number, now_s - 1, 2.0)
        for number in log.replicas
        if main.brokers[number].dc == "dc2"
    }
    operator.estate.live(_COPIED_S)
    operator.estate.lose("dc1")
    operator.estate.live(12)
    return operator


def go_on_unclean(operator: Operator) -> RunResult:
    """The word of a person; whoever has most leads."""
    return operator.go_on_without(
        "dc1", cluster="main", lower_min_insync=("all",), accept_unclean="all", accept_margin=True
    )


def cut(operator: Operator) -> tuple[int, int]:
    """What is recorded of the one log that was cut: where it ended, and where its copy did."""
    facts = written_facts(operator.estate.ensemble, operator.estate.topology.name, [LogsTruncated])
    (fact,) = (one.body for one in facts if isinstance(one.body, LogsTruncated))
    ((_, _, (found,)),) = fact.truncations
    return found


def goes_on_behind(operator: Operator) -> None:
    """The copy keeps what its source has given up; behind it comes what was written since, and nothing else."""
    operator.estate.live(_COPIED_S)
    end, copied = cut(operator)
    log = operator.estate.clusters["main"].topics["orders"].logs[0]
    copy = operator.estate.clusters["reserve"].topics["main.orders"].logs[0]
    new = [record.value for record in log.records[end:] if record]
    came = [record.value for record in copy.records[copied:] if record]
    assert came
    assert came == new[: len(came)]


def runs_as_before(operator: Operator) -> None:
    """The mirror runs, and nobody was elected."""
    operator.estate.live(_COPIED_S)
    main = operator.estate.clusters["main"]
    assert not main.is_led(main.topics["orders"].logs[0])
    assert operator.estate.workers["reserve"].connectors["main-to-reserve-source"].state == "RUNNING"


_KILLED = Story(left_behind, go_on_unclean, goes_on_behind, runs_as_before)


def test_killed_on_its_way_it_is_gone_on_with_or_taken_back(estates: Estates) -> None:
    """Before and after a sample of what it does: the mirror is stopped, set and resumed once."""
    for number, harm in sampled(estates, _KILLED, 5):
        gone_on_with(estates, _KILLED, number, harm)
        taken_back(estates, _KILLED, number, harm)


@pytest.mark.drills
def test_killed_anywhere_it_is_gone_on_with_or_taken_back(estates: Estates) -> None:
    """Before and after whatever it does."""
    for number, harm in each(estates, _KILLED):
        gone_on_with(estates, _KILLED, number, harm)
        taken_back(estates, _KILLED, number, harm)


def test_a_mirror_that_has_copied_what_is_given_up_goes_on_behind_it(estates: Estates) -> None:
    """Neither from the beginning nor with a gap: the copy keeps what the source has lost, then comes what is new."""
    operator = left_behind(estates)
    reserve = operator.estate.clusters["reserve"]
    copied = reserve.topics["main.orders"].logs[0].end
    assert go_on_unclean(operator).outcome == "ok"
    assert operator.plan is not None
    steps = [step.action for step in operator.plan.steps]
    first, last = steps.index("record-mirrors-halted"), steps.index("elect-unclean")
    before = ["record-mirrors-halted", "stop-connectors", "put-longest-first", "record-left-ends"]
    assert steps[first:last] == before
    set_and_resumed = ["set-mirror-behind-election", "record-mirrors-halted", "resume-connectors"]
    assert steps[-4:] == [*set_and_resumed, "release-mirror"]
    (choice,) = (event for event in operator.events if event.step == "put-longest-first" and event.outcome)
    ((_, _, _, _, end),) = choice.data["result"]["leaders"]
    assert copied > end
    assert cut(operator) == (end, copied)
    goes_on_behind(operator)


def test_a_mirror_that_somebody_has_stopped_stays_so(estates: Estates) -> None:
    """Its position is set all the same: it would begin anew whenever it is resumed."""
    operator = left_behind(estates)
    workers = operator.estate.workers["reserve"]
    source = workers.connectors["main-to-reserve-source"]
    source.state, source.has_tasks = "STOPPED", False
    assert go_on_unclean(operator).outcome == "ok"
    assert operator.plan is not None
    steps = [step.action for step in operator.plan.steps]
    assert "stop-connectors" not in steps
    assert "resume-connectors" not in steps
    assert source.stored[TopicPartition("orders", 0)] == cut(operator)[0] - 1
    assert source.state == "STOPPED"


def test_a_mirror_that_nobody_can_stop_keeps_the_election_from_being_made(estates: Estates) -> None:
    """Workers that do not answer: unknown. Somebody else's mirror: refused."""
    operator = left_behind(estates)
    operator.estate.workers["reserve"].state = "gone"
    with pytest.raises(GateUnknownError, match="mirror-behind"):
        operator.go_on_without("dc1", cluster="main", accept_unclean="all", accept_margin=True)
    operator.estate.workers["reserve"].state = "up"
    (mirror,) = operator.estate.topology.replication
    operator.estate.topology = replace(
        operator.estate.topology, replication=(replace(mirror, managed=False),)
    )
    with pytest.raises(
        GateRefusedError, match="mirror-behind refused: the mirror main → reserve is not managed"
    ):
        operator.go_on_without("dc1", cluster="main", accept_unclean="all", accept_margin=True)
