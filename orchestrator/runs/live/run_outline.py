"""A run by the names of its records, the first of them and the last: has it begun, and how did it end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import CoordinationError
from orchestrator.runs.live.journal import bulk_path, read_bulk, runs_path, unpacked
from orchestrator.runs.plan import NEVER_BEGAN, RunEvent, to_json

_INTENT = "step-intent"


@dataclass(frozen=True, slots=True)
class RunOutline:
    """One run of the journal. `names` are those of its records, in order (`RunEvent.name`).

    `has_begun`: whether one of its steps was ever begun, be it undone since. `outcome` is that of its end:
    empty where it has none, and where it was only a resumption that was refused, for what the run did before
    is still there.
    """

    run_id: str
    names: tuple[str, ...]
    first: Mapping[str, Any]
    last: Mapping[str, Any]
    has_begun: bool

    @property
    def about(self) -> Mapping[str, Any]:
        """What the first record says of the run: `verb`, `source`, `target`, `plan` and more."""
        return _data(self.first)

    @property
    def end(self) -> Mapping[str, Any]:
        """What the last record says."""
        return _data(self.last)

    @property
    def outcome(self) -> str:
        """See the class."""
        told = str(self.end.get("outcome", "")) if self.last.get("kind") == "run-ended" else ""
        return "" if self.has_begun and told in NEVER_BEGAN else told

    def text(self, key: str) -> str:
        """A value of `about` as text, empty where there is none."""
        return str(self.about.get(key, ""))


def part_of_record(about: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The applications that a run moves, by its first record; None for all, empty where it is too short."""
    part = about.get("part")
    return None if part is None else tuple(map(str, part.get("applications", ())))


def part_of_run(
    coordination: Coordination, topology: str, run_id: str, name: str, about: Mapping[str, Any]
) -> tuple[str, ...] | None:
    """The same; of a record that is too long for its node, `name`, out of its parts, if they are there."""
    part = part_of_record(about)
    if part != () or "parts" not in about:
        return part
    try:
        return part_of_record(read_bulk(coordination, bulk_path(topology, run_id, name), about))
    except CoordinationError:
        return part


def has_begun(records: Iterable[RunEvent]) -> bool:
    """Whether a run has begun a step, by its records."""
    return any(record.kind == _INTENT for record in records)


def outline_of(records: Sequence[RunEvent]) -> RunOutline:
    """A run by all of its records, of which there is one at least."""
    first, last = to_json(records[0]), to_json(records[-1])
    return RunOutline(
        records[0].run_id, tuple(record.name for record in records), first, last, has_begun(records)
    )


def read_outline(coordination: Coordination, topology: str, run_id: str) -> RunOutline | None:
    """A run of the ensemble's journal; None where it has no record (yet).

    Only two records are read: whether a step was begun, the names tell.
    """
    path = f"{runs_path(topology)}/{run_id}"
    names = tuple(coordination.names(path))
    if not names:
        return None
    first, last = (
        unpacked(coordination.read(f"{path}/{name}") or b"{}", path) for name in (names[0], names[-1])
    )
    return RunOutline(run_id, names, first, last, any(map(_is_intent, names)))


def _is_intent(name: str) -> bool:
    return name.partition("-")[2].startswith(_INTENT)


def _data(record: Mapping[str, Any]) -> Mapping[str, Any]:
    data = record.get("data")
    return data if isinstance(data, dict) else {}
