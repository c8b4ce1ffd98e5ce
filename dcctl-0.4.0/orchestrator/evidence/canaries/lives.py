"""Which life of each canary began with a move. One that missed a move is behind the others for ever."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal, NamedTuple

from orchestrator.evidence.audit.inputs import AuditInputs
from orchestrator.evidence.audit.ledgers import lives, positions_path, sends_path
from orchestrator.evidence.canaries.window import begun_ms, reading_begun_ms
from orchestrator.evidence.clients.config import PLACES
from orchestrator.evidence.clients.places import LIFE_AT_TARGET


class Canary(NamedTuple):
    """One client: its folder in the ledgers, and its name."""

    folder: Literal["producers", "consumers"]
    name: str


def lives_after(inputs: AuditInputs, ledgers: Path, first: int, from_s: float) -> dict[Canary, int]:
    """By client, the life that began with the move: its first one at that place from `from_s` on.

    It began before any producer went on elsewhere: what began later belongs to a later move. Lives of a place
    follow each other by two, from `first` on. A client without such a life has the number of one that is not
    there. Raises `OSError`.
    """
    found: dict[Canary, int] = {}
    until_ms = math.inf
    for producer in inputs.producers:
        client = Canary("producers", producer.name)
        life = found[client] = _life_after(client, ledgers, first, (from_s * 1000, math.inf))
        left_ms = _begun_ms(client, ledgers, life + 1)
        until_ms = until_ms if left_ms is None else min(until_ms, left_ms)
    for consumer in inputs.consumers:
        client = Canary("consumers", consumer.name)
        found[client] = _life_after(client, ledgers, first, (from_s * 1000, until_ms))
    return found


def _life_after(client: Canary, ledgers: Path, first: int, between_ms: tuple[float, float]) -> int:
    known = lives(ledgers, client.folder, client.name)
    there = [life for life in known if life % PLACES == first % PLACES]
    from_ms, until_ms = between_ms
    for life in there:
        begun = _begun_ms(client, ledgers, life)
        if begun is not None and from_ms <= begun < until_ms:
            return life
    if there:
        return max(there) + PLACES
    return first if first == LIFE_AT_TARGET else first + PLACES


def _begun_ms(client: Canary, ledgers: Path, life: int) -> int | None:
    is_producer = client.folder == "producers"
    try:
        path = (sends_path if is_producer else positions_path)(ledgers, client.name, life)
        with path.open(encoding="utf-8") as lines:
            return begun_ms(lines) if is_producer else reading_begun_ms(lines)
    except FileNotFoundError:
        return None
