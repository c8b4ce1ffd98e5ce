"""The cases of a rehearsal: each is declared whole, each that is declared is listed, and names are helped with."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.cli.main import run
from orchestrator.errors import UsageError
from orchestrator.simulation.active_drill import ActiveDrill
from orchestrator.simulation.cases import (
    CASES,
    EXIT_STATUS,
    Case,
    accepted_reread,
    asked_for,
    case_named,
    cases_at,
    cases_of,
    faults_of,
    load_named,
)
from orchestrator.simulation.drill import Drill
from orchestrator.simulation.rehearsals import rehearsal_of
from orchestrator.simulation.return_drill import ReturnDrill
from orchestrator.simulation.sabotage import KINDS, NONE, sabotage_named
from orchestrator.simulation.stretched_drill import StretchedDrill
from orchestrator.simulation.workload.scenario import DEFAULT, SCENARIOS, SMALL, TINY
from orchestrator.topology.loading import load_topology
from orchestrator.topology.verbs import MOVING_VERBS

EXAMPLE = Path(__file__).parents[2] / "topologies" / "active-passive.yaml"
STRETCHED = EXAMPLE.with_name("stretched-2dc.yaml")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_case_is_declared_whole(case: Case) -> None:
    """Fault, verb, expectation and seconds, under each load; a sabotage with words and a verdict of its own."""
    assert case.verb in MOVING_VERBS
    assert case.expected in EXIT_STATUS
    assert case.says
    assert (case.sabotage is NONE) or case.sabotage.says in case.says
    for load in SCENARIOS.values():
        assert bool(faults_of(case.verb, load)) == (case.verb != "switchover")
        assert case.fault(load)
        assert 10 < case.took(load).seconds < 3_600
    if case.sabotage is NONE and case.budget_records is None:
        assert (case.name, case.expected) == (case.verb, "valid")
        assert case.took(TINY).is_measured
    else:
        assert case.expected != "valid", "what is broken has to be found"


def test_each_verb_has_a_case_alone_and_with_each_sabotage() -> None:
    """Names are unique, and none is that of a load."""
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert not set(names) & set(SCENARIOS)
    assert set(MOVING_VERBS) <= set(names)
    kinds = {kind for kind, sabotage in KINDS.items() if sabotage.is_of_moves}
    assert {f"{verb}-{kind}" for verb in MOVING_VERBS for kind in kinds} <= set(names)


def test_more_to_do_takes_longer_and_is_said_to_be_an_estimate() -> None:
    """Until somebody has measured it."""
    for case in CASES:
        took = [case.took(load) for load in (TINY, SMALL, DEFAULT)]
        assert took == sorted(took, key=lambda one: one.seconds)
        assert not took[2].is_measured


def test_each_declared_case_is_listed_as_declared(capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON all of it; for people the names, and which have no place in this file, and why."""
    assert run(["drill", str(EXAMPLE), "--list", "--load", "tiny", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["topology"], said["load"], said["loads"]) == ("payments", "tiny", list(SCENARIOS))
    assert [row["name"] for row in said["cases"]] == [case.name for case in CASES]
    for case, row in zip(CASES, said["cases"], strict=True):
        assert row["verb"] == case.verb
        assert row["fault"] == case.fault(TINY)
        assert row["expected"] == {"verdict": case.expected, "exit_status": EXIT_STATUS[case.expected]}
        assert (row["seconds"], row["is_measured"]) == (case.took(TINY).seconds, case.took(TINY).is_measured)
        assert bool(row["lacks"]) == case.name.endswith("-rights"), "its producers write one topic each"
    assert run(["drill", str(EXAMPLE), "--list"]) == 0
    shown = capsys.readouterr().out
    assert all(case.name in shown for case in CASES)
    assert "producer checkout has no principal of its own that writes two topics" in shown


LAYOUTS = Path(__file__).parents[1] / "layouts"


@pytest.mark.parametrize(
    ("path", "left", "waiting"),
    [
        (LAYOUTS / "two-sites.yaml", ["west", "east"], []),
        (LAYOUTS / "two-centres.yaml", ["centre"], ["dc1", "dc2", "reserve"]),
        (EXAMPLE.with_name("active-active.yaml"), ["west", "east"], []),
        (EXAMPLE.with_name("aggregation.yaml"), [], ["dc1", "dc2", "centre"]),
        (EXAMPLE.with_name("aggregation-two-centres.yaml"), ["centre"], ["dc1", "dc2", "reserve"]),
    ],
    ids=lambda value: value.stem if isinstance(value, Path) else "",
)
def test_each_cluster_that_can_be_lost_has_cases_that_can_run(
    path: Path, left: list[str], waiting: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its applications go elsewhere, or wait. Where nobody writes there is nothing to lose, and no right to
    withdraw; where nothing moves no position can be broken.
    """
    assert run(["drill", str(path), "--list", "--load", "tiny", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["cases"]
    assert {row["leaves"] for row in rows} == {*left, *waiting}
    assert len({row["name"] for row in rows}) == len(rows)
    writers = {producer.cluster for producer in load_topology(path).producers}
    for cluster in (*left, *waiting):
        own = {row["name"].removesuffix(f"-{cluster}"): row for row in rows if row["leaves"] == cluster}
        expected = {case.name for case in CASES}
        if cluster not in writers:
            expected -= {"over-budget", *(f"{verb}-rights" for verb in MOVING_VERBS)}
        if cluster in waiting:
            expected = {"return", "return-records", "return-duplicates", "return-ledger"}
        assert set(own) == expected
        for name, row in own.items():
            assert row["seconds"] > 10
            assert f"{cluster} is {'lost' if cluster in waiting else 'left'}" in row["says"]
            assert bool(row["lacks"]) == name.endswith("-rights"), "its producers write one topic each"
            assert row["fault"] == ("site lost" if cluster in waiting else faults_in_words(row["verb"]))
    assert run(["drill", str(path), "--list"]) == 0
    assert "cannot rehearse it yet" not in capsys.readouterr().out


def faults_in_words(verb: str) -> str:
    return "none" if verb == "switchover" else "site lost, mirror stalls"


def test_the_site_that_is_lost_is_chosen_or_is_the_first_one() -> None:
    """By its cluster or by its site; the first case of what is asked for otherwise."""
    sites = load_topology(LAYOUTS / "two-sites.yaml")
    assert asked_for(None, None, None, NONE, cases_at(None, sites))[0].name == "failover-west"
    assert asked_for(None, None, "failback", NONE, cases_at("east", sites))[0].name == "failback-east"
    one_centre = load_topology(EXAMPLE.with_name("aggregation.yaml"))
    assert asked_for(None, None, None, NONE, cases_at(None, one_centre))[0].name == "return-dc1"
    assert asked_for(None, None, None, NONE, cases_at("centre", one_centre))[0].name == "return-centre"
    with pytest.raises(UsageError, match="--lose centr") as caught:
        cases_at("centr", one_centre)
    assert "did you mean centre?" in caught.value.hint
    with pytest.raises(UsageError, match="does not go with a failover of this file"):
        asked_for(None, None, "failover", NONE, cases_at("dc1", one_centre))


def test_what_judges_a_rehearsal_follows_from_the_layout() -> None:
    """One mirror, or several clusters at work."""
    passive, sites = load_topology(EXAMPLE), load_topology(LAYOUTS / "two-sites.yaml")
    assert [rehearsal_of(passive, case_named(verb)) for verb in MOVING_VERBS] == [Drill, Drill, ReturnDrill]
    assert {rehearsal_of(sites, case) for case in cases_of(sites)} == {ActiveDrill}


def test_a_layout_that_cannot_be_rehearsed_lists_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """In the words with which the rehearsal itself would be refused."""
    file = str(EXAMPLE.with_name("one-location.yaml"))
    assert run(["drill", file, "--list"]) == run(["drill", file])
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("layout one-location (only active-active, active-passive, aggregation, ") == 2


def test_each_site_of_a_stretched_cluster_has_cases(capsys: pytest.CaptureFixture[str]) -> None:
    """Where it has brokers it can be left by plan as well, and topics can wait for it."""
    file = EXAMPLE.with_name("stretched-2.5dc.yaml")
    assert run(["drill", str(file), "--list", "--load", "tiny", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["cases"]
    names = {
        site: {row["name"] for row in rows if row["leaves"] == site} for site in ("dc1", "dc2", "witness")
    }
    assert names["dc2"] == {"site-lost-dc2", "waits-dc2", "evacuated-dc2", "powered-off-dc2"}
    assert names["dc1"] == {
        "site-lost-dc1",
        "waits-dc1",
        "evacuated-dc1",
        "powered-off-dc1",
        "site-lost-dc1-ledger",
        "site-lost-dc1-min-insync",
    }
    assert names["witness"] == {"site-lost-witness"}
    assert not any(row["lacks"] for row in rows)
    topology = load_topology(file)
    assert {rehearsal_of(topology, case) for case in cases_of(topology)} == {StretchedDrill}
    assert [case.name for case in cases_at("witness", topology)] == ["site-lost-witness"]
    assert asked_for(None, None, None, NONE, cases_at("dc2", topology))[0].name == "site-lost-dc2"
    with pytest.raises(UsageError) as caught:
        cases_at("dc3", topology)
    assert "did you mean dc2?" in caught.value.hint or "dc1, dc2, witness" in caught.value.hint


def test_who_runs_at_several_sites_is_not_rehearsed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A simulation has one process of each application, at one site."""
    text = STRETCHED.read_text(encoding="utf-8").replace(
        "{name: checkout, cluster: main,", "{name: checkout, cluster: main, instances: {dc1: 1, dc2: 1},"
    )
    file = tmp_path / "both.yaml"
    file.write_text(text, encoding="utf-8")
    assert run(["drill", str(file)]) == 7
    assert "checkout has instances at several sites" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "case", "load"),
    [
        ((None, None, None), "failover", DEFAULT),
        (("small", None, None), "failover", SMALL),
        (("tiny", None, "failback"), "failback", TINY),
        (("tiny", "tiny", "switchover"), "switchover", TINY),
        (("failback", "tiny", None), "failback", TINY),
        (("failback-ledger", None, "failback"), "failback-ledger", DEFAULT),
        (("over-budget", "small", None), "over-budget", SMALL),
    ],
)
def test_a_scenario_is_a_case_or_as_ever_a_load(
    words: tuple[str | None, str | None, str | None], case: str, load: object
) -> None:
    """What earlier versions took means what it meant."""
    asked, chosen = asked_for(*words, NONE)
    assert (asked.name, chosen) == (case, load)


def test_a_verb_and_a_sabotage_are_the_case_that_they_describe() -> None:
    """So each rehearsal has a name."""
    asked, _ = asked_for("tiny", None, "switchover", sabotage_named("offsets"))
    assert asked == case_named("switchover-offsets")
    assert asked_for("switchover-offsets", None, None, sabotage_named("offsets"))[0] == asked


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("failbak", None, None), "did you mean failback?"),
        (("tinny", None, None), "did you mean tiny?"),
        ((None, "smal", None), "did you mean small?"),
        ((None, None, "failovr"), "did you mean failover?"),
        (("tiny", "small", None), "give one of them"),
        (("failback", None, "failover"), "leave --verb out"),
    ],
)
def test_an_unknown_name_is_helped_with_and_a_contradiction_refused(
    words: tuple[str | None, str | None, str | None], told: str
) -> None:
    """Before anything is started."""
    with pytest.raises(UsageError) as caught:
        asked_for(*words, NONE)
    assert told in caught.value.hint


def test_a_case_and_another_sabotage_contradict_each_other() -> None:
    """Also where the case breaks nothing: it would end otherwise than it is declared to."""
    for name in ("failover", "failover-ledger"):
        with pytest.raises(UsageError, match="--sabotage says offsets"):
            asked_for(name, None, None, sabotage_named("offsets"))
    with pytest.raises(UsageError) as caught:
        sabotage_named("ofsets")
    assert "did you mean offsets?" in caught.value.hint


def test_only_where_positions_are_not_exact_is_anything_accepted_to_be_read_again() -> None:
    """Any other planned move or way back has to be exact, or is refused."""
    file = load_topology(EXAMPLE)
    producers = tuple(replace(one, transactional_ids=("checkout",)) for one in file.producers)
    for kind in KINDS:
        sabotage = sabotage_named(kind)
        assert bool(accepted_reread(file, sabotage)) == (kind == "records")
        assert accepted_reread(replace(file, producers=producers), sabotage) > 100_000


def test_a_budget_of_a_case_takes_the_place_of_the_files() -> None:
    """Every other case is rehearsed with the file as it is."""
    file = load_topology(EXAMPLE)
    for case in CASES:
        rehearsed = case.applied_to(file)
        if case.budget_records is None:
            assert rehearsed is file
        else:
            assert rehearsed.failover.max_loss.records == case.budget_records
            assert rehearsed.failover.max_loss.seconds is None
    with pytest.raises(UsageError):
        load_named("failover")
