"""What effects say about themselves as keywords of their classes."""

from __future__ import annotations

from dataclasses import fields
from string import Formatter
from typing import Any

import pytest

from orchestrator.moves.effect import Effect
from orchestrator.moves.effects import MOVE_EFFECTS


@pytest.mark.parametrize("effect", list(MOVE_EFFECTS), ids=lambda effect: effect.NAME)
def test_a_title_speaks_of_arguments_that_the_effect_has(effect: type[Effect[Any]]) -> None:
    """A plan's line is made when the plan is: a word that is no argument would be found at night."""
    if effect.title is not Effect.title:
        return
    named = {name.split(".")[0].split("[")[0] for _, name, _, _ in Formatter().parse(effect.TITLE) if name}
    assert named <= {field.name for field in fields(effect)}  # type: ignore[arg-type]
    assert effect.TITLE
