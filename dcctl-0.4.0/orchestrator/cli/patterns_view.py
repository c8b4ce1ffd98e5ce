"""How people are told what the patterns of mirrors match."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from orchestrator.wording import listed

_SHOWN = 15


def pattern_lines(mirrors: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each pattern of each mirror, and one for what is left out; see `patterns_as_json`."""
    for mirror in mirrors:
        of = f"The mirror {mirror['source']} → {mirror['target']}"
        for pattern, names in mirror["patterns"].items():
            yield f"{of} copies by the pattern {pattern}: {listed(names, _SHOWN) or 'no topic of the file'}"
        if mirror["left_out"]:
            left_out = listed(mirror["left_out"], _SHOWN)
            yield f"{of} leaves out internal topics that its patterns match: {left_out}"
