"""A report's folder as its formats say (`docs/evidence.md`): ledgers, journals, results. No code of the product."""

from __future__ import annotations

import csv
import hashlib
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Number = tuple[str, int]  # producer, sequence
Log = tuple[str, str, int]  # the place where it was produced, topic, partition


def whole_rows(path: Path) -> list[dict[str, str]]:
    """The lines of a ledger that are not torn."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader([lines[0], *(line for line in lines[1:] if line.endswith(",."))]))


@dataclass
class Life:
    """What one client wrote down in one life."""

    rows: list[dict[str, str]]
    notes: list[dict[str, str]]

    def offset_ms(self, at_ms: int) -> int:
        """What its clock lacked to the third place's at a moment."""
        readings = [row for row in self.notes if row["event"] == "clock"]
        earlier = [row for row in readings if int(row["at_ms"]) <= at_ms] or readings[:1]
        return int(earlier[-1]["offset"]) if earlier else 0


@dataclass
class Folder:
    """A report and what lies beside it."""

    path: Path
    runs: list[Path]
    report: dict[str, Any] = field(init=False)
    inputs: dict[str, Any] = field(init=False)
    differences: list[str] = field(default_factory=list)
    compared: int = 0
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.report = json.loads((self.path / "report.json").read_text(encoding="utf-8"))
        self.inputs = json.loads((self.path / "inputs.json").read_text(encoding="utf-8"))
        self.mirrored = {topic["name"]: topic["mirrored"] for topic in self.inputs["topics"]}
        self.source, self.target = self.inputs["source"], self.inputs["target"]
        self.results = [json.loads((run / "result.json").read_text(encoding="utf-8")) for run in self.runs]

    def check(self, what: str, mine: Any, theirs: Any, within: float = 0.0) -> None:
        """Compare one figure."""
        self.compared += 1
        same = mine == theirs
        if isinstance(mine, float) and isinstance(theirs, int | float):
            same = math.isclose(mine, theirs, abs_tol=within + 1e-9)
        self.said.append(f"{'  ' if same else '!!'} {what}: {mine!r}" + ("" if same else f", not {theirs!r}"))
        if not same:
            self.differences.append(what)

    def start(self, topic: str, partition: int) -> int:
        """Where what is looked at begins: a real run's ledgers do not go back to the begin of the log."""
        (found,) = [one for one in self.inputs["topics"] if one["name"] == topic]
        return int(found["mirrored_starts"].get(str(partition), 0))

    def sends(self, producer: str, life: int) -> Life:
        rows = whole_rows(self.path / "ledgers" / "producers" / producer / f"life-{life}.csv")
        return Life(rows, rows)

    def readings(self, consumer: str, life: int) -> Life:
        folder = self.path / "ledgers" / "consumers" / consumer
        return Life(
            whole_rows(folder / f"life-{life}.processed.csv"),
            whole_rows(folder / f"life-{life}.positions.csv"),
        )

    def journal(self, run: int = 0) -> list[dict[str, Any]]:
        lines = (self.runs[run] / "journal.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    @property
    def groups(self) -> list[dict[str, Any]]:
        return [consumer for consumer in self.inputs["consumers"] if consumer["kind"] == "group"]

    def acks(self, producer: str, life: int) -> list[dict[str, str]]:
        return [row for row in self.sends(producer, life).rows if row["event"] == "ack"]

    def origin(self, place: str, topic: str) -> tuple[str, str]:
        """Where the records of a log that a consumer reads at a place were produced, and into which topic."""
        for name, mirrored in self.mirrored.items():
            if topic == mirrored and place == self.target:
                return self.source, name
            if place == self.source and topic == f"{self.target}.{name}":
                return self.target, name
        return place, topic

    def pause(self, rows: list[tuple[Life, list[int]]], began_ms: float | None) -> float | None:
        """From the last success in one life to the first one in the next, by the third place's clock."""
        (before, earlier), (after, later) = rows
        stops = [int(row["at_ms"]) for row in before.notes if row["event"] == "stop"]
        has_ended = began_ms is not None and (not earlier or (bool(stops) and stops[-1] < began_ms))
        if not later or not (earlier or has_ended):
            return None
        first = min(later)
        if has_ended and began_ms is not None:
            return round((first - began_ms) / 1000, 3)
        last = max(earlier)
        return round((first + after.offset_ms(first) - last - before.offset_ms(last)) / 1000, 3)

    def producer_pauses(
        self, life: int, began_ms: float | None = None
    ) -> dict[tuple[str, str], float | None]:
        """By producer and topic, between the life before and this one."""
        found = {}
        for producer in self.inputs["producers"]:
            for topic in producer["topics"]:
                rows = []
                for number in (life - 1, life):
                    acks = [row for row in self.acks(producer["name"], number) if row["topic"] == topic]
                    rows.append((self.sends(producer["name"], number), [int(row["at_ms"]) for row in acks]))
                if topic in self.mirrored:
                    found[producer["name"], topic] = self.pause(rows, began_ms)
        return found

    def consumer_pauses(self, life: int, began_ms: float | None) -> dict[str, float | None]:
        found = {}
        for consumer in self.groups:
            lives = [self.readings(consumer["name"], number) for number in (life - 1, life)]
            rows = [(one, [int(row["at_ms"]) for row in one.rows]) for one in lives]
            found[consumer["name"]] = self.pause(rows, began_ms)
        return found

    def stated(self) -> None:
        """Who, of which file, and what it is held against."""
        copy = self.path / self.report["topology_file"]["name"]
        text = copy.read_bytes()
        self.check(
            "topology_file.sha256", hashlib.sha256(text).hexdigest(), self.report["topology_file"]["sha256"]
        )
        objectives = (yaml.safe_load(text).get("failover") or {}).get("objectives") or {}
        self.check("objectives", sorted(objectives), sorted(self.report["objectives"]))
        for name, limit in objectives.items():
            measured = self.report["recovery"][name]
            outcome = "not measured" if measured is None else "met" if measured <= limit else "missed"
            self.check(f"objectives.{name}", outcome, self.report["objectives"][name]["outcome"])
        last, records = self.results[-1], self.journal(len(self.runs) - 1)
        began = records[0]["data"]
        self.check("responsible.who", began["by"]["who"], self.report["responsible"]["who"])
        self.check("responsible.host", began["by"]["host"], self.report["responsible"]["host"])
        self.check(
            "gates",
            [g["outcome"] for g in last["plan"]["gates"]],
            [g["outcome"] for g in self.report["gates"]],
        )
        begun: dict[str, float] = {}
        ended: dict[str, dict[str, Any]] = {}
        for record in records:
            if record["kind"] == "step-intent":
                begun[record["step"]] = record["at_s"]
            elif record["kind"] == "step-outcome":
                ended[record["step"]] = record
        for step in self.report["steps"]:
            name = step["id"]
            self.check(f"steps.{name}", ended[name]["outcome"], step["outcome"])
            self.check(f"steps.{name}.seconds", ended[name]["at_s"] - begun[name], step["seconds"], 0.001)

    def phases(self) -> None:
        """Of the journal alone; what was before the command is not in it."""
        records = self.journal()
        first, plan = records[0], self.results[0]["plan"]
        asked_s, observed_s = first["data"]["asked_at_s"], first["data"]["observed_at_s"]
        of_step = {step["id"]: step["phase"] for step in plan["steps"]}
        spans = {"observe": [asked_s, observed_s]}
        begun: dict[str, float] = {}
        for record in records:
            step = record.get("step", "")
            if record["kind"] == "step-intent":
                spans.setdefault("decide", [observed_s, record["at_s"]])
                begun.setdefault(step, record["at_s"])
            elif record["kind"] == "step-outcome":
                spans.setdefault(of_step[step], []).extend([begun[step], record["at_s"]])
        mine = {name: (min(times), max(times) - min(times)) for name, times in spans.items()}
        theirs = {phase["name"]: phase for phase in self.report["phases"]}
        self.check(
            "phases", sorted(mine), sorted(set(theirs) - {"attest", "detect"} | set(mine) & set(theirs))
        )
        for name, (begin_s, seconds) in mine.items():
            self.check(f"phases.{name}", seconds, theirs.get(name, {}).get("seconds"), 0.001)
            self.check(
                f"phases.{name}.started_at_s", begin_s, theirs.get(name, {}).get("started_at_s"), 0.001
            )
