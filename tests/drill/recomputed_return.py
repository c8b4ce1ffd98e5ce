"""The report of a rehearsal there and back, counted once more from what lies beside it. No code of the product."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.drill.ledger_folder import Folder, Number


@dataclass
class Trip:
    """What clients wrote down of several lives.

    `acked`: topic -> number -> the first life in which it was acknowledged. `placed`: topic and life -> number ->
    partition and offset. `processed`: group and life -> numbers with where they were produced. `origins`: in the
    logs of which places a number was read.
    """

    acked: dict[str, dict[Number, int]]
    placed: dict[tuple[str, int], dict[Number, tuple[int, int]]]
    processed: dict[tuple[str, int], list[tuple[Number, str]]]
    origins: dict[Number, set[str]]


def _trip(folder: Folder) -> Trip:
    lives = range(1, len(folder.results) + 2)
    place = {1: folder.source} | {n: result["target"] for n, result in enumerate(folder.results, 2)}
    trip = Trip({topic: {} for topic in folder.mirrored}, defaultdict(dict), {}, defaultdict(set))
    for producer in folder.inputs["producers"]:
        for life in lives:
            for row in folder.acks(producer["name"], life):
                who = (producer["name"], int(row["sequence"]))
                trip.acked[row["topic"]].setdefault(who, life)
                trip.placed[row["topic"], life][who] = (int(row["partition"]), int(row["offset"]))
    for consumer in folder.groups:
        for life in lives:
            rows = list(_read(folder, consumer["name"], life, place[life]))
            trip.processed[consumer["name"], life] = rows
            for who, origin in rows:
                trip.origins[who].add(origin)
    return trip


def returned(folder: Folder) -> None:
    """There and back: what each move came to, and what is there in the end, each record counted once."""
    report, trip = folder.report, _trip(folder)
    _in_the_end(folder, trip)
    late: set[Number] = set()
    for index, move in enumerate(report["moves"]):
        behind = _left_behind(folder, trip, index)
        late |= behind
        label = f"moves.{index + 1}"
        folder.check(f"{label}.late", len(behind), move["late"])
        if move["verb"] == "failover":
            stated = [row["at_most"] for row in folder.results[index]["plan"]["predicted"]["loss"].values()]
            folder.check(f"{label}.late_at_most", sum(stated), move["late_at_most"])
        _move(folder, trip, index, late)
    losses = [move["late"] for move in report["moves"] if move["verb"] == "failover"]
    pauses = [move[key] for move in report["moves"] for key in ("pause_s", "consumer_pause_s")]
    folder.check("recovery.rpo_records", max(losses), report["recovery"]["rpo_records"])
    folder.check("recovery.rto_s", max(pauses), report["recovery"]["rto_s"], 0.001)
    folder.check("faults", len(losses), len(report["faults"]))


def _in_the_end(folder: Folder, trip: Trip) -> None:
    lives = range(1, len(folder.results) + 2)
    for topic, numbers in trip.acked.items():
        missing: set[Number] = set()
        for consumer in folder.groups:
            if topic in consumer["topics"]:
                missing |= numbers.keys() - {
                    who for life in lives for who, _ in trip.processed[consumer["name"], life]
                }
        for cluster, evidence in folder.report["clusters"].items():
            theirs, label = evidence["topics"][topic], f"clusters.{cluster}.{topic}"
            folder.check(f"{label}.acked", len(numbers), theirs["acked"])
            folder.check(f"{label}.present", len(numbers) - len(missing), theirs["present"])
            folder.check(f"{label}.lost.hole", len(missing), theirs["lost"]["hole"])
    total = f"{sum(map(len, trip.acked.values())):,}".replace(",", "\u202f")
    page = (folder.path / "report.html").read_text(encoding="utf-8")
    said = f"{total}\u00a0records acknowledged"
    folder.check(f"report.html tells {total} records, each counted once", True, said in page)


def _left_behind(folder: Folder, trip: Trip, index: int) -> set[Number]:
    """Acknowledged in the life that a loss ended, at or behind the end of the copy when the mirror was stopped."""
    result = folder.results[index]
    if result["plan"]["verb"] != "failover":
        return set()
    ends = result["fence_offsets"]["mirrored"]
    return {
        who
        for topic, mirrored in folder.mirrored.items()
        for who, (partition, offset) in trip.placed[topic, index + 1].items()
        if offset >= ends[mirrored][str(partition)]
    }


def _move(folder: Folder, trip: Trip, index: int, late: set[Number]) -> None:
    move, result, life, label = (
        folder.report["moves"][index],
        folder.results[index],
        index + 2,
        f"moves.{index + 1}",
    )
    writing = folder.producer_pauses(life)
    reading = folder.consumer_pauses(life, result["asked_at_s"] * 1000)
    for key, pauses in (("pause_s", writing.values()), ("consumer_pause_s", reading.values())):
        folder.check(f"{label}.{key}", max(one for one in pauses if one is not None), move[key], 0.001)
    journal, rows = folder.journal(index), result["translations"]
    seconds = journal[-1]["at_s"] - journal[0]["data"]["asked_at_s"]
    folder.check(f"{label}.seconds", seconds, move["seconds"], 0.1)
    folder.check(f"{label}.positions", len(rows), move["positions"])
    folder.check(f"{label}.exact", sum(row["exact"] for row in rows), move["exact"])
    ends = result["fence_offsets"]["mirrored"]
    folder.check(f"{label}.wrong", sum(_is_wrong(row, ends) for row in rows), move["wrong"])
    again = late_again = skipped = 0
    for consumer in folder.groups:
        earlier = {who for n in range(1, life) for who, _ in trip.processed[consumer["name"], n]}
        times = Counter(who for who, _ in trip.processed[consumer["name"], life])
        for who, count in times.items():
            is_again = who in earlier and len(trip.origins[who]) < 2
            again += int(is_again and who not in late) + max(0, count - len(trip.origins[who]))
            late_again += is_again and who in late
        whole = (
            earlier
            | set(times)
            | {
                w
                for n in range(life, len(folder.results) + 2)
                for w, _ in trip.processed[consumer["name"], n]
            }
        )
        mine = {who for topic in consumer["topics"] for who in trip.acked.get(topic, {})}
        skipped += len(mine - whole)
    folder.check(f"{label}.read_again", again, move["read_again"])
    folder.check(f"{label}.read_again_late", late_again, move["read_again_late"])
    folder.check(f"{label}.skipped", skipped, move["skipped"])
    costs = [row.get("at_most") for row in result["plan"]["predicted"]["reread"].values()]
    folder.check(f"{label}.read_again_at_most", sum(filter(None, costs)), move["read_again_at_most"])


def _read(folder: Folder, consumer: str, life: int, place: str) -> Iterator[tuple[Number, str]]:
    for row in folder.readings(consumer, life).rows:
        yield (row["producer"], int(row["sequence"])), folder.origin(place, row["topic"])[0]


def _is_wrong(row: dict[str, Any], ends: dict[str, dict[str, int]]) -> bool:
    """Copies have the offsets of their source: a position stays, or is where the copy ends.

    Without a recorded position a group begins where the copy does.
    """
    if row["source_offset"] is None:
        return bool(row["exact"]) and row["target_offset"] != 0
    end = ends.get(row["target_topic"], {}).get(str(row["partition"]), row["source_offset"])
    return bool(row["exact"]) and row["target_offset"] != min(row["source_offset"], end)
