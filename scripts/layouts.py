"""Makes the pictures of the example topologies, and the page that shows them: `make layouts`.

Both are made by dcctl's own commands from the files in `topologies/`; a test tells when they are behind.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import get_args

from orchestrator.cli.main import run
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Layout

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "topologies"
PICTURES = ROOT / "docs" / "pictures"
PAGE = EXAMPLES / "README.md"

_INTRODUCTION = """\
<!-- Made by `make layouts` from the files beside it. -->
# Topology files

One file says how Kafka is laid out over data centres. Each example is commented for a reader who knows Kafka
but not dcctl. Copy the one that is nearest to your estate, and ask about it before anything exists:

```console
$ dcctl validate my.yaml            # is the file right? every error and warning at once
$ dcctl explain my.yaml             # what would the loss of each data centre mean, and why
$ dcctl graph my.yaml -o my.svg     # a picture like these; also as .dot, .mmd or .json
```

What becomes of each application in layouts with several mirrors, and what their files have to say:
[docs/layouts.md](../docs/layouts.md).
"""


def main() -> int:
    """Write every file; returns the exit status."""
    for path, text in made().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


def made() -> dict[Path, str]:
    """Every file that this script makes, with what belongs into it."""
    examples = sorted(EXAMPLES.glob("*.yaml"), key=_order)
    pictures = {picture(example): said(["graph", str(example)]) for example in examples}
    rows = [_row(example) for example in examples]
    table = ["| File | What it is | Picture | If a site is lost |", "| --- | --- | --- | --- |", *rows]
    sections = [_section(example) for example in examples]
    return {**pictures, PAGE: "\n".join([_INTRODUCTION, *table, *sections, ""])}


def picture(example: Path) -> Path:
    """Where an example's picture lies."""
    return PICTURES / f"{example.stem}.svg"


def said(arguments: Sequence[str]) -> str:
    """What a command of dcctl prints. Raises `SystemExit` with its errors where it fails."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = run(list(arguments))
    if status:
        raise SystemExit(f"dcctl {' '.join(arguments)} ended with {status}\n{err.getvalue()}")
    return out.getvalue()


def _order(example: Path) -> tuple[int, str]:
    """By layout, from one location to aggregation."""
    return get_args(Layout).index(load_topology(example).layout), example.stem


def _row(example: Path) -> str:
    what = example.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    losses, _ = _explained(example)
    shown = f'<img src="{_source(example)}" width="260" alt="Picture of {example.stem}">'
    cells = [
        f"[{example.stem}]({example.name})",
        what,
        f'<a href="#{_anchor(example)}">{shown}</a>',
        "<br>".join(loss.removeprefix("- ") for loss in losses),
    ]
    return f"| {' | '.join(cells)} |"


def _section(example: Path) -> str:
    _, tables = _explained(example)
    return f"""
## {example.stem}

![Picture of {example.stem}]({_source(example)})

<details>
<summary>What each loss would mean, and why</summary>

{tables}

</details>"""


def _explained(example: Path) -> tuple[list[str], str]:
    """One sentence for each loss, and the tables with the reasons."""
    losses, _, tables = said(["explain", str(example), "--format", "markdown"]).partition("\n\n")
    return losses.splitlines(), tables.strip()


def _anchor(example: Path) -> str:
    """How forges name a heading: without its dots."""
    return example.stem.replace(".", "")


def _source(example: Path) -> str:
    return f"../docs/pictures/{picture(example).name}"


if __name__ == "__main__":
    sys.exit(main())
