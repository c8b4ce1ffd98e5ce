"""Parts of a drill that need no server: its folder, its sabotages, its report of a refusal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar, cast

import pytest

from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.errors import GateRefusedError, SimulationError, UsageError
from orchestrator.evidence.report import parse_report
from orchestrator.replication.source_gaps import TopicWriters
from orchestrator.runs.plan import RunEvent
from orchestrator.simulation.at_work import unwatched
from orchestrator.simulation.drill import Drill
from orchestrator.simulation.drill_options import DrillOptions, Teller
from orchestrator.simulation.drill_report import DrillFacts, Mark, stopped_report
from orchestrator.simulation.evidence import Evidence
from orchestrator.simulation.return_drill import ReturnDrill
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.sabotage import KINDS, NONE, sabotage_named, shifted_once_placed
from orchestrator.simulation.workload.scenario import SMALL, scenario_named
from orchestrator.snapshot.samples import Round, SampleHistory, TopicEnds, WritersSeen
from orchestrator.snapshot.watched import watched_along, watched_clusters
from orchestrator.topology.loading import load_topology
from orchestrator.values import LogEnd, TopicPartition
from tests.verbs.pictures import MIRROR, history, topology

EXAMPLE = Path(__file__).parents[2] / "topologies" / "active-passive.yaml"
NOW_S = 1_800_000_000.0


def test_two_drills_in_one_second_get_two_folders(tmp_path: Path) -> None:
    """Nobody's evidence is overwritten."""
    first = Evidence.begin(tmp_path, "payments", NOW_S)
    second = Evidence.begin(tmp_path, "payments", NOW_S)
    assert first.folder.name == "payments-20270115-080000"
    assert second.folder.name == "payments-20270115-080000-1"


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """With what to do instead."""
    (tmp_path / "file").touch()
    with pytest.raises(SimulationError, match="--out DIR"):
        Evidence.begin(tmp_path / "file", "payments", NOW_S)


def test_logs_of_a_lost_site_are_kept(tmp_path: Path) -> None:
    """Logs keep their path below the simulation; nothing else is copied."""
    log = tmp_path / "simulation" / "away" / "west" / "broker.log"
    log.parent.mkdir(parents=True)
    log.write_text("last words", encoding="utf-8")
    (log.parent / "disk").touch()
    evidence = Evidence.begin(tmp_path / "drills", "payments", NOW_S)
    evidence.copy_logs(tmp_path / "simulation")
    kept = [path for path in evidence.folder.rglob("*") if path.is_file()]
    assert kept == [evidence.folder / "logs" / "away" / "west" / "broker.log"]


def test_an_unknown_sabotage_or_scenario_names_those_that_there_are() -> None:
    """Usage errors, with the choices."""
    assert sabotage_named(None) is NONE
    with pytest.raises(UsageError, match="offsets, records, duplicates, ledger"):
        sabotage_named("frob")
    with pytest.raises(UsageError, match="default, small, tiny"):
        scenario_named("frob")


def test_only_a_filtering_mirror_needs_marked_records() -> None:
    """The sabotage of records marks some for the mirror to drop; the others leave the load alone."""
    assert sabotage_named("records").applied_to(SMALL, "failover").sabotage_every
    assert sabotage_named("offsets").applied_to(SMALL, "failover") == SMALL


def test_on_the_way_back_it_is_the_life_at_the_standby_that_is_prepared() -> None:
    """Records are marked there alone, and groups leave something to be passed over."""
    marked = sabotage_named("records").applied_to(SMALL, "failback")
    assert (SMALL.sabotage_life, marked.sabotage_life) == (1, 2)
    assert sabotage_named("offsets").applied_to(SMALL, "failback").hold_after_records > 0
    assert sabotage_named("rights").applied_to(SMALL, "failback") == SMALL


def test_positions_are_shifted_once_they_are_written_and_nobody_reads_yet() -> None:
    """Not beyond the end of the log, and at no other step."""
    orders, payments = TopicPartition("orders", 0), TopicPartition("payments", 0)

    class Cluster:
        written: ClassVar[dict[str, dict[TopicPartition, int]]] = {}

        def committed(self, groups: Sequence[str]) -> dict[str, dict[TopicPartition, int]]:
            return {group: {orders: 100, payments: 990} for group in groups}

        def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
            return dict.fromkeys(partitions, 1_000)

        def write_group_offsets(self, group: str, offsets: dict[TopicPartition, int]) -> None:
            self.written[group] = offsets

    told: list[RunEvent] = []
    done: list[str] = []
    take = shifted_once_placed(cast("KafkaCluster", Cluster()), ["billing"], 50, done, told.append)
    event = RunEvent(
        run_id="1", sequence=1, at_s=1.0, kind="step-outcome", step="write-offsets", outcome="ok"
    )
    take(event)
    assert (Cluster.written, done) == ({}, [])
    take(replace(event, sequence=2, step="record-primary"))
    assert Cluster.written == {"billing": {orders: 150, payments: 1_000}}
    assert len(told) == 2
    assert done == ["billing goes on 50 records too far"]


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("drill", [Drill, ReturnDrill])
def test_a_sabotage_that_broke_nothing_has_no_verdict(drill: type[Drill], kind: str) -> None:
    """Nothing is audited, so that nothing is called valid for want of a fault."""
    options = DrillOptions(out=Path(), sabotage=sabotage_named(kind))
    rehearsal = drill(load_topology(EXAMPLE), options, cast("Teller", None), print, print)
    with pytest.raises(SimulationError, match="nothing was broken"):
        rehearsal._refuse_unbroken()
    rehearsal.broken.append("a right")
    rehearsal._refuse_unbroken()
    assert rehearsal._told_broken() == ["sabotage: a right"]


def test_a_refused_failover_has_a_report_of_its_own() -> None:
    """Gates as judged, no step, and a verdict that is not ok."""
    topology = load_topology(EXAMPLE)
    facts = DrillFacts(
        topology=topology,
        mirror=topology.replication[0],
        scenario=SMALL,
        case="over-budget",
        sabotage=None,
        accepted_loss=None,
        started_at_s=NOW_S,
        lost_dc="west",
        fault_at_s=NOW_S + 60,
        fault_verified=True,
    )
    gate = {
        "id": "g",
        "outcome": "refused",
        "measured": "7",
        "limit": "0",
        "reason": "too many",
        "hint": "--accept-loss 7",
    }
    report = stopped_report(
        facts, GateRefusedError("failover", "g refused"), [gate], [Mark(NOW_S + 60, "west killed", "fault")]
    )
    parsed = parse_report(json.dumps({**report, "started_at": NOW_S, "finished_at": NOW_S + 70}))
    assert (parsed.verdict, parsed.case, parsed.scenario) == ("unknown", "over-budget", "small")
    assert parsed.gates[0].outcome == "refused"
    assert parsed.steps == ()


def test_applications_are_at_work_once_the_watcher_knows_how_fast_logs_grow() -> None:
    """Of a site that is lost before nobody could say how much that has cost."""
    seen = WritersSeen(
        watcher="w", block=0, at_s=1.0, topics={name: TopicWriters(name, 3) for name in MIRROR.topics}
    )
    assert list(unwatched(history(seen), watched_along(topology(), MIRROR))) == []
    young = SampleHistory()
    young.add(seen)
    for name in MIRROR.topics:
        young.add(
            TopicEnds(watcher="w", topic=name, block=0, at_s=1.0, topic_id=name, ends={0: LogEnd(0, 5, 0)})
        )
    young.add(Round(watcher="w", begun_at_s=1.0, ended_at_s=1.1, outcome="good"))
    said = f"the watcher does not know yet how fast {', '.join(sorted(MIRROR.topics))} grow"
    assert said in list(unwatched(young, watched_along(topology(), MIRROR)))


def test_a_centre_without_a_mirror_to_the_other_one_is_waited_for_as_well() -> None:
    """Of its groups the watcher at the other centre has to have seen positions: it is all that is left of them."""
    centres = load_topology(EXAMPLE.parents[1] / "tests" / "layouts" / "two-centres.yaml")
    (watched,) = (one for one in watched_clusters(centres) if one.mirror is None)
    assert (watched.cluster, watched.kept_at) == ("centre", "reserve")
    assert list(unwatched(SampleHistory(), watched)) == [
        "the watcher has not recorded reporting yet",
        "the watcher has not recorded audit yet",
    ]


def test_a_site_that_came_back_is_lost_again_once_the_watcher_knows_how_fast_its_logs_grow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One round since is not enough to say what its loss would cost: the failover would be refused."""
    young, seen = SampleHistory(), history()
    for name in MIRROR.topics:
        topics = {name: TopicWriters(name, 3)}
        for known in (young, seen):
            known.add(WritersSeen(watcher="w", block=0, at_s=1.0, topics=topics))
    young.add(Round(watcher="w", begun_at_s=NOW_S, ended_at_s=NOW_S, outcome="good"))
    asked = [young, young, seen]
    monkeypatch.setattr("orchestrator.simulation.return_drill.read_samples", lambda *_: asked.pop(0))
    monkeypatch.setattr("orchestrator.simulation.return_drill.lags", lambda *_: {})
    monkeypatch.setattr("orchestrator.simulation.drill._POLL_S", 0.0)
    monkeypatch.setattr("time.time", lambda: 0.0)
    told: list[str] = []
    teller = SimpleNamespace(stage=lambda _stage, text: told.append(text))
    options = DrillOptions(out=Path(), scenario=replace(SMALL, after_s=0.0))
    drill = ReturnDrill(topology(), options, cast("Teller", teller), print, print)
    simulation = SimpleNamespace(topology=topology(), cluster=lambda name: name)
    drill._work_on(cast("Simulation", simulation), MIRROR.source)
    assert asked == []
    assert "the watcher does not know yet how fast" in told[0]
    assert told[-1] == "all have caught up"
