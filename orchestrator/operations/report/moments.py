"""Moments of the report: ISO 8601 text in the file, always UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field


def _from_epoch(value: Any) -> Any:
    """Epoch seconds are taken as well, since everything inside the program counts in them."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return datetime.fromtimestamp(value, UTC).isoformat()
    return value


def _in_utc(value: datetime) -> datetime:
    return value.astimezone(UTC)


Moment = Annotated[AwareDatetime, BeforeValidator(_from_epoch), AfterValidator(_in_utc), Field(strict=False)]
