"""What a producer's ledger says beside its sends: where it began, how far it announced, its clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.evidence.audit.clocks import ClockReading
from orchestrator.evidence.audit.ledgers import SENDS_COLUMNS

FENCING_MS = 5_000
"""A fence reaches one broker after the other: for so long before a producer's last acknowledgement in a life
that a move ended, refusals are the fence's."""


@dataclass(frozen=True, slots=True)
class SendNotes:
    """One life of one producer.

    `began_with`: the first new number that it had; None where the ledger does not go back to its begin.
    `announced_until`: the number behind the last one that it announced (and did not take back).
    """

    began_with: int | None
    announced_until: int | None
    clocks: Sequence[ClockReading]


def missing_end(before: SendNotes, after: SendNotes) -> str:
    """Why the end of the older of two ledgers must be missing; empty where nothing tells so.

    A producer reads its older ledgers when it begins: what it knew then is not there any more.
    """
    until = before.announced_until or 0
    if after.began_with is None or after.began_with <= until:
        return ""
    return f"ends at number {until:,}, and the next life began with {after.began_with:,}: its end is missing"


def read_send_notes(path: Path) -> SendNotes:
    """Read one ledger without its torn lines. Raises `OSError`, or `ValueError` for what is no such line."""
    began_with: int | None = None
    announced_until: int | None = None
    clocks = []
    for number, line in enumerate(path.read_bytes().splitlines()):
        if not line.startswith((b"start,", b"intent,", b"unsent,", b"clock,")) or not line.endswith(b",."):
            continue
        fields = line.decode().split(",")
        if len(fields) != len(SENDS_COLUMNS):
            continue
        event, first, until = fields[:3]
        if event == "start" and number == 1:
            began_with = int(first)
        elif event == "intent":
            announced_until = max(announced_until or 0, int(until))
        elif event == "unsent":
            announced_until = int(first)
        elif event == "clock":
            clocks.append(ClockReading(int(fields[7]), int(fields[5]), int(until)))
    return SendNotes(began_with, announced_until, clocks)
