"""A report's figures once more, from the ledgers, the journals and the plans in its folder.

It shares no code with the product: it knows the formats of `docs/evidence.md` and nothing else. By hand:

    python -m tests.drill.recomputed FOLDER [RUN]

prints every figure beside that of `report.json`, and ends with 1 where they differ. RUN is the folder of the run,
where it is not in the report's own. It takes logs whose copies have the offsets of their sources, as in every
rehearsal of its own, and says so where they have not. Queries of Spark are left out.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.drill.ledger_folder import Folder
from tests.drill.recomputed_loss import single
from tests.drill.recomputed_return import returned


def recomputed(path: Path, run: Path | None = None) -> Folder:
    """Compare a whole folder; what differs stands in `differences`."""
    runs = sorted(
        (path / "runs").glob("*"), key=lambda one: (int(one.name.split("-")[0]), "back" in one.name)
    )
    folder = Folder(path, runs or [run or (path / "run" if (path / "run").exists() else path)])
    folder.stated()
    (returned if folder.report["moves"] else single)(folder)
    return folder


if __name__ == "__main__":
    found = recomputed(*(Path(argument) for argument in sys.argv[1:]))
    last = f"{found.compared} figures compared, {len(found.differences)} differ: {found.differences}"
    sys.stdout.write("\n".join([*found.said, last, ""]))
    sys.exit(1 if found.differences else 0)
