"""One case of the table, from breaking to mending: outcome, words, exit status, and nothing changed."""

from __future__ import annotations

from tests.gates.case import Case
from tests.gates.world import Answer, Asked, World

_REFUSED, _UNKNOWN = 4, 7
# Without other work on the machine a refusal takes 2 to 9 s.
_ANSWERS_WITHIN_S = 45.0


def judge(world: World, case: Case) -> None:
    """Break, ask every verb, compare what stands before and after, and mend."""
    is_quiet = case.state in {"lost", "returned"}
    before = {} if case.is_readable else world.standing(is_quiet=is_quiet)
    with case.breaks(world) as how:
        if case.is_readable:
            before = world.standing(is_quiet=is_quiet)
        for verb in case.verbs:
            _judge_answer(case, verb, world.ask(verb, how), how)
        if case.is_readable:
            _judge_standing(before, world.standing(is_quiet=is_quiet))
    if not case.is_readable:
        # What was stopped and started again is another process now.
        _judge_standing(before, world.standing(is_quiet=is_quiet) | _programs(before))


def all_open(world: World, verb: str) -> None:
    """Nothing is closed as long as nothing is broken: only then a case shows what closes a gate."""
    answer = world.ask(verb, Asked(is_dry=True))
    assert (answer.status, answer.closed) == (0, {}), answer


def _judge_standing(before: dict[str, object], after: dict[str, object]) -> None:
    """Nothing was changed; what was is told as it was before and as it is now."""
    names = sorted(before.keys() | after.keys())
    changed = {
        name: (before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)
    }
    assert not changed, changed


def _programs(standing: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in standing.items() if name.startswith("programs")}


def _judge_answer(case: Case, verb: str, answer: Answer, how: Asked) -> None:
    wanted = case.closes(verb)
    assert answer.closed == wanted, (verb, answer)
    assert answer.status == (_REFUSED if "refused" in wanted.values() else _UNKNOWN), (verb, answer)
    assert "Traceback" not in answer.said
    assert answer.seconds < _ANSWERS_WITHIN_S
    # As one line a person reads it, however wide the terminal is.
    said = " ".join(answer.said.split())
    for name, (reason, hint) in case.said(verb).items():
        gate = answer.gates[name]
        assert reason in gate["reason"], (verb, gate)
        assert hint in gate["hint"], (verb, gate)
        assert all(gate[key] for key in ("measured", "limit", "reason", "hint")), (verb, gate)
        assert name in said, (verb, name)
        # `dcctl plan --json` has its gates on stdout alone, and a line of summary beside it.
        assert gate["reason"] in said or (verb == "apply" and how.is_dry), (verb, gate, said)
    assert how.is_dry or "Nothing was changed" in said, (verb, said)
