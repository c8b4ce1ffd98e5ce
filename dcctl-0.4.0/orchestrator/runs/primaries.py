"""The records of which side is primary: one for each move, the newest counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass as checked_dataclass


@dataclass(frozen=True, slots=True)
class Primary:
    """Where a topic is primary, since when (Unix seconds), and by which run."""

    cluster: str
    since_s: float
    run_id: str


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class PrimaryRecord:
    """What one run has recorded. `home` is the cluster that the file gives these topics."""

    home: str
    primary: str
    topics: tuple[str, ...]
    at_s: float
    run_id: str

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PrimaryRecord:
        """Out of the store. Raises `ValidationError`, a `ValueError`, for what is none."""
        return TypeAdapter(cls).validate_python(data)

    def as_json(self) -> dict[str, Any]:
        """For the store."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {
            "topics": list(self.topics)
        }


def primaries_of(records: Iterable[PrimaryRecord]) -> dict[tuple[str, str], Primary]:
    """(home, topic) -> its primary, from the records in the order in which they were written."""
    found: dict[tuple[str, str], Primary] = {}
    for record in records:
        for topic in record.topics:
            found[record.home, topic] = Primary(record.primary, record.at_s, record.run_id)
    return found


Primaries = Mapping[tuple[str, str], Primary]
