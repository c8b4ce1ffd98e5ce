"""One of two sites is lost, in memory, and the metadata quorum with it; and comes back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from orchestrator.errors import GateRefusedError
from orchestrator.topology.model import Cluster
from orchestrator.verbs.live.run_result import RunResult
from tests.twin.conftest import Estates
from tests.twin.killing import Story, each, gone_on_with, sampled, taken_back
from tests.twin.operator import Operator
from tests.twin.test_site_loss import KEY, is_as_before, takes_writes, wanted, writes
from tests.twin.voters import TwinQuorum

LAYOUTS = {"kraft": "topologies/stretched-2dc-kraft.yaml", "zookeeper": "topologies/stretched-2dc.yaml"}
BOTH = pytest.mark.parametrize("mode", LAYOUTS)


def quorum(operator: Operator) -> TwinQuorum:
    """Of the only cluster."""
    return operator.estate.clusters["main"].quorum


def lost(estates: Estates, mode: str) -> Operator:
    """One site of two is away, and nobody can be elected."""
    operator = estates.at_work(LAYOUTS[mode])
    operator.estate.lose("dc1")
    operator.estate.live(12)
    return operator


def returned(estates: Estates, mode: str) -> Operator:
    """Writes went on without it, and it is back with its disks and its old files."""
    operator = lost(estates, mode)
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    return operator


def texts(operator: Operator) -> dict[str, str]:
    """The file of each voter."""
    return {voter.server: voter.text for voter in quorum(operator).voters.values()}


def stood_alone(operator: Operator) -> None:
    """There was never a second quorum, and never a leader that lacked something."""
    assert quorum(operator).seconds == []
    assert quorum(operator).lost_changes == []


def goes_on_alone(operator: Operator) -> None:
    """The survivors are the whole quorum, and all is written."""
    stood_alone(operator)
    here = {number for number, voter in quorum(operator).voters.items() if voter.site == "dc2"}
    assert quorum(operator).members() == here
    takes_writes(operator)


def is_whole(operator: Operator) -> None:
    """All voters are one quorum, by the files that they had; and settings are as before."""
    stood_alone(operator)
    assert quorum(operator).members() == frozenset(quorum(operator).voters)
    assert texts(operator) == {v.server: v.text for v in TwinQuorum.of(described(operator)).voters.values()}
    is_as_before(operator)
    takes_writes(operator)


def described(operator: Operator) -> Cluster:
    """The cluster, by the file."""
    return operator.estate.topology.clusters["main"]


def stands_as_lost(operator: Operator) -> None:
    """Nothing was changed: whoever is left runs with its old file, and waits."""
    stood_alone(operator)
    assert texts(operator) == {v.server: v.text for v in TwinQuorum.of(described(operator)).voters.values()}
    assert all(voter.is_started for voter in quorum(operator).voters.values())
    assert not quorum(operator).members()
    is_as_before(operator)


@BOTH
def test_settings_wait_for_leaders_where_they_clear_who_is_eligible(estates: Estates, mode: str) -> None:
    """In ZooKeeper mode nobody is: writes to what survivors lead need not wait for the other elections."""
    operator = lost(estates, mode)
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    assert operator.plan is not None
    lower, see = (operator.plan.step(one) for one in ("lower-min-insync", "see-writable"))
    assert lower.depends_on == (("await-leaders",) if mode == "kraft" else ("form-quorum",))
    assert {"await-leaders", "lower-min-insync"} == {*see.depends_on}
    goes_on_alone(operator)


@BOTH
def test_where_no_broker_answers_the_quorum_is_formed_and_no_more(estates: Estates, mode: str) -> None:
    """They may be waiting for it; the same command does the rest once they answer."""
    operator = lost(estates, mode)
    left = [one for one in operator.estate.clusters["main"].brokers.values() if one.state == "up"]
    for broker in left:
        broker.state = "silent"
    result = operator.go_on_without("dc1", lower_min_insync=("all",))
    assert result.outcome == "ok"
    assert operator.plan is not None
    steps = [step.action for step in operator.plan.steps]
    assert steps == [
        "fence-site",
        "stop-services",
        "record-generation",
        "stop-voters",
        "form-quorum",
        "start-rest",
    ]
    assert "no broker answers" in operator.plan.way
    stood_alone(operator)
    for broker in left:
        broker.state = "up"
    operator.estate.live(12)
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    goes_on_alone(operator)


@BOTH
def test_who_was_restarted_since_the_loss_is_named_and_settings_go_by_who_is_in_sync_then(
    estates: Estates, mode: str
) -> None:
    """It is no longer in sync, though all that is told says so: the quorum is formed first, and no more."""
    operator = lost(estates, mode)
    main = operator.estate.clusters["main"]
    main.set_brokers("gone", 4)
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    assert operator.plan is not None
    assert [step.action for step in operator.plan.steps][-1] == "start-rest"
    assert operator.plan.way.endswith("and no more yet: broker 4: down, or restarted")
    gate = next(gate for gate in operator.plan.gates if gate.id == "brokers-unbroken")
    assert (gate.outcome, "killed: broker 4 refuses connections; each partition" in gate.reason) == (
        "ok",
        True,
    )
    assert wanted(operator)["orders"] == "3"
    main.set_brokers("up", 4)
    operator.estate.live(12)
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    assert wanted(operator)["orders"] == "2"
    goes_on_alone(operator)


@BOTH
def test_where_only_restarted_brokers_have_all_of_a_partition_a_person_decides(
    estates: Estates, mode: str
) -> None:
    """Nobody would lead it: with the site back nothing is lost, otherwise another one has to lead."""
    operator = lost(estates, mode)
    main = operator.estate.clusters["main"]
    log = main.topics["orders"].logs[0]
    log.isr = tuple(number for number in log.isr if number != 3)
    main.set_brokers("gone", 4)
    with pytest.raises(
        GateRefusedError, match=r"brokers-unbroken refused: .*nobody else has all of orders-0"
    ):
        operator.go_on_without("dc1", lower_min_insync=("all",))
    stands_as_lost(operator)
    assert operator.go_on_without("dc1", accept_unclean="all").outcome == "ok"
    assert operator.plan is not None
    assert [step.action for step in operator.plan.steps][-1] == "start-rest"
    stood_alone(operator)


@BOTH
def test_the_survivors_become_the_whole_quorum_and_all_are_one_again(estates: Estates, mode: str) -> None:
    """There and back: files, settings, order and leaders as before."""
    operator = lost(estates, mode)
    before, main = wanted(operator), operator.estate.clusters["main"]
    replicas = {name: [log.replicas for log in topic.logs] for name, topic in main.topics.items()}
    assert "orders" not in writes(operator)
    assert operator.go_on_without("dc1").outcome == "ok"
    assert operator.plan is not None
    assert "become its whole metadata quorum; writes to" in operator.plan.way
    assert "orders" not in writes(operator)
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    steps = [step.id for step in operator.plan.steps]
    assert steps[:3] == ["await-leaders", "lower-min-insync", "see-writable"]
    # Who was started while its topics waited is seen at work now.
    assert "record-applications-seen" in steps
    goes_on_alone(operator)
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome == "ok"
    is_whole(operator)
    assert wanted(operator) == before
    assert {name: [log.replicas for log in topic.logs] for name, topic in main.topics.items()} == replicas
    assert operator.lead_as_before("main").outcome == "nothing-to-do"


@BOTH
def test_services_of_the_lost_half_are_stopped_and_run_again_once_all_are_one_quorum(
    estates: Estates, mode: str
) -> None:
    """Its hosts answer: brokers and voters alike, and voters are started to be one quorum first."""
    operator = estates.at_work(LAYOUTS[mode])
    operator.estate.lose("dc1", but_for_hosts=True)
    operator.estate.live(12)
    services = operator.estate.services
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    assert services.off == services.disabled == set(services.at("dc1"))
    goes_on_alone(operator)
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    assert not any(voter.runs for voter in quorum(operator).voters.values() if voter.site == "dc1")
    assert operator.lead_as_before("main").outcome == "ok"
    assert (services.disabled, [s for s in services.at("dc1") if not services.runs(s)]) == (set(), [])
    is_whole(operator)
    assert operator.lead_as_before("main").outcome == "nothing-to-do"


@BOTH
@pytest.mark.parametrize("which", [0, 1, 2])
def test_whoever_has_the_newest_change_leads(estates: Estates, mode: str, which: int) -> None:
    """It is on one survivor alone: a majority without it would cut it off."""
    operator = lost(estates, mode)
    here = [voter for voter in quorum(operator).voters.values() if voter.site == "dc2"]
    newest = here[which]
    newest.end += 7
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    stood_alone(operator)
    assert newest.leads
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "nothing-to-do"


@BOTH
def test_on_the_way_back_no_survivor_is_left_out(estates: Estates, mode: str) -> None:
    """What the survivors decided is on two of them; the returned ones and the third could lead without it."""
    operator = returned(estates, mode)
    behind = [voter for voter in quorum(operator).voters.values() if voter.site == "dc2"][2]
    behind.is_started = False
    behind.end, behind.epoch = 1, 1
    assert operator.lead_as_before("main").outcome == "ok"
    is_whole(operator)


@BOTH
def test_a_server_of_the_lost_site_that_answers_holds_everything(estates: Estates, mode: str) -> None:
    """It may be a broker or a voter."""
    operator = lost(estates, mode)
    voter = next(iter(quorum(operator).voters.values()))
    voter.state, before = "up", texts(operator)
    with pytest.raises(GateRefusedError, match=rf"lost-site-off refused: .*: {voter.address}"):
        operator.go_on_without("dc1")
    assert texts(operator) == before
    stood_alone(operator)


@BOTH
def test_a_file_that_is_not_as_expected_holds_everything(estates: Estates, mode: str) -> None:
    """Somebody has shortened the list by hand; or changes it once dcctl has."""
    operator = lost(estates, mode)
    voter = next(voter for voter in quorum(operator).voters.values() if voter.site == "dc2")
    whole = voter.text
    voter.text = whole.replace("101@voter-101:9093,", "").replace("server.1=", "#server.1=")
    expected = rf"files-as-known refused: {voter.file}:\d+ of {voter.server} names 5 voters .*, the topology file has 6"
    with pytest.raises(GateRefusedError, match=expected):
        operator.go_on_without("dc1")
    voter.text = whole
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    voter.text += "# by hand\n"
    with pytest.raises(GateRefusedError, match=f"{voter.file} of {voter.server} was changed since"):
        operator.lead_as_before("main")
    goes_on_alone(operator)


@BOTH
def test_a_host_that_does_not_answer_holds_everything(estates: Estates, mode: str) -> None:
    """Its voters could come up with their old files."""
    operator = lost(estates, mode)
    operator.estate.applications.reach["dc2"] = "gone"
    with pytest.raises(GateRefusedError, match="voters-present unknown: host-dc2: no route to host"):
        operator.go_on_without("dc1")


def test_a_version_on_which_nobody_has_tried_it_is_refused(estates: Estates, tmp_path: Path) -> None:
    """Unless a person goes first, who is named for it, there and back; before 3.8 nobody can."""
    operator = of_version(estates, tmp_path, "3.9.1")
    expected = r"quorum-proven refused: it was tried on Kafka 4\.3 with .* before 4\.0 have no pre-vote"
    with pytest.raises(GateRefusedError, match=expected):
        operator.go_on_without("dc1")
    assert operator.go_on_without("dc1", lower_min_insync=("all",), accept_unproven=True).outcome == "ok"
    assert "--accept-unproven" in {e.data["option"] for e in operator.events if e.kind == "override"}
    goes_on_alone(operator)
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    with pytest.raises(GateRefusedError, match="quorum-proven refused"):
        operator.lead_as_before("main")
    assert operator.lead_as_before("main", accept_unproven=True).outcome == "ok"
    is_whole(operator)


def test_where_controllers_do_not_start_with_another_list_no_word_helps(
    estates: Estates, tmp_path: Path
) -> None:
    """KAFKA-16526: nothing is stopped for what cannot come up again."""
    operator = of_version(estates, tmp_path, "3.7.2")
    expected = (
        "quorum-continues refused: .* controllers before Kafka 3.8 start with no other voters than those"
    )
    with pytest.raises(GateRefusedError, match=expected):
        operator.go_on_without("dc1", lower_min_insync=("all",), accept_unproven=True)
    stands_as_lost(operator)


def of_version(estates: Estates, tmp_path: Path, version: str) -> Operator:
    """One site of two is away, and its Kafka is not the one on which it was tried."""
    data = yaml.safe_load(Path(LAYOUTS["kraft"]).read_text(encoding="utf-8"))
    data["clusters"]["main"]["kafka"] = version
    file = tmp_path / "older.yaml"
    file.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    operator = estates.at_work(str(file))
    operator.estate.lose("dc1")
    operator.estate.live(12)
    return operator


@BOTH
def test_nobody_goes_on_where_both_sites_are_lost(estates: Estates, mode: str) -> None:
    """The survivors of the first loss are the whole quorum; without them there is nothing."""
    operator = returned(estates, mode)
    operator.estate.lose("dc2")
    operator.estate.live(12)
    with pytest.raises(GateRefusedError, match="quorum-continues refused"):
        operator.go_on_without("dc2")


def stories(mode: str) -> dict[str, Story]:
    """There, which can be taken back as long as no survivor has a new file; and back."""
    return {
        "there": Story(
            lambda estates: lost(estates, mode),
            lambda o: o.go_on_without("dc1", lower_min_insync=("all",)),
            goes_on_alone,
            stands_as_lost,
        ),
        "back": Story(
            lambda estates: returned(estates, mode),
            lambda o: o.lead_as_before("main"),
            is_whole,
            stood_alone,
        ),
    }


@BOTH
@pytest.mark.parametrize("way", ["there", "back"])
def test_killed_on_its_way_it_is_gone_on_with_or_taken_back(estates: Estates, mode: str, way: str) -> None:
    """Before and after a sample of what it does."""
    story = stories(mode)[way]
    for number, harm in sampled(estates, story, 7):
        gone_on_with(estates, story, number, harm)
        taken_back(estates, story, number, harm)


def answers_only_with_a_quorum(estates: Estates, mode: str) -> Operator:
    """The lost site is back; brokers would answer nobody once all voters stand still."""
    operator = returned(estates, mode)
    operator.estate.clusters["main"].is_silent_without_quorum = True
    return operator


@BOTH
def test_killed_on_the_way_back_it_goes_on_although_no_broker_answers_without_a_quorum(
    estates: Estates, mode: str
) -> None:
    """Nobody will, before the run has put the quorum back."""
    story = replace(stories(mode)["back"], make=lambda one: answers_only_with_a_quorum(one, mode))
    for number, harm in sampled(estates, story, 5):
        gone_on_with(estates, story, number, harm)
        taken_back(estates, story, number, harm)


@BOTH
def test_killed_before_there_is_a_quorum_it_goes_on_although_no_broker_answers(
    estates: Estates, mode: str
) -> None:
    """All waited for the quorum before it was formed; the same command does the rest."""

    def silent(estates: Estates) -> Operator:
        operator = lost(estates, mode)
        operator.estate.clusters["main"].is_silent_without_quorum = True
        return operator

    def there(operator: Operator) -> RunResult:
        return operator.go_on_without("dc1", lower_min_insync=("all",))

    def is_formed(operator: Operator) -> None:
        assert there(operator).outcome == "ok"
        goes_on_alone(operator)

    story = Story(silent, there, is_formed, stands_as_lost)
    for number, harm in sampled(estates, story, 5):
        gone_on_with(estates, story, number, harm)
        taken_back(estates, story, number, harm)


@pytest.mark.drills
@BOTH
@pytest.mark.parametrize("way", ["there", "back"])
def test_killed_anywhere_it_is_gone_on_with_or_taken_back(estates: Estates, mode: str, way: str) -> None:
    """Before and after whatever it does."""
    story = stories(mode)[way]
    for number, harm in each(estates, story):
        gone_on_with(estates, story, number, harm)
        taken_back(estates, story, number, harm)


def test_settings_of_topics_are_lowered_by_what_each_has_then(estates: Estates) -> None:
    """Without a quorum the plan takes them from the file."""
    operator = lost(estates, "kraft")
    operator.estate.clusters["main"].configure("orders", {KEY: "4"})
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    goes_on_alone(operator)
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome == "ok"
    assert wanted(operator)["orders"] == "4"
