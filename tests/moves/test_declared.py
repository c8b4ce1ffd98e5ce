"""What effects say about themselves as keywords of their classes."""

from __future__ import annotations

from dataclasses import fields
from string import Formatter
from typing import Any

import pytest

from orchestrator.runs.effect import Effect, Look, Nothing, Outcome, Reversible, Running
from orchestrator.verbs.registration import EFFECTS


@pytest.mark.parametrize("effect", list(EFFECTS), ids=lambda effect: effect.NAME)
def test_a_title_speaks_of_arguments_that_the_effect_has(effect: type[Effect[Any]]) -> None:
    """A plan's line is made when the plan is: a word that is no argument would be found at night."""
    if effect.title is not Effect.title:
        return
    named = {name.split(".")[0].split("[")[0] for _, name, _, _ in Formatter().parse(effect.TITLE) if name}
    assert named <= {field.name for field in fields(effect)}  # type: ignore[arg-type]
    assert effect.TITLE


class _Silent(Effect[Nothing]):
    """It has no name, so nothing is asked of it."""

    def perform(self, run: Running) -> Outcome[Nothing]:
        raise NotImplementedError


def test_an_effect_says_what_becomes_of_it_or_cannot_be_made() -> None:
    """One that says nothing would be left out of what abort tells; one that says two things, told wrongly."""
    with pytest.raises(TypeError, match="effect mute does not say what becomes of it when its run is rolled"):
        type("Mute", (_Silent,), {}, name="mute")
    with pytest.raises(TypeError, match="effect both says that it is irreversible, and that it stays"):
        type("Both", (_Silent,), {}, name="both", irreversible="it is eaten", stays="it is wanted")
    with pytest.raises(
        TypeError, match="effect glance says that it is irreversible, and that it changes noth"
    ):
        type("Glance", (Look,), {}, name="glance", irreversible="it is seen")
    type("Kept", (_Silent,), {}, name="kept", stays="a record of what was seen changes nothing")


@pytest.mark.parametrize("effect", list(EFFECTS), ids=lambda effect: effect.NAME)
def test_whatever_changes_the_world_is_taken_back_or_says_why_it_stays(effect: type[Effect[Any]]) -> None:
    """In a sentence that stands behind a title, and is no sentence of its own."""
    why = effect.IRREVERSIBLE or effect.STAYS
    assert why or issubclass(effect, Reversible | Look)
    assert why.strip(". ") == why
