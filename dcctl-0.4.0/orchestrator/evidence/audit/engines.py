"""What reports have to know of a mirror engine, and the one that is there."""

from __future__ import annotations

from typing import Protocol

from orchestrator.replication.own_translation import BUILT_IN


class AuditedEngine(Protocol):
    """An engine that translates group offsets by itself; reports set that beside what a move wrote."""

    @property
    def engine(self) -> str:
        """Its title."""

    @property
    def offset_key(self) -> str:
        """In `inputs.json`, of a position: where it had put a group."""

    @property
    def reread_key(self) -> str:
        """In `report.json`, of a row of `consumers`: what would have been read again from there."""


ENGINE: AuditedEngine = BUILT_IN
