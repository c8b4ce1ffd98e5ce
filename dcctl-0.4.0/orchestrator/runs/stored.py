"""Fields that are stored under an earlier name: in journals, plan files and the estate record. Pure."""

from __future__ import annotations

from typing import Any

from pydantic import AliasChoices, Field


def stored_as(name: str, *, now: str) -> Any:
    """A field of a checked dataclass that is called `now` here, and `name` wherever it is stored."""
    return Field(validation_alias=AliasChoices(now, name), serialization_alias=name)
