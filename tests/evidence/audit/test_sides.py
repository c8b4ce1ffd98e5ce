"""The key of the audit: who lived where, and under which name each origin's records stand at each cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

from orchestrator.evidence.audit.inputs import AuditedPlace, AuditInputs
from orchestrator.evidence.audit.kinds import BY_LINES
from orchestrator.evidence.audit.ledgers import PROCESSED_COLUMNS
from orchestrator.evidence.audit.packing import pack_processed
from orchestrator.evidence.audit.sides import LogKey, log_name, logs, named_at, sides_of
from orchestrator.evidence.run_audit import moves_inputs
from orchestrator.topology.loading import load_topology
from orchestrator.values import TopicPartition
from tests.drill.rehearsal import ROOT
from tests.evidence.audit.trips import BACK, COPY, INPUTS, LANDING, OWN

ONE = replace(INPUTS, moves=(), others=())


def test_of_one_move_the_target_alone_is_looked_at() -> None:
    """Its source may be gone."""
    sides = sides_of(ONE)
    assert [log_name(ONE, sides, side, 0) for side in range(len(sides.looked_at))] == [
        "west.orders",
        "orders",
    ]
    assert sides.lives == {1: 0, 2: 1}


def test_of_several_moves_each_origin_is_looked_at_at_each_place() -> None:
    """Under the name that it has there."""
    sides = sides_of(INPUTS)
    names = {side: log_name(INPUTS, sides, side, 0) for side in range(4)}
    assert names == {COPY: "west.orders", LANDING: "orders", OWN: "orders", BACK: "east.orders"}
    assert sides.lives == {1: 0, 2: 1, 3: 0}
    assert dict(logs(INPUTS, sides, 0)) == {
        LogKey(OWN, 0, 0): TopicPartition("orders", 0),
        LogKey(BACK, 0, 0): TopicPartition("east.orders", 0),
    }


def test_three_places_have_a_side_for_each_pair() -> None:
    """Any number of places: what nothing copies somewhere has no name there."""
    north = AuditedPlace(cluster="north", bootstrap=("127.0.0.1:3",), client={})
    third = replace(INPUTS.moves[1], source="west", target="north")
    copies = {"west": {"east": "east.orders"}, "north": {"west": "west.orders"}}
    inputs = replace(
        INPUTS,
        topics=(replace(INPUTS.topics[0], copies=copies),),
        others=(*INPUTS.others, north),
        moves=(*INPUTS.moves, third),
    )
    sides = sides_of(inputs)
    assert sides.places == ("west", "east", "north")
    assert len(sides.looked_at) == 9
    assert named_at(inputs, sides, 2) == {"west.orders": [(0, 0)], "orders": [(2, 0)]}


def test_what_was_processed_bears_the_place_where_it_was_produced(tmp_path: Path) -> None:
    """By the name of its topic where the consumer lived; under one name, by the life that wrote it."""
    origins = _origins(tmp_path, INPUTS, 2, [("west.orders", 1), ("orders", 2)])
    assert origins == [0, 1]
    assert _origins(tmp_path, INPUTS, 3, [("orders", 1), ("east.orders", 2), ("orders", 3)]) == [0, 1, 0]
    identity = replace(ONE, topics=(replace(ONE.topics[0], mirrored="orders", copies={}),))
    assert _origins(tmp_path, identity, 2, [("orders", 1), ("orders", 2)]) == [0, 1]


def _origins(folder: Path, inputs: AuditInputs, life: int, read: list[tuple[str, int]]) -> list[int]:
    ledger = folder / "life.processed.csv"
    lines = [f"{topic},0,{number},checkout,{number},{of},1000,." for number, (topic, of) in enumerate(read)]
    ledger.write_text("\n".join([",".join(PROCESSED_COLUMNS), *lines, ""]), encoding="utf-8")
    packed = folder / "packed.parquet"
    found = pack_processed(inputs, sides_of(inputs), (BY_LINES.ledger, ledger), packed, (0, life))
    assert found == (len(read), len(read))
    return list(pq.read_table(packed)["origin"].to_pylist())


def test_inputs_of_several_moves_are_written_and_read(tmp_path: Path) -> None:
    """`dcctl audit FOLDER` measures them again."""
    INPUTS.write(tmp_path)
    assert AuditInputs.read(tmp_path) == replace(INPUTS, ledgers=str(tmp_path))


def test_ledgers_of_a_folder_are_found_wherever_it_lies(tmp_path: Path) -> None:
    """Named within it; an earlier version named them by where the folder lay then."""
    first, then = tmp_path / "first", tmp_path / "then"
    (first / "ledgers").mkdir(parents=True)
    replace(INPUTS, ledgers=str(first / "ledgers")).write(first)
    assert str(tmp_path) not in (first / "inputs.json").read_text(encoding="utf-8")
    first.rename(then)
    assert AuditInputs.read(then).ledgers == str(then / "ledgers")
    text = (then / "inputs.json").read_text(encoding="utf-8")
    old = text.replace('"ledgers": "ledgers"', f'"ledgers": "{first / "ledgers"}"')
    assert old != text
    (then / "inputs.json").write_text(old, encoding="utf-8")
    assert AuditInputs.read(then).ledgers == str(then / "ledgers")


def test_results_of_runs_become_moves() -> None:
    """Positions are told by origin, whatever the topics are called where they lie."""
    topology = load_topology(ROOT / "topologies" / "active-passive.yaml")
    (mirror,) = topology.replication
    row = {"group": "billing", "partition": 1, "source_offset": 7, "target_offset": 5, "exact": True}
    result = {
        "run_id": "1",
        "outcome": "ok",
        "asked_at_s": 10.0,
        "ended_at_s": 12.5,
        "predicted": {"reread": {"billing": {"at_most": 3}}},
        "spark": [{"query": "revenue", "positions": [{**row, "topic": "west.orders"}]}],
        "translations": [{**row, "topic": "orders"}],
        "fence_offsets": {"mirrored": {"east.orders": {"1": 5}}},
    }
    there = result | {"plan": {"verb": "failover"}, "source": "west", "target": "east", "spark": []}
    back = result | {"plan": {"verb": "failback"}, "source": "east", "target": "west"}
    inputs = moves_inputs(topology, mirror, [there, back], ledgers=Path("ledgers"))
    assert inputs.lives == {1: "west", 2: "east", 3: "west"}
    assert [move.is_source_lost for move in inputs.moves] == [True, False]
    assert [(p.consumer, p.origin, p.topic) for p in inputs.moves[0].positions] == [
        ("billing", "west", "orders")
    ]
    assert [(p.consumer, p.origin, p.topic) for p in inputs.moves[1].positions] == [
        ("billing", "east", "orders"),
        ("revenue", "west", "orders"),
    ]
    assert inputs.moves[1].mirrored_ends == {"east.orders": {1: 5}}
    assert (inputs.moves[1].seconds, inputs.moves[1].reread_at_most) == (2.5, {"billing": 3})
