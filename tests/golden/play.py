"""A situation is played: its estate, its story sentence by sentence, and what became of each command."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.errors import DcctlError
from orchestrator.runs.plan import Plan
from orchestrator.topology.loading import parse_topology
from orchestrator.verbs.live.run_result import RunResult
from tests.golden.commands import give
from tests.golden.files import topology_text
from tests.golden.witness import Done, Witness, look_closer
from tests.golden.words import tell
from tests.twin import truths
from tests.twin.crew import ProcessDied
from tests.twin.estate import TwinEstate
from tests.twin.operator import Operator
from tests.twin.record import Entry

Kept = dict[str, Any]
# More than any story has moves.
_TURNS = 5


@dataclass(frozen=True, slots=True)
class Situation:
    """Features of the file, and a story: sentences and, behind a `$`, commands."""

    file: tuple[str, ...]
    story: tuple[str, ...]


@dataclass
class Played:
    """What is kept of a situation, and the runs by which order is judged."""

    kept: Kept
    runs: list[PlayedRun]


@dataclass
class PlayedRun:
    """One run, over all commands that had a part in it. `there` and `back`: step -> what it did and saw.

    `unannounced`: doings of steps of which the journal did not know when they were done.
    """

    plan: Plan
    topology: Any
    there: dict[str, set[tuple[str, str, str]]] = field(default_factory=dict)
    back: dict[str, set[tuple[str, str, str]]] = field(default_factory=dict)
    has_ended_well: bool = False
    unannounced: list[str] = field(default_factory=list)
    announced: set[str] = field(default_factory=set)


def play(situation: Situation) -> Played:
    """Tell a story to its end."""
    with _own_folder() as folder:
        text = topology_text(situation.file).replace("HOOKS", str(folder))
        for name in ("pre.yaml", "post.yaml"):
            (folder / name).write_text("[]", encoding="utf-8")
        estate = TwinEstate(parse_topology(text), folder / "estate")
        look_closer(estate)
        player = _Player(Operator(estate), Witness(estate))
        for sentence in situation.story:
            if sentence.startswith("$ "):
                player.command(sentence[2:])
            else:
                tell(estate, sentence)
        kept = {"file": ", ".join(situation.file) or "small", "story": "; ".join(situation.story)}
        kept["commands"] = player.told
        kept["in the end"] = in_the_end(estate, player.witness.done)
        return Played(kept, list(player.runs.values()))


class _Player:
    def __init__(self, operator: Operator, witness: Witness) -> None:
        self._operator, self.witness = operator, witness
        self._from = 0
        # The newest run that has begun anything: that one is meant where a run is resumed or aborted.
        self._begun = ""
        self.told: list[Kept] = []
        self.runs: dict[str, PlayedRun] = {}

    def command(self, line: str) -> None:
        operator, witness = self._operator, self.witness
        entries_from = len(operator.estate.record.entries)
        operator.plan = None
        witness.begin()
        operator.estate.record._seen.clear()  # each run looks for itself
        result, ended = None, ""
        if line.startswith(("resume", "abort")):
            operator.run_id = self._begun
        try:
            result = give(operator, line)
            ended = result.outcome
        except ProcessDied:
            ended = "killed"
        except DcctlError as error:
            ended = f"exit status {error.exit_status}"
        if operator.has_begun:
            self._begun = operator.run_id
        told: Kept = {"command": line, "ended": ended}
        plan = operator.plan
        if plan is not None and not line.startswith(("resume", "abort")):
            told |= _of_plan(plan)
        if ended == "killed":
            # Which steps that run side by side had come first says little: what the next command makes of it does.
            operator.estate.restart_dcctl()
        else:
            told |= _of_doings(witness.done[self._from :])
            self._from = len(witness.done)
        if result is not None:
            told |= _of_result(result)
        self.told.append(told)
        if plan is not None and operator.run_id and ended != "nothing-to-do":
            run = self._into_run(plan, operator.estate.record.entries[entries_from:])
            run.has_ended_well |= ended == "ok"

    def _into_run(self, plan: Plan, entries: list[Entry]) -> PlayedRun:
        known = self._operator
        run = self.runs.setdefault(known.run_id, PlayedRun(plan, known.estate.topology))
        undone: set[str] = set()
        for entry in entries:
            if entry.kind == "journal":
                _, _, intent = entry.value.partition("-step-intent-")
                _, is_undo, step = entry.value.partition("-undo-intent-")
                undone |= {step} if is_undo else set()
                run.announced |= {intent, step} - {""}
            elif entry.step:
                way = run.back if entry.step in undone else run.there
                way.setdefault(entry.step, set()).add(entry.words)
                # Without coordination the journal is a file, and nothing of it in the estate's record.
                is_uncoordinated = bool(plan.request.get("without_coordination"))
                if entry.kind == "do" and entry.step not in run.announced and not is_uncoordinated:
                    run.unannounced.append(str(entry))
        return run


def _of_plan(plan: Plan) -> Kept:
    outcomes: dict[str, list[str]] = {}
    for gate in plan.gates:
        outcomes.setdefault(gate.outcome, []).append(gate.id)
    found: Kept = {"gates": {outcome: ", ".join(sorted(ids)) for outcome, ids in sorted(outcomes.items())}}
    for name, rows in (("loss", plan.predicted.loss), ("reread", plan.predicted.reread)):
        found[name] = {key: _figures(row) for key, row in sorted(rows.items())}
    found["seconds"] = round(plan.critical_path_s(), 2)
    return found


def _figures(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(row.items()))


def _of_doings(done: list[Done]) -> Kept:
    """Sorted: what runs side by side has no order of its own. What comes before what is judged by the plan."""
    found: dict[str, Counter[str]] = {}
    rights: dict[tuple[str, str], set[str]] = {}
    for what in done:
        where, told = what.kept
        if what.entry.verb == "allow":
            # Of many rights on one resource a line is enough.
            who, operation, on = told.split(" ", 2)
            rights.setdefault((where, f"{who} on {on}"), set()).add(operation)
            continue
        found.setdefault(where, Counter())[told] += 1
    for (where, about), operations in rights.items():
        found.setdefault(where, Counter())[f"{about}: {', '.join(sorted(operations))}"] += 1
    return {
        "done": {
            where: [
                told + (f" ({times} times)" if times > 1 else "") for told, times in sorted(values.items())
            ]
            for where, values in sorted(found.items())
        }
    }


def _of_result(result: RunResult) -> Kept:
    found: Kept = {}
    if result.not_seen:
        found["not seen"] = ", ".join(result.not_seen)
    if result.let_stand:
        found["let stand"] = ", ".join(result.let_stand)
    if result.where_now:
        found["where now"] = result.where_now
    return found


def in_the_end(estate: TwinEstate, done: list[Done]) -> Kept:
    """What matters to users: who is primary, who works where, what was lost, skipped or read again."""
    recorded: list[str] = []
    for what in done:
        if what.told.startswith("primary: "):
            recorded.append(what.told.removeprefix("primary: "))
        elif what.told == "withdrawn: primary":
            recorded.pop()
    known = estate.applications
    at_work: dict[str, list[str]] = {dc: [] for dc in known.reach}
    for (dc, name), client in sorted(known.clients.items()):
        if client.is_running:
            at_work[dc].append(name)
    denied = {
        name: sorted(
            f"{rule.principal} {rule.operation} {rule.resource_type.lower()} {rule.resource_name}"
            for rule in cluster.acls
            if rule.permission == "DENY"
        )
        for name, cluster in estate.clusters.items()
    }
    mirrors = {
        f"{connector} at {name}": found.state
        for name, workers in sorted(estate.workers.items())
        for connector, found in sorted(workers.connectors.items())
    }
    turns = truths.written_at(estate)
    last = {turn[-1] for turn in turns.values()}
    found: Kept = {
        "recorded primary": recorded[-1] if recorded else "none",
        "at work": {
            dc: (", ".join(names) or "nobody") if known.reach[dc] == "up" else "away"
            for dc, names in at_work.items()
        },
        "written at": {topic: _turns(turn) for topic, turn in sorted(turns.items())},
        "mirrors": mirrors,
    }
    if any(denied.values()):
        found["denied"] = {name: ", ".join(rules) for name, rules in denied.items() if rules}
    for place in sorted(last):
        skipped = {name: len(records) for name, records in truths.skipped(estate, place).items()}
        of_those = {n: c for n, c in sorted(skipped.items()) if any(n in who for who in at_work[place])}
        found[f"at {place}"] = {
            "lacks": _lacking(estate, place),
            "passed over": _figures(of_those) or "nothing",
        }
    again = truths.processed_twice(estate, (c.name for c in estate.topology.consumers))
    found["read again"] = _figures({name: count for name, count in again.items() if count}) or "nothing"
    if estate.ensemble.held:
        found["lock"] = "held"
    return found


def _turns(turns: list[str]) -> str:
    """Where a topic was written, in turns; who writes at two sides takes turns all the time."""
    if len(turns) > _TURNS:
        return f"{turns[0]}, then {' and '.join(sorted(set(turns)))} at once, {turns[-1]} last"
    return " then ".join(turns)


def _lacking(estate: TwinEstate, place: str) -> int:
    """Acknowledged records of which a cluster has no copy."""
    logs = (log for topic in estate.clusters[place].topics.values() for log in topic.logs)
    there = {record.value for log in logs for record in log.records if record is not None}
    return sum(
        f"{producer}:{number}".encode() not in there
        for producer, number in estate.applications.ledger.acknowledged
    )


@contextmanager
def _own_folder() -> Iterator[Path]:
    before = os.environ.get("DCCTL_STATE_DIR")
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        os.environ["DCCTL_STATE_DIR"] = str(Path(folder) / "state")
        try:
            yield Path(folder)
        finally:
            if before is None:
                del os.environ["DCCTL_STATE_DIR"]
            else:
                os.environ["DCCTL_STATE_DIR"] = before
