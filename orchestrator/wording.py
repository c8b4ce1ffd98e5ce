"""How lists, numbers and ages are put into words."""

from __future__ import annotations

import re
from collections.abc import Iterable

_COMMAND = re.compile(r"(?<=dcctl )((?:[^\s;,`]+ )*?[^\s;,`]+) FILE\b")


def and_n_more(count: int, more: str = "more") -> str:
    """`and 9,998 more`: behind what is named of many; `more`: "partitions more", say."""
    return f"and {count:,} {more}"


def listed(items: Iterable[str], at_most: int = 5, more: str = "more", separator: str = ", ") -> str:
    """`a, b and 3 more`: the first items, and how many are left out (`and_n_more`)."""
    texts = list(items)
    left_out = f" {and_n_more(len(texts) - at_most, more)}" if len(texts) > at_most else ""
    return separator.join(texts[:at_most]) + left_out


def counted(count: int | None) -> str:
    """A number, which may not be known."""
    return "unknown" if count is None else f"{count:,}"


def short_age(seconds: float) -> str:
    """An age in the unit that fits: `3.4 s`, `12 min`, `5 h`."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def with_file(text: str, file: str) -> str:
    """A message whose commands name the topology file, for which they have FILE (`dcctl resume RUN FILE`).

    An empty `file` is left out: the command needs none.
    """
    return _COMMAND.sub(lambda found: f"{found[1]} {file}".rstrip(), text)


def plural(count: int, noun: str) -> str:
    """`1 broker`, `2 brokers`, `10,000 brokers`."""
    ending = "es" if noun.endswith("s") else "s"
    return f"{count:,} {noun}{'' if count == 1 else ending}"


def all_of(count: int, noun: str) -> str:
    """`all 25 positions are`, `the 1 position is`: the subject of a sentence, and its verb."""
    return f"the 1 {noun} is" if count == 1 else f"all {plural(count, noun)} are"
