"""The command line: `python -m scripts.measure [--json] [--root DIR] [--together A,B] [--beside FILE]`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from .report import TRUNK, in_words, measured
from .source import read_product, read_templates

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.measure", description="Measures the product's code."
    )
    parser.add_argument("--json", action="store_true", help="as data, for `--beside` of another version")
    parser.add_argument("--root", type=Path, default=ROOT, help="another working copy; this one by default")
    parser.add_argument(
        "--together",
        default=",".join(TRUNK),
        metavar="A,B",
        help="packages whose statements are told in one figure as well (default: %(default)s)",
    )
    parser.add_argument("--beside", type=Path, metavar="FILE", help="what --json said of another version")
    options = parser.parse_args(arguments)
    together = options.together.split(",")
    found = measured(read_product(options.root), read_templates(options.root), together=together)
    beside = json.loads(options.beside.read_text(encoding="utf-8")) if options.beside else None
    text = (
        json.dumps(found, indent=2, ensure_ascii=False)
        if options.json
        else "\n".join(in_words(found, beside))
    )
    sys.stdout.write(text.rstrip("\n") + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
