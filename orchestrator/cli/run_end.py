"""How a run of any verb ends on the command line: its outcome in words, and its exit status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rich.markup import escape

if TYPE_CHECKING:
    from orchestrator.errors import DcctlError
    from orchestrator.topology.model import Topology
    from orchestrator.verbs.live.run_result import RunResult

_UNKNOWN = "an unknown number of records"


def end_with(
    result: RunResult,
    as_json: bool,
    *,
    is_abort: bool = False,
    topology: Topology | None = None,
    full: bool = False,
    also_in_json: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Print the outcome; anything but what was asked for ends with its own status, printed or not.

    `also_in_json`: what `--json` has as well.
    `is_abort`: being undone is what was asked for. With `topology` it is said how the run can be measured.
    `full`: every step and position is named, not only the worst.
    """
    from orchestrator.cli.output import best_effort

    with best_effort():
        _show(result, as_json, is_abort=is_abort, topology=topology, full=full, also_in_json=also_in_json)
    error = error_of_run(result, is_abort=is_abort)
    if error is not None:
        raise error


def show_one_of_several(result: RunResult, *, topology: Topology, full: bool, is_line_only: bool) -> None:
    """How one of several runs of a command ended, for a person; or its line alone, on stderr."""
    from orchestrator.cli.output import best_effort, err_console

    with best_effort():
        if is_line_only:
            err_console.print(escape(_summary(result, is_abort=False) + _how_to_measure(result, topology)))
        else:
            _show(result, False, is_abort=False, topology=topology, full=full)


def _show(
    result: RunResult,
    as_json: bool,
    *,
    is_abort: bool,
    topology: Topology | None,
    full: bool,
    also_in_json: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    from orchestrator.cli.output import console, emit
    from orchestrator.cli.result_view import render_result

    summary = _summary(result, is_abort=is_abort) + _how_to_measure(result, topology)
    if as_json or result.outcome in ("ok", "nothing-to-do") or is_abort:
        emit(
            {**result.as_json(), **also_in_json},
            as_json=as_json,
            summary=summary,
            render=lambda console: render_result(result, console, full=full),
        )
    else:
        render_result(result, console, full=full)


def error_of_run(result: RunResult, *, is_abort: bool = False) -> DcctlError | None:
    """What a run ends with that did not come to what was asked for."""
    from orchestrator.errors import DcctlError, IncompleteError, OutcomeUnknownError
    from orchestrator.runs.way_back import ForGood, ways_out
    from orchestrator.runs.where_now import staying_in_words
    from orchestrator.runs.word import rows_by_word

    if result.outcome == "undone" and not is_abort:
        return DcctlError(
            f"run {result.run_id}",
            f"was rolled back: {result.reason}",
            f"{_what_stays(result) or 'nothing of it stands'} (evidence: {result.folder}); "
            f"what became of each step: dcctl show {result.run_id} FILE",
        )
    no_way_back = [ForGood(**row) for row in result.no_way_back]
    hint = f"{ways_out(result.run_id, no_way_back)}   (evidence: {result.folder})"
    journal = _own_journal(result)
    if journal:
        hint += f"; once the ensemble answers again: dcctl history FILE --import {journal}, then resume"
    if result.let_stand:
        hint = f'all else is as before; docs/safety.md, "Taking back"   (evidence: {result.folder})'
    if result.waits_for:
        hint += f"\n  the run waits for a person's word: {rows_by_word(result.run_id, result.waits_for)}"
    if result.where_now:
        hint += f"\n  {result.where_now}"
    if result.stays:
        hint += f"\n  stands: {staying_in_words(result.stays)}"
    if result.outcome == "incomplete":
        return IncompleteError(f"run {result.run_id}", result.reason, hint)
    if result.outcome == "unknown":
        return OutcomeUnknownError(f"run {result.run_id}", result.reason, hint)
    return None


def _summary(result: RunResult, *, is_abort: bool) -> str:
    from orchestrator.moves.losses import loss_in_words

    took = _took(result)
    what = f"{result.target} has taken over from {result.source}"
    if result.plan["verb"] == "apply":
        what = f"{result.plan['topology']}: everything that could be done is done"
    elif not result.target:
        what = result.plan["facts"].get("when_done") or f"{result.source} is {result.plan['verb']}d"
    summary = f"{what} ({took}). Run {result.run_id}"
    lost = loss_in_words(result.loss)
    if lost and result.outcome == "ok":
        summary += f". {lost[0].upper()}{lost[1:]}"
    if is_abort and result.outcome == "undone":
        stays = _what_stays(result)
        summary = f"run {result.run_id} is rolled back ({took})" + (f"; {stays}" if stays else "")
    elif result.outcome != "ok":
        summary = f"{result.outcome}: {result.reason}"
    elif result.reason and result.outcome == "ok":
        summary += f". But: {result.reason}"
    if result.outcome == "ok" and result.plan["verb"] == "failover":
        back = f"dcctl failback FILE --to {result.source}"
        summary += f". Predicted: {_predicted(result.predicted)}. When {result.source} is back: {back}"
    journal = _own_journal(result)
    if journal:
        summary += f". To be imported: dcctl history FILE --import {journal}"
    return summary


def _took(result: RunResult) -> str:
    """How long the whole run took, and how much of that it stood still."""
    seconds = result.ended_at_s - result.started_at_s
    stopped = f" since it was asked for, {result.stopped_s:.1f} s of them stopped" if result.stopped_s else ""
    return f"{seconds:.1f} s{stopped}"


def _what_stays(result: RunResult) -> str:
    """What a run that was taken back holds all the same, and what else stands of it."""
    from orchestrator.runs.where_now import rows_in_words, staying_in_words

    held, stands = rows_in_words(result.held), staying_in_words(result.stays)
    said = [f"what it holds stays so: {held}"] if held else []
    return "; ".join([*said, f"stands: {stands}"] if stands else said)


def _predicted(predicted: Mapping[str, Any]) -> str:
    """What was told before the run, for whoever compares it with what was found."""
    loss = list(predicted.get("loss", {}).values())
    lost = _at_most(loss) if loss else _UNKNOWN
    return f"{lost} lost, {_at_most(predicted.get('reread', {}).values())} read again"


def _at_most(rows: Iterable[Mapping[str, int | None]]) -> str:
    numbers = [row.get("at_most") for row in rows]
    known = [number for number in numbers if number is not None]
    return _UNKNOWN if len(known) < len(numbers) else f"at most {sum(known):,} records"


def _how_to_measure(result: RunResult, topology: Topology | None) -> str:
    """The command that makes a report, where the file has canaries that measured the run."""
    if topology is None or result.outcome != "ok":
        return ""
    from orchestrator.topology.verbs import MOVING_VERBS

    has_canaries = any(producer.canary for producer in topology.producers)
    is_known = str(result.plan["verb"]) in MOVING_VERBS
    return (
        f". Measure it: dcctl report {result.run_id} FILE --ledgers DIR" if has_canaries and is_known else ""
    )


def _own_journal(result: RunResult) -> str:
    """The journal of a run that had no ensemble, empty for any other."""
    from orchestrator.runs.live.uncoordinated import has_local_journal, local_journal

    name = str(result.plan["topology"])
    return str(local_journal(name, result.run_id)) if has_local_journal(name, result.run_id) else ""
