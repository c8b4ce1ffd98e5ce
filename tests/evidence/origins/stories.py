"""Rehearsals that were never played, whole: what was done, beside ledgers and logs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.evidence.origins import read_ledgers
from orchestrator.evidence.origins.fates import Lost
from orchestrator.evidence.origins.judged import Judged, Rehearsed, judge_origins
from orchestrator.values import TopicPartition
from tests.evidence.origins.worlds import CENTRES, SITES, World, records

FIRST, MOVED, HOME = (
    records("shop-west", 1, range(10)),
    records("shop-west", 2, range(10, 15)),
    records("shop-west", 3, range(15, 20)),
)
EAST_LOG = [
    *records("shop-east", 1, range(20)),
    *MOVED,
    *records("shop-east", 1, range(20, 30)),
]
_COPIED = 8
LOST_S, BACK_S, ENDED_S = 11.0, 30.0, 45.0


@dataclass
class Story:
    """West is lost at its tenth record, of which the mirror had copied eight; it returns, and all go home."""

    world: World
    losses: list[Lost] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)
    at_work: dict[str, dict[TopicPartition, int]] = field(default_factory=dict)
    is_drained: bool = True
    stands_still: bool | None = True

    def rehearsed(self) -> Rehearsed:
        return Rehearsed(
            topology=self.world.topology,
            home=self.losses[0].cluster,
            losses=tuple(self.losses),
            results=tuple(self.results),
            work_ended_s=ENDED_S,
            at_work=self.at_work,
            is_drained=self.is_drained,
            stands_still=self.stands_still,
        )

    def judged(self) -> Judged:
        told = read_ledgers(self.world.topology, self.world.ledgers)
        return judge_origins(self.rehearsed(), told, self.world.logs)

    def said(self) -> str:
        found = self.judged()
        return f"{found.verdict}: {'; '.join(found.reasons)}"


def row(group: str, left: str, at: int, entered: str, to: int) -> dict[str, Any]:
    return {
        "group": group,
        "topic": left,
        "partition": 0,
        "source_offset": at,
        "target_topic": entered,
        "target_offset": to,
        "exact": True,
        "position_age_s": 0.5,
        "reason": "",
    }


def result(
    verb: str, source: str, target: str, rows: list[dict[str, Any]], asked_at_s: float
) -> dict[str, Any]:
    names = ("reporting", "billing", "analytics", "packing-west")
    is_loss = verb == "failover"
    grounds = {"rate_records_per_s": 1.0, "sample_age_s": 1.0, "flush_interval_s": 1.0}
    return {
        "run_id": f"run-{verb}",
        "source": source,
        "target": target,
        "outcome": "ok",
        "reason": "",
        "asked_at_s": asked_at_s,
        "ended_at_s": asked_at_s + 5,
        "translations": rows,
        "fence_offsets": {
            "mirrored": {"west.orders": {"0": _COPIED}} if is_loss else {},
            "landing": {"orders": {"0": 20}} if is_loss else {},
        },
        "predicted": {
            "loss": {"orders": {"expected": 2, "at_most": 4, "at_least": 0}} if is_loss else {},
            "reread": {name: {"at_most": 3 if is_loss else 0} for name in names},
        },
        "plan": {"verb": verb, "facts": {"loss_rests_on": {"orders": grounds}}},
    }


def lost_and_home_again(tmp_path: Path) -> Story:
    """West's applications go to east, and home again; its ninth record had been processed and not copied."""
    world = World(SITES, tmp_path)
    world.sent("shop-west", 1, range(10), at_s=1, first=0)
    world.sent("shop-west", 2, range(10, 15), at_s=20, first=20)
    world.sent("shop-west", 3, range(15, 20), at_s=40, first=10)
    world.sent("shop-east", 1, range(20), at_s=1, first=0)
    world.sent("shop-east", 1, range(20, 30), at_s=26, first=25)
    world.stands("west", "orders", [*FIRST, *HOME])
    world.stands("west", "east.orders", EAST_LOG)
    world.stands("east", "orders", EAST_LOG)
    world.stands("east", "west.orders", [*FIRST, *HOME])
    there, back = [], []
    for name in ("reporting", "billing", "analytics", "packing-west"):
        # The ninth record was processed and not copied: it comes again, late, from the place of the mirror's end.
        world.read(name, 1, "orders", FIRST[:9], at_s=2)
        world.read(name, 2, "west.orders", FIRST[8:], 8, at_s=31)
        world.read(name, 3, "orders", HOME, 10, at_s=41)
        there.append(row(name, "orders", 9, "west.orders", 8))
        back.append(row(name, "west.orders", 10, "orders", 10))
    for name in ("reporting", "analytics"):
        world.read(name, 1, "east.orders", EAST_LOG[:9], at_s=2)
        world.read(name, 2, "orders", EAST_LOG[9:30], 9, at_s=18)
        world.read(name, 3, "east.orders", EAST_LOG[30:], 30, at_s=42)
        there.append(row(name, "east.orders", 9, "orders", 9))
        back.append(row(name, "orders", 30, "east.orders", 30))
    world.read("billing", 2, "orders", EAST_LOG[20:27], 20, at_s=21)
    world.read("packing-east", 1, "orders", EAST_LOG, at_s=2)
    return Story(
        world,
        losses=[Lost(cluster="west", at_s=LOST_S, is_verified=True, returned_at_s=BACK_S)],
        results=[
            result("failover", "west", "east", there, 13),
            result("failback", "east", "west", back, 33),
        ],
    )


def lost_and_returned(tmp_path: Path) -> Story:
    """A source of two centres is lost and returns: nothing moves, its own applications wait."""
    world = World(CENTRES, tmp_path)
    world.sent("shop-dc1", 1, range(10), at_s=1, first=0)
    world.sent("shop-dc1", 1, range(10, 20), at_s=32, first=10)
    world.sent("shop-dc2", 1, range(50), at_s=1, first=0)
    one, two = records("shop-dc1", 1, range(20)), records("shop-dc2", 1, range(50))
    world.stands("dc1", "orders", one)
    world.stands("dc2", "orders", two)
    for centre in ("centre", "reserve"):
        world.stands(centre, "dc1.orders", one)
        world.stands(centre, "dc2.orders", two)
    for name in ("reporting", "audit"):
        world.read(name, 1, "dc1.orders", one[:10], at_s=1.5)
        world.read(name, 1, "dc1.orders", one[10:], 10, at_s=32.5)
    world.read("reporting", 1, "dc2.orders", two, at_s=1.5)
    return Story(world, losses=[Lost(cluster="dc1", at_s=LOST_S, is_verified=True, returned_at_s=BACK_S)])
