"""The copy of a fact of the estate record, as a record of a samples topic."""

from __future__ import annotations

import json
import zlib

from orchestrator.runs.estate_record import Fact

# Unlike the keys of samples, which are lists: a reader of samples alone passes it over.
_COPY_KEY = b'{"fact":'


def is_copy(key: bytes) -> bool:
    """Whether a record of a samples topic is the copy of a fact."""
    return key.startswith(_COPY_KEY)


def encode_copy(life: str, fact: Fact) -> tuple[bytes, bytes]:
    """Key and value of the copy of a fact in a samples topic; `life` is that of its record."""
    value = json.dumps({"v": 1, "life": life, **fact.as_json()}, separators=(",", ":")).encode()
    key = _COPY_KEY + json.dumps([life, fact.number], separators=(",", ":")).encode() + b"}"
    return key, zlib.compress(value)


def decode_copy(value: bytes) -> tuple[str, Fact]:
    """Life and fact in such a record. Raises `ValueError` for what is none."""
    try:
        data = json.loads(zlib.decompress(value))
        return str(data["life"]), Fact.from_json(data)
    except (zlib.error, KeyError, TypeError) as error:
        raise ValueError(f"is none that this version understands: {error}") from None
