"""What a watcher keeps of applications beside committed offsets, as their kinds declare it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from orchestrator.snapshot.samples import Word
from orchestrator.topology.consumer_kinds import KINDS, by_kind
from orchestrator.topology.model import Consumer


@runtime_checkable
class Keeping(Protocol):
    """Follows the applications of one kind, in threads of its own.

    Made of their entries in the file, the watcher's name, and its log.
    """

    def start(self) -> None:
        """Begin to follow."""

    def stop(self) -> None:
        """End soon; what is cut off does no harm."""

    def words(self) -> Sequence[Word]:
        """The newest word on each application; at once, whatever they do."""


def keepings_of(consumers: Sequence[Consumer], watcher: str, log: Any) -> tuple[Keeping, ...]:
    """One for each kind that keeps something and has an application among these.

    Raises `DcctlError` where what a kind refers to is nothing of the sort.
    """
    return tuple(
        KINDS.made(kind.name, kind.kept_by, Keeping, members, watcher, log)  # type: ignore[type-abstract]
        for kind, members in by_kind(consumers).items()
        if kind.kept_by
    )
