"""What has returned, judged twice: by the gate before anything is touched, and by the step once it is held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.errors import ClusterError
from orchestrator.mirrors.mirrormaker2 import rejoining
from orchestrator.mirrors.mirrormaker2.rejoining import CompareRejoining
from orchestrator.moves.ports import Seen
from orchestrator.moves.results import RejoiningLogs
from orchestrator.ports.part import Part
from orchestrator.replication.mirror_ref import MirrorRef, source_partitions
from orchestrator.runs.effect import Done, Failed, Handle, Outcome, Unknown
from orchestrator.runs.estate_record import LogsTruncated
from orchestrator.runs.plan import GateResult
from orchestrator.runs.ports import Clusters, EstateRecord
from orchestrator.topology.model import Topology
from orchestrator.values import EpochEnd, LogEnd, TopicPartition
from orchestrator.verbs.plans import plan_failback
from tests.verbs.failback_pictures import END, REQUEST, picture, topology
from tests.verbs.pictures import AHEAD, MIRROR, MIRRORED, part, with_cluster, with_mirror

PARTITIONS = source_partitions(topology(), MIRROR)
FIRST = PARTITIONS[0]
_AT_ITS_END = EpochEnd(1, END)
_NO_ANSWER = ClusterError("cluster west", "no answer within 3 s")
# It was left in epoch 1; by now it has grown beyond its end.
GROWN = LogEnd(0, END + 500, 2)


@dataclass(frozen=True, kw_only=True)
class Case:
    """The first log and where its old epoch ends now; what a person accepts."""

    log: LogEnd = GROWN
    old_end: EpochEnd | ClusterError = _AT_ITS_END
    read: int = MIRRORED
    accept_loss: int = 0
    accept_unrecorded: bool = False

    @property
    def logs(self) -> dict[TopicPartition, LogEnd]:
        return {**dict.fromkeys(PARTITIONS, GROWN), FIRST: self.log}

    @property
    def old_ends(self) -> dict[TopicPartition, EpochEnd | ClusterError]:
        return {**dict.fromkeys(PARTITIONS, EpochEnd(1, END)), FIRST: self.old_end}

    @property
    def last_read(self) -> dict[TopicPartition, int]:
        return {**dict.fromkeys(PARTITIONS, MIRRORED - 1), FIRST: self.read - 1}


def gate(case: Case) -> GateResult:
    """By the plan."""
    epoch_ends: Part[Mapping[TopicPartition, EpochEnd]] = (
        Part("cluster west", 0.0, None, case.old_end.problem)
        if isinstance(case.old_end, ClusterError)
        else part({tp: end for tp, end in case.old_ends.items() if isinstance(end, EpochEnd)})
    )
    seen = with_cluster(picture(), "west", log_ends=part(case.logs), epoch_ends=epoch_ends)
    seen = with_mirror(seen, AHEAD, read=part(case.last_read))
    request = replace(REQUEST, accept_loss=case.accept_loss, accept_unrecorded=case.accept_unrecorded)
    (judged,) = (g for g in plan_failback(topology(), seen, request).gates if g.id == "returned-log")
    return judged


def step(case: Case, monkeypatch: pytest.MonkeyPatch) -> tuple[Outcome[RejoiningLogs], list[Any]]:
    """By the step, and what it has recorded."""
    monkeypatch.setattr(rejoining, "copied_up_to", lambda *_, **__: case.last_read)
    monkeypatch.setattr(rejoining, "mirror_position", lambda *_: {})
    copies = picture().cluster("east").log_ends.value or {}
    clusters = {
        "west": SimpleNamespace(brokers=lambda: {1: "west-1:9092"}, log_ends=lambda _: case.logs),
        "east": SimpleNamespace(log_ends=lambda tps: {tp: copies[tp] for tp in tps}),
    }

    @contextmanager
    def reader(_: str) -> Iterator[Any]:
        yield SimpleNamespace(epoch_ends=lambda _, epochs: {tp: case.old_ends[tp] for tp in epochs})

    facts: list[Any] = []
    past = picture().past.value
    ports: dict[Any, Any] = {
        Seen: SimpleNamespace(past=lambda: past, samples=lambda _: None),
        Clusters: SimpleNamespace(cluster=clusters.__getitem__, log_end_reader=reader),
        EstateRecord: SimpleNamespace(write=facts.append),
        Topology: topology(),
    }
    effect = CompareRejoining(
        mirror=MirrorRef(source="west", target="east"),
        standing=Handle("returned-stands-still", "await-no-writes"),
        accept_loss=case.accept_loss,
        accept_unrecorded=case.accept_unrecorded,
    )
    run: Any = SimpleNamespace(port=ports.__getitem__)
    return effect.perform(run), facts


CUT = EpochEnd(1, MIRRORED - 5)
LOST = END - MIRRORED + 5
CASES = {
    "whole": (Case(), "ok"),
    "cut, and grown": (Case(old_end=CUT), "refused"),
    "less accepted": (Case(old_end=CUT, accept_loss=LOST - 1), "refused"),
    "just that accepted": (Case(old_end=CUT, accept_loss=LOST), "ok"),
    "cannot be asked": (Case(old_end=_NO_ANSWER), "unknown"),
    "no newer epoch": (Case(log=LogEnd(0, END + 500, 1), old_end=EpochEnd(1, END + 500)), "ok"),
    "a newer epoch behind its end": (Case(read=END + 9, old_end=EpochEnd(1, END + 4)), "unknown"),
    "that accepted": (Case(read=END + 9, old_end=EpochEnd(1, END + 4), accept_unrecorded=True), "ok"),
    "no such epoch": (Case(old_end=EpochEnd(-1, -1)), "refused"),
}


@pytest.mark.parametrize("name", CASES)
def test_gate_and_step_judge_alike(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the same logs."""
    case, expected = CASES[name]
    assert gate(case).outcome == expected
    outcome, _ = step(case, monkeypatch)
    assert isinstance(outcome, {"ok": Done, "refused": Failed, "unknown": Unknown}[expected]), outcome


def test_the_mirror_is_set_to_the_cut_which_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though its position is well within the log."""
    outcome, facts = step(CASES["just that accepted"][0], monkeypatch)
    assert isinstance(outcome, Done)
    assert outcome.result.set_offsets == ((FIRST.topic, FIRST.partition, MIRRORED - 6),)
    assert outcome.result.missing == {FIRST: END - MIRRORED}
    assert outcome.result.target_only == {FIRST: 5}
    cut = (FIRST.topic, FIRST.partition, ((MIRRORED - 5, MIRRORED),))
    assert facts == [LogsTruncated(home="west", standby="east", truncations=(cut,))]


def test_what_the_ends_alone_tell_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person reads on what the ok rests."""
    case, _ = CASES["no newer epoch"]
    assert "1 partition compared by end offset only" in gate(case).reason
    outcome, _ = step(case, monkeypatch)
    assert isinstance(outcome, Done)
    assert "1 log compared by end offset only" in outcome.message
    assert "only" not in gate(CASES["whole"][0]).reason


def test_what_nobody_can_tell_names_the_log() -> None:
    """Which one, and what has been seen."""
    said = gate(CASES["a newer epoch behind its end"][0])
    assert str(FIRST) in said.reason
    assert "--accept-unrecorded" in said.hint
    assert "no answer" in gate(CASES["cannot be asked"][0]).reason
