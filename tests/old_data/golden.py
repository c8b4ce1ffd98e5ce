"""What was made of old data when it was new, kept beside it: `python -m tests.old_data.golden FOLDER/STORY …`.

Written once, by the version that wrote the data. A later version may say more than that; what was said then
has to be there still.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.old_data import reading
from tests.old_data.reading import HERE, OldData
from tests.old_data.tree import cut, in_memory

_FILE = "golden.json.gz"


def told(data: OldData, folder: Path) -> dict[str, Any]:
    """Everything that is compared, as JSON data. `folder` is for what a guard keeps on its disk."""
    whole = in_memory(data.nodes)
    moments = {}
    for name, last in data.moments():
        ensemble = in_memory(cut(data.nodes, last))
        moments[name] = {
            "guards": reading.guards(data, ensemble, folder),
            "coordination": reading.coordination(data, ensemble),
            "past": reading.past(data, ensemble),
        }
    return {
        "moments": moments,
        "stories": {run_id: reading.story(data, whole, run_id, folder) for run_id, _ in data.runs},
        "samples": reading.samples(data),
    }


def kept(data: OldData) -> dict[str, Any]:
    """What was written when the data was new; why a guard is open is for people, and said anew since."""
    with gzip.open(data.folder / _FILE, "rt", encoding="utf-8") as file:
        found = dict(json.load(file))
    for moment in found["moments"].values():
        for word in moment["guards"].values():
            if word["is_open"]:
                word.pop("reason", None)
    return found


_ROUNDED_S = 0.0015
_REWORDED = {
    "has taken over from it": "has taken over",
    "it stopped, or is at work": "the run was stopped, or is still running",
}


def missing(then: Any, now: Any, place: str = "") -> list[str]:
    """Places where `now` does not say what `then` said. Keys and list entries of its own are no matter for
    mappings; lists have to be as long."""
    if isinstance(then, Mapping):
        if not isinstance(now, Mapping):
            return [f"{place}: {now!r} instead of {then!r}"]
        gone = [f"{place}.{name}: is not there any more" for name in then if name not in now]
        both = (_as_then(name, then[name], now[name], f"{place}.{name}") for name in then if name in now)
        return gone + [found for each in both for found in each]
    if isinstance(then, list):
        if not isinstance(now, list) or len(now) != len(then):
            return [f"{place}: {now!r} instead of {then!r}"]
        each = (missing(a, b, f"{place}[{at}]") for at, (a, b) in enumerate(zip(then, now, strict=True)))
        return [found for problems in each for found in problems]
    return [] if then == now else [f"{place}: {now!r} instead of {then!r}"]


def _as_then(name: str, then: Any, now: Any, place: str) -> list[str]:
    """As `missing`, but for what is told otherwise on purpose since (docs/renamed.md).

    `phases`: of each phase of steps its seconds; the look at the estate and the decision have times of their
    own since decision 72. `stopped_seconds`: until an abort as well, since then. Sentences that name their
    objects since decision 76.
    """
    if name == "phases":
        seconds = {row["name"]: row["seconds"] for row in reversed(now)}
        steps = {row["name"]: row["seconds"] for row in then if row["name"] not in ("detect", "decide")}
        # Begin and end are rounded to milliseconds, and no longer the seconds between them.
        near = {
            phase: took_s if abs(seconds[phase] - took_s) < _ROUNDED_S else seconds[phase]
            for phase, took_s in steps.items()
            if phase in seconds
        }
        return missing(steps, near, place)
    if name == "stopped_seconds" and then == 0:
        return []
    if isinstance(then, str):
        for before, since in _REWORDED.items():
            then = then.replace(before, since)
    return missing(then, now, place)


def main(names: list[str]) -> int:
    """The command."""
    for name in names:
        data = OldData(HERE / name)
        with tempfile.TemporaryDirectory() as folder:
            text = json.dumps(told(data, Path(folder)), sort_keys=True, ensure_ascii=False)
        with gzip.GzipFile(data.folder / _FILE, "wb", mtime=0) as file:
            file.write(text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
