"""The facts of a topology, those too that only the journals of an earlier dcctl tell.

Before there was an estate record, the order of runs was that of their names, starts and cuts lay in the
results of steps, and primaries in nodes of their own. Until the first fact is written, what they say is
read there; then it is written as facts, in the transaction of the first one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import count

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import CoordinationError, DcctlError
from orchestrator.runs.earlier_results import facts_before_the_record
from orchestrator.runs.engine import state_from_journal
from orchestrator.runs.estate_record import (
    KIND_OF,
    KINDS,
    Body,
    Fact,
    JournalUnread,
    LogsTruncated,
    PrimaryMoved,
    ReverseStarts,
    RunBegun,
    RunEnded,
    primary_records,
)
from orchestrator.runs.live.estate_record import FIRST, FactName, fact_names, written_facts
from orchestrator.runs.live.journal import journal_records, runs_path, unpacked
from orchestrator.runs.live.run_outline import read_outline
from orchestrator.runs.live.state_folder import run_folder
from orchestrator.runs.plan import plan_from_json
from orchestrator.runs.primaries import PrimaryRecord
from orchestrator.topology.verbs import MOVING_VERBS

_ALL = tuple(KINDS.values())
_IN_RESULTS = frozenset({ReverseStarts, LogsTruncated, JournalUnread})


def read_facts(
    coordination: Coordination,
    topology: str,
    kinds: Collection[type[Body]] = _ALL,
    known: dict[FactName, Fact] | None = None,
) -> tuple[Fact, ...]:
    """The facts of some kinds that hold, the oldest first. `known`: see `written_facts`.

    Raises `CoordinationError` where one cannot be read or understood.
    """
    if fact_names(coordination, topology):
        return written_facts(coordination, topology, kinds, known=known)
    return old_facts(coordination, topology, kinds)


def begun_runs(coordination: Coordination, topology: str) -> list[str]:
    """Ids of the runs that have begun a step, in the order in which they began."""
    names = fact_names(coordination, topology)
    if names:
        return list(dict.fromkeys(name.run_id for name in names if name.kind == KIND_OF[RunBegun]))
    return [fact.run_id for fact in old_facts(coordination, topology, [RunBegun])]


def old_facts(
    coordination: Coordination, topology: str, kinds: Collection[type[Body]] = _ALL
) -> tuple[Fact, ...]:
    """What the journals and records of an earlier dcctl tell, in the ensemble's order.

    The numbers leave room for the first fact of a record, and are those of the whole only with all `kinds`.
    """
    wanted, numbers = frozenset(kinds), count(FIRST + 1)
    made = {
        run_id: coordination.made_at(f"{runs_path(topology)}/{run_id}")
        for run_id in coordination.names(runs_path(topology))
    }
    in_order = sorted((at, run_id) for run_id, at in made.items() if at is not None)
    found = [body for _, run_id in in_order for body in _of_run(coordination, topology, run_id, wanted)]
    if PrimaryMoved in wanted:
        found += _primaries(coordination, topology)
    return tuple(
        Fact(number=next(numbers), run_id=run_id, at_s=at_s, body=body)
        for run_id, at_s, body in found
        if type(body) in wanted
    )


def old_primary_path(topology: str) -> str:
    """Where an earlier dcctl has recorded which side is primary."""
    return f"/dcctl/{topology}/primary"


def _of_run(
    coordination: Coordination, topology: str, run_id: str, wanted: frozenset[type[Body]]
) -> Iterator[tuple[str, float, Body]]:
    run = read_outline(coordination, topology, run_id)
    if run is None or not run.has_begun:
        return
    ended_at_s = float(run.last.get("at_s", 0.0))
    begun = RunBegun(verb=run.text("verb"), source=run.text("source"), target=run.text("target"))
    yield run_id, float(run.first.get("at_s", 0.0)), begun
    if wanted & _IN_RESULTS and begun.verb in MOVING_VERBS:
        try:
            found = list(_results(coordination, topology, run_id, begun))
        except DcctlError as error:
            # It keeps nobody from beginning; what would have to know it is told that it is not known.
            said = f"{error.subject}: {error.problem}"
            found = [JournalUnread(source=begun.source, target=begun.target, problem=said)]
        for body in found:
            yield run_id, ended_at_s, body
    if run.outcome:
        yield run_id, ended_at_s, RunEnded(outcome=run.outcome)


def _results(coordination: Coordination, topology: str, run_id: str, begun: RunBegun) -> Iterator[Body]:
    records = journal_records(coordination, topology, run_id, run_folder(run_id))
    plan = plan_from_json(records[0].data["plan"]) if "plan" in records[0].data else None
    results = state_from_journal(plan, run_id, records).results if plan is not None else {}
    yield from facts_before_the_record(begun.verb, begun.source, begun.target, results)


def _primaries(coordination: Coordination, topology: str) -> Iterator[tuple[str, float, Body]]:
    path = old_primary_path(topology)
    for name, value in coordination.read_children(path).items():
        try:
            found = PrimaryRecord.from_json(unpacked(value, f"{path}/{name}"))
        except ValueError:
            raise CoordinationError(
                f"{path}/{name}", "is no record of a primary that this version understands"
            ) from None
        yield (
            found.run_id,
            found.at_s,
            PrimaryMoved(home=found.home, primary=found.primary, topics=found.topics),
        )


def read_primaries(coordination: Coordination, topology: str) -> tuple[PrimaryRecord, ...]:
    """Every record, the oldest first. Raises `CoordinationError` for one that is not understood."""
    return primary_records(read_facts(coordination, topology, [PrimaryMoved]))
