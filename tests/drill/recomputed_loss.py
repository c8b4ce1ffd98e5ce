"""The report of one move, counted once more from what lies beside it. No code of the product."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any

from tests.drill.ledger_folder import Folder, Log, Number


def single(folder: Folder) -> None:
    """One move: a loss, and what its price was."""
    report, result = folder.report, folder.results[0]
    before, after = folder.inputs["life_before"], folder.inputs["life_after"]
    fault_ms = folder.inputs["fault_at_s"] * 1000
    ends = result["fence_offsets"]["mirrored"]
    folder.phases()
    copied, oldest = _topics(folder, before, after, ends)
    pauses = folder.producer_pauses(after, fault_ms)
    consumers = folder.consumer_pauses(after, fault_ms)
    per_producer: dict[str, list[float | None]] = defaultdict(list)
    for (producer, topic), seconds in pauses.items():
        folder.check(
            f"rto.per_topic.{producer}.{topic}", seconds, report["rto"]["per_topic"][producer][topic], 0.001
        )
        per_producer[producer].append(seconds)
    for producer, found in per_producer.items():
        longest = None if None in found else max(one for one in found if one is not None)
        folder.check(f"rto.per_producer.{producer}", longest, report["rto"]["per_producer"][producer], 0.001)
    for name, seconds in consumers.items():
        folder.check(f"rto.per_consumer.{name}", seconds, report["rto"]["per_consumer"][name], 0.001)
    known = [one for one in (*pauses.values(), *consumers.values()) if one is not None]
    if len(folder.groups) == len(folder.inputs["consumers"]):
        folder.check("recovery.rto_s", max(known), report["recovery"]["rto_s"], 0.001)
    topics = report["clusters"][folder.source]["topics"].values()
    lost = sum(topic["lost"]["tail"] + topic["lost"]["hole"] for topic in topics)
    folder.check("recovery.rpo_records", lost, report["recovery"]["rpo_records"])
    age_s = 0.0 if oldest is None else max(0.0, (fault_ms - oldest) / 1000)
    folder.check("recovery.rpo_s", age_s, report["recovery"]["rpo_s"], 0.001)
    decided_ms = next(r["at_s"] for r in folder.journal() if r["kind"] == "step-intent") * 1000
    acked = [int(row["at_ms"]) for p in folder.inputs["producers"] for row in folder.acks(p["name"], after)]
    folder.check(
        "rto.decision_to_first_ack_s",
        (min(acked) - decided_ms) / 1000,
        report["rto"]["decision_to_first_ack_s"],
        0.002,
    )
    _consumers(folder, before, after, ends, copied)
    _series(folder, fault_ms)
    folder.check("predicted.seconds", result["plan"]["predicted"]["seconds"], report["predicted"]["seconds"])
    for topic, bounds in report["predicted"]["loss"].items():
        if (
            topic in result["plan"]["predicted"]["loss"]
            and report["predicted"]["source"] == result["plan"]["source"]
        ):
            plan = result["plan"]["predicted"]["loss"][topic]
            folder.check(f"predicted.loss.{topic}", plan["at_most"], bounds["at_most"])


def _topics(
    folder: Folder, before: int, after: int, ends: dict[str, dict[str, int]]
) -> tuple[dict[Log, dict[int, Number]], int | None]:
    """Every topic at both places. Returns who stands where in every log, and when the oldest lost one was
    acknowledged (Unix epoch milliseconds).
    """
    read = _who_read(folder, before, after)
    totals: Counter[str] = Counter()
    oldest: list[int] = []
    for topic, mirrored in folder.mirrored.items():
        writers = [p for p in folder.inputs["producers"] if topic in p["topics"]]
        end = {int(partition): offset for partition, offset in ends.get(mirrored, {}).items()}
        for place, life in ((folder.source, before), (folder.target, after)):
            acks = {
                (p["name"], int(row["sequence"])): row
                for p in writers
                for row in folder.acks(p["name"], life)
                if row["topic"] == topic
            }
            theirs = folder.report["clusters"][place]["topics"][topic]
            label = f"clusters.{place}.{topic}"
            folder.check(f"{label}.acked", len(acks), theirs["acked"])
            totals[place] += len(acks)
            opened, refused, unserved = _unanswered(folder, writers, topic, life)
            folder.check(f"{label}.refused", refused, theirs["refused"])
            folder.check(f"{label}.unserved", unserved, theirs["unserved"])
            if place == folder.source:
                oldest += _at_source(folder, topic, acks, end, read)
                copied = sum(int(row["offset"]) < end[int(row["partition"])] for row in acks.values())
                below = sum(until - folder.start(topic, number) for number, until in end.items()) - copied
                folder.check(f"{label}.indeterminate.present", below, theirs["indeterminate"]["present"])
                absent = len(opened) - below
                folder.check(f"{label}.indeterminate.absent", absent, theirs["indeterminate"]["absent"])
            else:
                there = [who for log, at in read.items() if log[:2] == (place, topic) for who in at.values()]
                folder.check(f"{label}.present", len(acks.keys() & set(there)), theirs["present"])
                folder.check(f"{label}.lost.hole", len(acks.keys() - set(there)), theirs["lost"]["hole"])
                folder.check(f"{label}.duplicates", len(there) - len(set(there)), theirs["duplicates"])
    _page(folder, totals)
    return read, min(oldest, default=None)


def _who_read(folder: Folder, before: int, after: int) -> dict[Log, dict[int, Number]]:
    """Which record stands at which offset, as every group has read it; a copy has the offset of its source."""
    read: dict[Log, dict[int, Number]] = defaultdict(dict)
    for consumer in folder.groups:
        for life, place in ((before, folder.source), (after, folder.target)):
            for row in folder.readings(consumer["name"], life).rows:
                origin, topic = folder.origin(place, row["topic"])
                who = (row["producer"], int(row["sequence"]))
                log = (origin, topic, int(row["partition"]))
                if read[log].setdefault(int(row["offset"]), who) != who:
                    folder.check(f"copies of {log} have the offsets of their source", int(row["offset"]), who)
    return read


def _at_source(
    folder: Folder,
    topic: str,
    acks: dict[Number, dict[str, str]],
    end: dict[int, int],
    read: dict[Log, dict[int, Number]],
) -> list[int]:
    """A topic of the lost side against what the mirror had copied. Returns when lost ones were acknowledged."""
    theirs, label = (
        folder.report["clusters"][folder.source]["topics"][topic],
        f"clusters.{folder.source}.{topic}",
    )
    gone = [row for row in acks.values() if int(row["offset"]) >= end[int(row["partition"])]]
    others = [
        who
        for who, row in acks.items()
        if int(row["offset"]) < end[int(row["partition"])]
        and read[folder.source, topic, int(row["partition"])].get(int(row["offset"]), who) != who
    ]
    folder.check(f"{label}.present", len(acks) - len(gone), theirs["present"])
    folder.check(f"{label}.lost.tail", len(gone), theirs["lost"]["tail"])
    folder.check(f"{label}.lost.hole", len(others), theirs["lost"]["hole"])
    times = [int(row["at_ms"]) for row in gone]
    first = min(times) / 1000 if times else None
    folder.check(f"{label}.oldest_lost_at_s", first, theirs["oldest_lost_at_s"], 0.001)
    by_partition = dict(Counter(int(row["partition"]) for row in gone))
    folder.check(
        f"{label}.partitions", by_partition, {one["partition"]: one["tail"] for one in theirs["partitions"]}
    )
    return times


def _page(folder: Folder, totals: Counter[str]) -> None:
    """What the page says in words: all records, those of each side, and the share of the lost side."""
    page = (folder.path / "report.html").read_text(encoding="utf-8")
    for count in (sum(totals.values()), *totals.values()):
        folder.check(f"report.html tells {count}", True, f"{count:,}".replace(",", "\u202f") in page)
    lost = sum(t["lost"]["tail"] for t in folder.report["clusters"][folder.source]["topics"].values())
    percent = 100 * lost / totals[folder.source]
    if 0.01 <= percent < 10:
        share = f"{percent:.2f}".removesuffix(".00")
        folder.check("report.html tells the share of the lost side", True, f"({share}\u00a0% of what" in page)


def _unanswered(
    folder: Folder, writers: list[dict[str, Any]], topic: str, life: int
) -> tuple[set[Number], int, int]:
    """Numbers announced for a topic without an answer; how many were refused; how many were not taken any more."""
    opened: set[Number] = set()
    refused = unserved = 0
    for producer in writers:
        rows = folder.sends(producer["name"], life).rows
        acked = {int(row["sequence"]) for row in rows if row["event"] == "ack"}
        failed = {int(row["sequence"]) for row in rows if row["event"] == "failed"} - acked
        ranges: dict[str, set[int]] = {"intent": set(), "unsent": set()}
        for row in rows:
            if row["event"] in ranges:
                ranges[row["event"]] |= set(range(int(row["sequence"]), int(row["until"])))
        mine = {n for n in ranges["intent"] if producer["topics"][n % len(producer["topics"])] == topic}
        opened |= {(producer["name"], n) for n in (mine - acked - failed - ranges["unsent"])}
        refused += len(failed & mine)
        first = min((int(row["at_ms"]) for row in rows if row["event"] == "ack"), default=None)
        late = {
            int(row["sequence"])
            for row in rows
            if row["event"] in ("failed", "timeout") and first is not None and int(row["at_ms"]) >= first
        }
        unserved += len((late - acked) & mine)
    return opened, refused, unserved


def _consumers(
    folder: Folder,
    before: int,
    after: int,
    ends: dict[str, dict[str, int]],
    read: dict[Log, dict[int, Number]],
) -> None:
    """Each partition of each group: what was read again and why, skipped, or processed and lost."""
    result = folder.results[0]
    positions = {(row["group"], row["topic"], row["partition"]): row for row in result["translations"]}
    for row in folder.report["consumers"]:
        if row["kind"] != "group" or row["source"] != folder.source:
            continue
        name, topic, partition = row["name"], row["topic"], row["partition"]
        mirrored = folder.mirrored[topic]
        end = ends[mirrored][str(partition)]
        old = folder.readings(name, before)
        seen = {int(r["offset"]) for r in old.rows if (r["topic"], int(r["partition"])) == (topic, partition)}
        again = [
            int(r["offset"])
            for r in folder.readings(name, after).rows
            if (r["topic"], int(r["partition"])) == (mirrored, partition)
        ]
        position = positions[name, topic, partition]
        commits = [
            int(r["offset"])
            for r in old.notes
            if r["event"] == "commit" and (r["topic"], r["partition"]) == (topic, str(partition))
        ]
        known, committed = position["source_offset"], max(commits, default=0)
        twice = sorted(seen & set(again))
        # A group without a recorded position has read nothing that it could read again.
        folder.check(
            f"consumers.{name}.{topic}-{partition}.unexplained", len(twice) if known is None else 0, 0
        )
        causes = (
            dict.fromkeys(("map", "position_age", "uncommitted"), 0)
            if known is None
            else {
                "map": sum(offset < known for offset in twice),
                "position_age": sum(known <= offset < committed for offset in twice),
                "uncommitted": sum(offset >= max(known, committed) for offset in twice),
            }
        )
        label = f"consumers.{name}.{topic}-{partition}"
        folder.check(f"{label}.reread", causes, row["reread"])
        last = max([*again, *(offset for offset in seen if offset < end)], default=-1)
        skipped = sum(
            offset not in seen and offset not in set(again)
            for offset in range(folder.start(topic, partition), min(last + 1, end))
        )
        folder.check(f"{label}.skipped", skipped, row["skipped"])
        folder.check(f"{label}.processed_but_lost", sum(o >= end for o in seen), row["processed_but_lost"])
        for key in ("source_offset", "target_offset", "exact"):
            folder.check(f"{label}.{key}", position[key], row[key])
        saved = result["saved_offsets"].get(name, {}).get(mirrored, {}).get(str(partition))
        own = None if saved is None else sum(saved <= offset < end for offset in seen)
        folder.check(f"{label}.mirrormaker_reread", own, row["mirrormaker_reread"])
        acked = [
            int(r["offset"])
            for p in folder.inputs["producers"]
            for r in folder.acks(p["name"], before)
            if (r["topic"], int(r["partition"])) == (topic, partition)
        ]
        behind = None if known is None else max(0, max(acked) + 1 - known)
        folder.check(f"{label}.behind", behind, row["behind"])


def _series(folder: Folder, fault_ms: float) -> None:
    """Records a second, second by second."""
    lives = (folder.inputs["life_before"], folder.inputs["life_after"])
    for series in folder.report["series"]["producers"]:
        times = [int(r["at_ms"]) for life in lives for r in folder.acks(series["name"], life)]
        _bins(folder, f"series.{series['name']}", times, fault_ms, series["t_s"], series["acked_per_s"])
    for series in folder.report["series"]["consumers"]:
        if series["name"] in {consumer["name"] for consumer in folder.groups}:
            times = [int(r["at_ms"]) for life in lives for r in folder.readings(series["name"], life).rows]
            _bins(
                folder, f"series.{series['name']}", times, fault_ms, series["t_s"], series["processed_per_s"]
            )


def _bins(  # noqa: PLR0917 - what a line is made of
    folder: Folder,
    label: str,
    times: list[int],
    fault_ms: float,
    t_s: list[float],
    theirs: list[float | None],
) -> None:
    counted = Counter(math.floor((at - int(fault_ms)) / 1000) for at in times)
    folder.check(label, [float(counted.get(int(t), 0)) for t in t_s], theirs)
