"""Golden files: `python -m tests.golden.write [NAME…]` writes them anew and prints what differs.

A name is that of a group, or a part of it; without one all are written.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.golden.order import PAIRS, Judged, judge
from tests.golden.play import Kept, Played, play
from tests.golden.situations import groups

FOLDER = Path(__file__).parent / "kept"


def file_of(group: str) -> Path:
    """Where a group is kept."""
    return FOLDER / f"{re.sub(r'[^a-z0-9]+', '-', group.lower()).strip('-')}.json"


def played(group: str) -> Mapping[str, Played]:
    """Every situation of a group, played now."""
    return {name: play(situation) for name, situation in sorted(groups()[group].items())}


def text_of(found: Mapping[str, Kept]) -> str:
    """As it lies in the file: sorted where order says nothing, one fact a line."""
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def difference(old: str, new: str, file: str) -> str:
    """What differs, as a diff; empty where nothing does."""
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), f"{file} (kept)", f"{file} (now)", lineterm="", n=4
    )
    return "\n".join(lines)


def judged(found: Mapping[str, Played]) -> dict[str, list[Judged]]:
    """By situation, each pair of the table of order held against each of its runs."""
    return {name: [pair for run in one.runs for pair in judge(run)] for name, one in found.items()}


def matches_of(found: Mapping[str, list[Judged]]) -> set[str]:
    """The pairs of which a group has both sides."""
    return {str(one.pair) for rows in found.values() for one in rows if one.is_there}


def order_file() -> Path:
    """Where it is kept which pair is of which groups."""
    return FOLDER / "order.json"


def main(names: list[str]) -> int:
    """Write groups anew."""
    FOLDER.mkdir(exist_ok=True)
    file = order_file()
    order: dict[str, list[str]] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    order = {str(pair): [g for g in order.get(str(pair), []) if g in groups()] for pair in PAIRS}
    for group in groups():
        if names and not any(name in group for name in names):
            continue
        found = played(group)
        there = matches_of(judged(found))
        for pair, where in order.items():
            order[pair] = sorted({*where, group} if pair in there else {*where} - {group})
        _write(file_of(group), text_of({name: one.kept for name, one in found.items()}))
    _write(file, json.dumps(order, indent=1, ensure_ascii=False) + "\n")
    return 0


def _write(file: Path, new: str) -> None:
    old = file.read_text(encoding="utf-8") if file.exists() else ""
    if new != old:
        sys.stdout.write((difference(old, new, file.name) if old else f"{file.name}: new") + "\n")
        file.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
