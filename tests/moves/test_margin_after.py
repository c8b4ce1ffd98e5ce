"""What the next loss would stop once a plan within a cluster is done: held against losing it for real."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.moves.within_cluster.foreseen import foreseen
from orchestrator.moves.within_cluster.margin_after import AfterPlan, margin_in_words, margin_of
from orchestrator.moves.within_cluster.writes import stopped
from orchestrator.ports.servers import Placement, TopicDescription
from orchestrator.topology.durability.analysis import explain_topology
from orchestrator.topology.durability.losses import loss_of
from orchestrator.topology.loading import load_topology
from orchestrator.verbs.registration import PARTICIPANTS

TOPOLOGIES = Path(__file__).parents[2] / "topologies"
SITES = {1: "dc1", 2: "dc1", 3: "dc2", 4: "dc2"}
replicas = st.lists(st.sampled_from(sorted(SITES)), min_size=1, max_size=4, unique=True).map(tuple)
partition = replicas.flatmap(
    lambda those: st.lists(st.sampled_from(those), min_size=1, unique=True).map(
        lambda isr: (those, tuple(isr))
    )
)


def topic(name: str, rows: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> TopicDescription:
    """With these replicas and those of them that are in sync."""
    return TopicDescription(
        name, "", tuple(isr[0] for _, isr in rows), tuple(r for r, _ in rows), tuple(i for _, i in rows)
    )


@given(
    st.lists(st.lists(partition, min_size=1, max_size=3), min_size=1, max_size=3),
    st.lists(st.integers(1, 4), min_size=3, max_size=3),
)
def test_it_is_what_stops_where_that_broker_or_site_is_taken_away(
    topics: list[list[tuple[tuple[int, ...], tuple[int, ...]]]], least: list[int]
) -> None:
    """Each by itself, over three sites whose quorum goes on without any broker."""
    found = {f"t{at}": topic(f"t{at}", rows) for at, rows in enumerate(topics)}
    wanted = {name: least[at] for at, name in enumerate(found)}
    placement = Placement(found, SITES, frozenset(SITES))
    file = load_topology(TOPOLOGIES / "stretched-2.5dc-kraft.yaml")
    margin = margin_of(file, "main", AfterPlan(placement=placement, min_insync=wanted))
    told = {name: set(one.topics) for one in margin for name in one.names}
    before = set(stopped(placement, wanted))
    units = {f"broker {number}": {number} for number in SITES} | {"dc1": {1, 2}, "dc2": {3, 4}}
    for name, taken in units.items():
        after = replace(placement, living=placement.living - taken)
        gone = {
            name
            for name, its in found.items()
            if any(not after.living.intersection(isr) for isr in its.isr) or name in stopped(after, wanted)
        }
        assert told.get(name, set()) == gone - before, name


@pytest.mark.parametrize("layout", ["stretched-2dc-kraft", "stretched-2dc"])
def test_three_voters_that_are_the_whole_quorum_can_lose_one(layout: str) -> None:
    """Their files have no groups any more; before the plan, none of them could be missed."""
    file = load_topology(TOPOLOGIES / f"{layout}.yaml")
    placement = Placement({}, {}, frozenset())
    alone = AfterPlan(placement=placement, min_insync={}, lost=("dc1",), without=("dc1",))
    said = margin_in_words(margin_of(file, "main", alone))
    assert said == "then the loss of dc2 would stop changes of metadata"
    assert margin_of(file, "main", replace(alone, without=())) == ()


@pytest.mark.parametrize(
    ("version", "words"), [("4.3.1", []), ("3.9.1", ["--accept-unproven"]), ("3.7.2", None)]
)
def test_explain_says_where_nobody_has_tried_it_and_where_nobody_can(
    version: str, words: list[str] | None
) -> None:
    """By the gate itself; where nothing can be done no step is told."""
    file = load_topology(TOPOLOGIES / "stretched-2dc-kraft.yaml")
    file = replace(file, clusters={"main": replace(file.clusters["main"], kafka=version)})
    (loss,) = explain_topology(file, [loss_of(file, ["dc1"])]).losses
    found = foreseen(file, "main", ["dc1"], loss.clusters["main"], PARTICIPANTS)
    assert bool(found.steps) == (words is not None)
    assert [word for word in found.overrides if not word.startswith("--lower")] == (words or [])


def test_explain_says_beforehand_that_a_word_would_be_needed() -> None:
    """By the gate itself: a topic with one replica a site, that prefers to be written, is lowered to one."""
    file = load_topology(TOPOLOGIES / "stretched-2.5dc-kraft.yaml")
    orders = replace(
        next(one for one in file.topics if one.name == "orders"),
        replicas=2,
        min_insync_replicas=2,
        replicas_per_dc={"dc1": 1, "dc2": 1},
        prefer="availability",
    )
    file = replace(file, topics=(orders,))
    (loss,) = explain_topology(file, [loss_of(file, ["dc1"])]).losses
    assert "--accept-margin" in foreseen(file, "main", ["dc1"], loss.clusters["main"], PARTICIPANTS).overrides
