"""A toy step waits for a person's word: nothing in the product knows of it, and everything tells of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path
from typing import Any, NoReturn

import pytest
from pydantic.dataclasses import dataclass as checked_dataclass
from rich.console import Console

from orchestrator.cli import said_words
from orchestrator.cli.main import run
from orchestrator.cli.run_end import end_with
from orchestrator.cli.said_words import word_options
from orchestrator.cli.story_view import render_story
from orchestrator.errors import DcctlError, GateRefusedError, IncompleteError, UsageError
from orchestrator.moves.participants import Ground
from orchestrator.moves.request import FailbackRequest, SwitchoverRequest
from orchestrator.moves.way import Way
from orchestrator.runs.acting import EffectActions
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Handle,
    Look,
    Nothing,
    Outcome,
    Running,
)
from orchestrator.runs.engine import state_from_journal
from orchestrator.runs.live.earlier_runs import newest_runs
from orchestrator.runs.live.history import run_records
from orchestrator.runs.live.procedure import plan_of_run
from orchestrator.runs.overrides import OPTIONS
from orchestrator.runs.plan import Plan, RunEvent, Step
from orchestrator.runs.registry import Registry
from orchestrator.runs.runbook import After, Runbook
from orchestrator.runs.word import Awaited, Word
from orchestrator.runs.words import words_given, words_wanted
from orchestrator.verbs.live import runs
from orchestrator.verbs.live.failback_procedure import run_failback
from orchestrator.verbs.live.run_result import RunResult
from orchestrator.verbs.live.runs import resume_run
from orchestrator.verbs.live.switchover_procedure import run_switchover
from orchestrator.verbs.registration import EFFECTS, effects_with
from orchestrator.verbs.run_story import run_story
from orchestrator.watch.status import mirror_status
from tests.golden.commands import commands
from tests.moves.toy_applications import ToyApplications
from tests.moves.toy_world import AWAY, FILE, HOME, TALLIES, ToyEstate

WITNESSED = Word(
    name="witnessed", metavar="TALLY", says="a person has heard this tally count aloud", kind=str
)
COUNTED = Word(name="counted", metavar="NUMBER", says="a person has counted so many records", kind=int)


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class Heard:
    """Whom nobody has heard, and what was counted."""

    unheard: tuple[str, ...]
    counted: int | None = None


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class AwaitWitness(
    Look[Heard],
    name="toy-await-witness",
    phase="verify",
    title="Have a person hear each tally",
    words=(WITNESSED, COUNTED),
):
    """No machine can hear them."""

    names: tuple[str, ...]

    def awaits(self, found: Heard | None) -> Iterable[Awaited[Any]]:
        names = self.names if found is None else found.unheard
        yield from (Awaited(WITNESSED, name) for name in names)
        if found is None or found.counted is None:
            yield Awaited(COUNTED)

    def perform(self, run: Running) -> Outcome[Heard]:
        unheard = tuple(name for name in self.names if name not in run.word(WITNESSED))
        counted: int | None = max(run.word(COUNTED), default=None)
        if unheard or counted is None:
            return Failed("nobody was heard", {"unheard": list(unheard), "counted": counted})
        return Done(Heard(unheard=(), counted=counted), f"{counted + 1} with the next")


class WitnessedTallies(ToyApplications):
    """Tallies that a person has to hear."""

    effects: Sequence[type[Effect[Any]]] = (*ToyApplications.effects, AwaitWitness)

    def see(  # noqa: PLR0917 - as the others
        self,
        book: Runbook,
        way: Way,
        ready: Sequence[Handle[Any]],
        started: Handle[Nothing] | None,
        ground: Ground,
        after: Sequence[After],
    ) -> Handle[Any] | None:
        seen = super().see(book, way, ready, started, ground, after)
        book.add(AwaitWitness(names=way.named(self.name)), id=way.id("await-witness"), after=after)
        return seen


@pytest.fixture
def estate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToyEstate:
    """The usual verbs, and tallies beside the usual kinds."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path / "state"))
    found = ToyEstate(tmp_path, is_usual=True)
    kinds = [kind for kind in found.them.kinds if not isinstance(kind, ToyApplications)]
    found.them = replace(found.them, kinds=(*kinds, WitnessedTallies(found.tallies, {HOME: TALLIES})))
    found.live(30)
    return found


def asked(estate: ToyEstate) -> dict[str, Any]:
    """Of the estate, and of those who take part in it."""
    return {"servers": estate.servers, "them": estate.them}


def moved(estate: ToyEstate) -> RunResult:
    """As far as it goes without a person."""
    request = SwitchoverRequest(to=AWAY, by="ada", reason="a rehearsal")
    return run_switchover(estate.topology, request, **asked(estate))


def records_of(estate: ToyEstate, run_id: str) -> Sequence[RunEvent]:
    """The run's journal."""
    return run_records(estate.topology, run_id, estate.servers.coordination)


def resumed(estate: ToyEstate, run_id: str, **words: list[str]) -> RunResult:
    """Gone on with, by these words of eve's."""
    return resume_run(estate.topology, run_id, words=words, reason="eve: I was there", **asked(estate))


def test_a_step_waits_and_goes_on_by_a_persons_word(estate: ToyEstate) -> None:
    """It stops incomplete; each word is journaled with who, why and when, and comes to the step as its type."""
    stopped = moved(estate)
    assert stopped.outcome == "incomplete"
    half = resumed(estate, stopped.run_id, witnessed=["ada"], counted=["7"])
    assert half.outcome == "incomplete"
    assert [row["value"] for row in half.waits_for] == ["grace"]
    ended = resumed(estate, stopped.run_id, witnessed=["grace"])
    assert (ended.outcome, list(ended.waits_for)) == ("ok", [])
    (row,) = [row for row in ended.steps if row["id"] == "await-witness"]
    assert row["message"] == "8 with the next"
    said = [record for record in records_of(estate, stopped.run_id) if record.kind == "override"]
    by = {"by": "eve", "reason": "I was there"}
    assert [dict(record.data) for record in said] == [
        {"option": "--witnessed", "value": "ada", **by},
        {"option": "--counted", "value": 7, **by},
        {"option": "--witnessed", "value": "grace", **by},
    ]
    assert said[0].message == "--witnessed ada by eve: I was there"
    assert all(record.at_s > 0 for record in said)


@pytest.mark.parametrize(
    ("words", "subject", "problem"),
    [
        ({"witnessed": ["adda"]}, "--witnessed adda", "does not wait for this option"),
        ({"witnessed": ["ada", "adda"]}, "--witnessed adda", "does not wait for this option"),
        ({"attest-writing": ["ada"]}, "--attest-writing ada", "does not wait for this option"),
        ({"counted": ["many"]}, "--counted many", "valid integer"),
    ],
)
def test_a_word_for_which_nothing_waits_is_refused_with_those_for_which_something_does(
    estate: ToyEstate, words: dict[str, list[str]], subject: str, problem: str
) -> None:
    """The run stays as it was, to the last record."""
    run_id = moved(estate).run_id
    before = records_of(estate, run_id)
    with pytest.raises(UsageError) as refused:
        resumed(estate, run_id, **words)
    assert (refused.value.subject, refused.value.exit_status) == (subject, 2)
    assert problem in refused.value.problem
    assert refused.value.hint == "the run waits for --witnessed ada, --witnessed grace, --counted NUMBER"
    assert records_of(estate, run_id) == before


def test_a_run_that_has_all_it_needs_waits_for_no_word(estate: ToyEstate) -> None:
    """Neither once it has ended nor while it is taken back."""
    run_id = moved(estate).run_id
    words = {"witnessed": ["ada"]}
    state = state_from_journal(*started(records_of(estate, run_id)))
    effects = effects_with(estate.them)
    assert [override.value for override in words_given(state, words, "eve: so", effects)] == ["ada"]
    with pytest.raises(UsageError, match="is being rolled back, which waits for no option"):
        words_given(replace(state, undoing="no"), words, "eve: so", effects)
    done = state.with_status("await-witness", "ok")
    with pytest.raises(
        UsageError, match=r"does not wait for this option\n  leave the option out: dcctl resume \S+ FILE"
    ):
        words_given(done.with_status("producers-write", "ok"), words, "eve: so", effects)
    assert words_wanted(replace(state, undoing="no"), records_of(estate, run_id), effects) == ()


def started(records: Sequence[RunEvent]) -> tuple[Plan, str, Sequence[RunEvent]]:
    """What a state is made of."""
    return plan_of_run(records), records[0].run_id, records


def test_what_it_waits_for_is_told_wherever_one_looks(estate: ToyEstate) -> None:
    """In the result, at the end of the command, by `show`, by `status`, and by a gate that refuses the way back."""
    result = moved(estate)
    effects, run_id = effects_with(estate.them), result.run_id
    command = f"dcctl resume {run_id} FILE --witnessed ada --witnessed grace --counted NUMBER --reason TEXT"
    said = f"where {WITNESSED.says} and {COUNTED.says}: {command}"
    assert result.waits_for[0] == {
        "step": "await-witness",
        "option": "--witnessed",
        "value": "ada",
        "metavar": "TALLY",
        "says": WITNESSED.says,
    }
    with pytest.raises(IncompleteError) as ended:
        end_with(result, as_json=False)
    assert f"the run waits for a person's word: {said}" in ended.value.hint
    story = run_story(records_of(estate, run_id), effects)
    assert story["waits_for"] == list(result.waits_for)
    console = Console(file=StringIO(), width=400)
    render_story(story, console, full=True)
    assert said in console.file.getvalue()  # type: ignore[attr-defined]
    with pytest.raises(GateRefusedError) as refused:
        run_failback(estate.topology, FailbackRequest(to=HOME, by="ada", reason="back"), **asked(estate))
    assert said in refused.value.hint
    (mirror,) = estate.topology.replication
    move = mirror_status(estate.topology, mirror, **asked(estate))["last_move"]
    assert move["waits_for"] == list(result.waits_for)
    ensemble = estate.servers.coordination(estate.topology)
    ensemble.open()
    known = {run.run_id: run for run in newest_runs(ensemble, estate.topology.name, effects)}
    assert [asdict(word) for word in known[run_id].waits_for] == list(result.waits_for)


def test_what_a_person_has_said_already_is_not_asked_for_again(estate: ToyEstate) -> None:
    """Though the process has died before the step could take it up."""
    records = list(records_of(estate, moved(estate).run_id))
    said = WITNESSED.given("ada", "eve: I was there")
    last = records[-1]
    records.append(replace(last, sequence=last.sequence + 1, kind="override", data=said.as_json()))
    state = state_from_journal(*started(records))
    wanted = words_wanted(state, records, effects_with(estate.them))
    assert [word.value for word in wanted] == ["grace", None]


def test_a_step_that_is_only_noted_waits_for_nobody(estate: ToyEstate) -> None:
    """The run has done what it was for."""
    plan, run_id, records = started(records_of(estate, moved(estate).run_id))
    steps = [replace(s, on_failure="note") if s.id == "await-witness" else s for s in plan.steps]
    state = state_from_journal(replace(plan, steps=tuple(steps)), run_id, records)
    assert words_wanted(state, records, effects_with(estate.them)) == ()


def test_of_a_run_of_an_earlier_version_it_is_told_as_that_version_wrote_it(estate: ToyEstate) -> None:
    """Its steps had other arguments; the version that began it takes the word."""
    plan, run_id, records = started(records_of(estate, moved(estate).run_id))
    detail = {"producers": [], "not_seen": ["checkout"]}
    records = [
        replace(record, outcome="unknown", data={"result": detail})
        if (record.kind, record.step) == ("step-outcome", "producers-write")
        else record
        for record in records
    ]
    for arguments in ({}, plan.step("producers-write").arguments):
        steps = [replace(s, arguments=arguments) if s.id == "producers-write" else s for s in plan.steps]
        state = state_from_journal(replace(plan, steps=tuple(steps)), run_id, records)
        wanted = words_wanted(state, records, EFFECTS)
        assert [str(word) for word in wanted] == ["--attest-writing checkout"]


def test_an_effect_gets_no_word_that_it_does_not_declare() -> None:
    """It could never be given."""

    @checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
    class Eavesdrop(Look[Nothing], name="toy-eavesdrop", phase="verify", title="Listen"):
        def perform(self, run: Running) -> Outcome[Nothing]:
            run.word(WITNESSED)
            return Done(Nothing())

    step = Step(id="listen", phase="verify", title="Listen", action="toy-eavesdrop")
    found = EffectActions(Registry(Eavesdrop), NoWorld()).perform(step, {})  # type: ignore[arg-type]
    assert (
        found.message
        == "step listen: does not wait for a person's word witnessed: its package has not declared that"
    )


class NoWorld:
    """A world in which nothing was said."""

    run_id = "run-1"

    def is_cancelled(self) -> bool:
        return False

    def word(self, word: Word[Any]) -> frozenset[Any]:
        raise AssertionError(f"{word.name} is asked for")


def test_a_name_stands_for_one_word() -> None:
    """Of all that a run knows, and of all that stands in its journal."""
    other = Word(name="witnessed", metavar="NUMBER", says="a person has counted them", kind=int)

    @checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
    class Another(Look[Nothing], name="toy-another", phase="verify", title="Count", words=(other,)):
        def perform(self, run: Running) -> Outcome[Nothing]:
            raise NotImplementedError

    with pytest.raises(DcctlError, match="word witnessed: two words have this name"):
        Registry(AwaitWitness, Another)
    for option in OPTIONS:
        with pytest.raises(ValueError, match="means something else in journals"):
            Word(name=option.removeprefix("--"), metavar="X", says="it is so", kind=str)


def test_every_word_is_an_option_of_its_own() -> None:
    """Of `dcctl resume`, with a help text, and none is another option of that command."""
    resume = commands()["resume"]
    own = [option for parameter in resume.params for option in parameter.opts]
    found = word_options([*EFFECTS.words.values(), WITNESSED, COUNTED])
    assert [parameter.opts for parameter in found] == [["--attest-writing"], ["--witnessed"], ["--counted"]]
    assert [parameter.help for parameter in found][1:] == [
        "A person has heard this tally count aloud.",
        "A person has counted so many records.",
    ]
    assert not {option for parameter in found for option in parameter.opts} & set(own)


@pytest.mark.parametrize("effect", [*EFFECTS, AwaitWitness], ids=lambda effect: effect.NAME)
def test_an_effect_awaits_words_if_it_declares_any(effect: type[Effect[Any]]) -> None:
    """One that is declared and never awaited could only be refused."""
    assert bool(effect.WORDS) == (effect.awaits is not Effect.awaits)


def test_the_command_line_hands_on_the_words_that_effects_declare(monkeypatch: pytest.MonkeyPatch) -> None:
    """By their names, as they were typed; of an option that nobody declares it knows nothing."""
    given: list[dict[str, Any]] = []

    def resume(*_: Any, **asked: Any) -> NoReturn:
        given.append(asked["words"])
        raise GateRefusedError("run r1", "seen enough")

    monkeypatch.setattr(runs, "resume_run", resume)
    words = ["resume", "r1", str(FILE), "--attest-writing", "checkout", "--attest-writing", "returns"]
    assert run(words) == 4
    assert run([*words, "--witnessed", "ada"]) == 2
    monkeypatch.setattr(said_words, "_words", lambda: [WITNESSED, *EFFECTS.words.values()])
    assert run([*words, "--witnessed", "ada"]) == 4
    assert run(words[:3]) == 4
    producers = {"attest-writing": ("checkout", "returns")}
    assert given == [producers, {"witnessed": ("ada",), **producers}, {}]
