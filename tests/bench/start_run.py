"""How long commands take to start, of one version or of several in turns.

`python -m tests.bench.start_run [ROUNDS [WORKING_COPY …]]` prints one line of JSON for each working copy, with
the ratio of the medians to those of the first one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.bench.start import ROUNDS, measure


def main() -> None:
    """Measure and print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    found = measure(rounds, [Path(copy).resolve() for copy in sys.argv[2:]])
    first = [row.as_json()["cpu_s"]["median"] for row in next(iter(found.values()))]
    for name, started in found.items():
        rows = [row.as_json() for row in started]
        for row, before in zip(rows, first, strict=True):
            row["ratio"] = round(row["cpu_s"]["median"] / before, 3)
        sys.stdout.write(json.dumps({"version": name, "rounds": rounds, "started": rows}) + "\n")


if __name__ == "__main__":
    main()
