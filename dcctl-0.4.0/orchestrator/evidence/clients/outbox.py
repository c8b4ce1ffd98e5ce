"""What a producer still owes: read from its ledgers when it starts again, here or at another site."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Outbox(NamedTuple):
    """The next number that was never announced, and the announced ones without an acknowledgement."""

    next_sequence: int
    unacknowledged: list[int]


def read_outbox(ledgers: Iterable[Path]) -> Outbox:
    """Read one producer's ledgers of all its lives, oldest first.

    A number stands in an `intent` line before it is sent, and in an `ack` line once it is safe. An `aborted`
    line gives it up for good. An `unsent` line takes back what a cleanly ended producer announced and did not
    send. A torn line counts as not written: the number in it is sent again, which is the safe side.
    """
    announced: list[range] = []
    settled: set[int] = set()
    next_sequence = 0
    for path in ledgers:
        for line in path.read_bytes().split(b"\n"):
            if not line.endswith(b",."):
                continue
            if line.startswith((b"ack,", b"aborted,")):
                settled.add(int(line.split(b",", 2)[1]))
            elif line.startswith((b"intent,", b"unsent,")):
                event, first, until, _rest = line.split(b",", 3)
                numbers = range(int(first), int(until))
                if event == b"intent":
                    announced.append(numbers)
                    next_sequence = max(next_sequence, numbers.stop)
                else:
                    next_sequence = numbers.start
    owed = {number for numbers in announced for number in numbers if number < next_sequence}
    return Outbox(next_sequence, sorted(owed - settled))
