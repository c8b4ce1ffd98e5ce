"""What a part of a site is: who goes with whom, what is refused by name, and who is away by earlier runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import DcctlError, GateRefusedError, UsageError
from orchestrator.moves.request import FailbackRequest, FailoverRequest, SwitchoverRequest
from orchestrator.moves.way import Leg, Way
from orchestrator.moves.ways import way_to_fail_back, way_to_fail_over, way_to_switch_over
from orchestrator.runs.coordination_state import Away, CoordinationState, EarlierRun, away
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology
from orchestrator.verbs.plans import plan_switchover
from orchestrator.verbs.registration import PARTICIPANTS
from tests.moves.test_ways import WEST_EAST
from tests.verbs import pictures
from tests.verbs.pictures import part
from tests.verbs.test_switchover import picture

SMALL = load_topology(Path(__file__).parents[1] / "faults" / "small.yaml")
ALONG = ((Leg(mirror=WEST_EAST),),)


def switched(file: Topology = SMALL, **asked: Any) -> Way:
    return way_to_switch_over(file, SwitchoverRequest(to="east", **asked), PARTICIPANTS)


def back(file: Topology = SMALL, **asked: Any) -> Way:
    return way_to_fail_back(file, FailbackRequest(to="west", **asked), PARTICIPANTS)


def named(way: Way) -> list[str]:
    return [item.name for item in way.items]


def test_nothing_named_is_everything() -> None:
    """The way is what it was."""
    way = switched()
    assert not way.is_part
    assert (way.drains, way.passes, way.topics) == ((WEST_EAST,), (), ("orders", "payments"))


def test_a_consumer_alone_needs_no_mirror_to_stand_and_no_topic_to_move() -> None:
    """It is denied, and nobody else."""
    way = switched(applications=("billing",))
    assert (named(way), way.topics, way.feeds, way.pauses) == (["billing"], (), (), ())
    assert way.routes("billing") == ALONG
    assert way.who.principals == ("User:billing",)
    home = back(applications=("billing",))
    assert (home.left.cluster, home.entered.cluster, home.case) == ("east", "west", "planned")
    assert home.routes("billing") == ((Leg(mirror=WEST_EAST, is_inverse=True),),)


def test_a_consumer_alone_cannot_leave_a_site_that_is_lost() -> None:
    """Its map could only be read to the end by a mirror that goes on, and that one's source is gone."""
    asked = FailoverRequest(attested=("west",), to="east", applications=("billing",))
    with pytest.raises(GateRefusedError, match="billing alone: cannot leave west, which is lost or degraded"):
        way_to_fail_over(SMALL, asked, PARTICIPANTS)


def test_a_topic_goes_with_all_that_write_and_read_it_and_its_mirror_goes_on() -> None:
    """Who reads another one as well goes along; who has nothing to do with it stays."""
    way = switched(topics=("orders",))
    assert named(way) == ["checkout", "billing", "shipping", "fraud"]
    assert (way.topics, way.drains, way.passes, way.left_out) == (("orders",), (), (WEST_EAST,), ())
    assert way.who.principals == ("User:billing", "User:checkout", "User:fraud", "User:shipping")
    home = back(topics=("orders",))
    assert (home.drains, home.pauses, home.topics) == ((WEST_EAST.other_way,), (WEST_EAST,), ("orders",))
    assert home.case == "back"


def test_all_but_some_is_what_is_left_of_all() -> None:
    """Who stays and reads what moves is remembered: it has to be there already."""
    way = switched(left_out=("billing",))
    assert (way.drains, way.passes, way.left_out) == ((WEST_EAST,), (), ("billing",))
    assert "User:billing" not in way.who.principals
    of_topic = switched(left_out=("orders",))
    assert (named(of_topic), of_topic.topics, of_topic.left_out) == (
        ["settlement"],
        ("payments",),
        ("fraud",),
    )
    lost = way_to_fail_over(
        SMALL, FailoverRequest(attested=("west",), to="east", left_out=("orders",)), PARTICIPANTS
    )
    assert (lost.drains, lost.reach, lost.topics) == ((WEST_EAST,), "gone", ("payments",))


def both_written(file: Topology) -> Topology:
    checkout, settlement = file.producers
    return replace(file, producers=(replace(checkout, topics=("orders", "payments")), settlement))


def reading_copies(file: Topology) -> Topology:
    search = replace(file.consumers[0], name="search", cluster="east", topics=("west.orders",))
    return replace(file, consumers=(*file.consumers, replace(search, principal="User:search")))


def one_principal(file: Topology) -> Topology:
    return replace(file, consumers=tuple(replace(c, principal="User:all") for c in file.consumers))


@pytest.mark.parametrize(
    ("change", "asked", "said", "way_out"),
    [
        (both_written, {"topics": ("orders",)}, "checkout: writes payments", "--topics orders,payments"),
        (lambda file: file, {"applications": ("checkout",)}, "checkout: writes orders", "--topics orders"),
        (
            lambda file: file,
            {"topics": ("orders",), "left_out": ("checkout",)},
            "topic orders: is written by checkout as well",
            "checkout has to come along",
        ),
        (
            reading_copies,
            {"topics": ("orders",)},
            "consumer search: reads west.orders at east, and would not see what is written to orders at east",
            "let it read orders there as well",
        ),
        (
            one_principal,
            {"applications": ("billing",)},
            "billing and shipping: have the same principal User:all",
            "give each its own principal",
        ),
    ],
)
def test_what_would_be_torn_is_refused_with_what_has_to_come_along(
    change: Any, asked: dict[str, Any], said: str, way_out: str
) -> None:
    """As a gate refuses: status 4, before anything is asked."""
    with pytest.raises(GateRefusedError) as refused:
        switched(change(SMALL), **asked)
    assert said in str(refused.value)
    assert way_out in refused.value.hint
    assert refused.value.exit_status == 4


def test_a_name_that_is_nothing_there_is_a_mistake() -> None:
    """With what is known."""
    with pytest.raises(UsageError, match=r"--topics order: is nothing that goes from west to east\n.*orders"):
        switched(topics=("order",))
    with pytest.raises(UsageError, match="nothing is left"):
        switched(applications=("billing",), left_out=("billing",))


def test_a_query_does_not_go_without_the_mirror_standing() -> None:
    """Its checkpoint is relocated only behind one that does."""
    with pytest.raises(DcctlError, match="query revenue: cannot go from west to east"):
        plan_switchover(
            pictures.topology(), picture(), SwitchoverRequest(to="east", applications=("revenue",))
        )


def run(run_id: str, verb: str, part: tuple[str, ...] | None = None, outcome: str = "ok") -> EarlierRun:
    ends = ("east", "west") if verb == "failback" else ("west", "east")
    return EarlierRun(run_id, verb, *ends, 1.0, outcome, part=part)


def test_who_is_away_is_what_the_runs_have_left() -> None:
    """One that was taken back, or has not ended, says nothing."""
    billing = run("1", "switchover", ("billing",))
    assert away([], "west", "east") == Away()
    assert away([billing], "west", "east").named == {"billing": "1"}
    home = away([billing, run("2", "failback", ("billing",))], "west", "east")
    assert (home.by("billing"), home.by("fraud"), home.is_in_parts) == ("", "", True)
    everybody = away([billing, run("2", "switchover"), run("3", "failback", ("fraud",))], "west", "east")
    assert (everybody.by("billing"), everybody.by("fraud")) == ("2", "")
    for outcome in ("undone", "incomplete", "unknown", "refused"):
        assert away([run("1", "switchover", ("billing",), outcome)], "west", "east") == Away()
    assert away([billing], "east", "west") == Away()
    assert away([billing, run("2", "failback")], "west", "east") == Away()


def judged(runs: tuple[EarlierRun, ...] | None, **asked: Any) -> dict[str, tuple[str, str]]:
    state: Any = pictures.ABSENT if runs is None else part(CoordinationState("", runs=runs))
    seen = pictures.with_parts(picture(), coordination=state)
    plan = plan_switchover(pictures.topology(), seen, SwitchoverRequest(to="east", **asked))
    return {gate.id: (gate.outcome, gate.reason) for gate in plan.gates}


def test_the_gate_is_there_only_where_somebody_is_chosen_or_away() -> None:
    """A file that is moved as a whole has the gates that it had."""
    assert "selection" not in judged(())
    assert judged((), applications=("billing",))["selection"][0] == "ok"
    outcome, reason = judged((run("1", "switchover", ("billing",)),))["selection"]
    assert outcome == "refused"
    assert reason == "billing works at east already, since run 1"


def test_who_is_away_is_not_guessed() -> None:
    """Where the ensemble does not answer, or a run's record does not say whom it has moved."""
    assert judged(None, applications=("billing",))["selection"][0] == "unknown"
    outcome, reason = judged((run("1", "switchover", ()),))["selection"]
    assert outcome == "unknown"
    assert "which applications run 1 has moved" in reason
