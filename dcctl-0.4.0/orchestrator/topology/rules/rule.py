"""What a rule is: an id, how bad it is to break it, why, and a check that yields every breach."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.topology.model import Topology
from orchestrator.topology.problems import Severity
from orchestrator.topology.source import Path
from orchestrator.wording import listed

_NAMES_SHOWN = 8


class Finding(NamedTuple):
    """One breach: the path in the file, what is wrong there, and what to do instead."""

    path: Path
    message: str
    hint: str = ""


Check = Callable[[Topology], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """`error`: what the file says cannot exist, contradicts itself or destroys data. `warning`: it can
    exist, but does less than its reader would expect. `needs_sound`: the check is only made where the other
    rules have found no error, because it computes with what they are about."""

    id: str
    severity: Severity
    title: str
    reason: str
    check: Check
    needs_sound: bool = False


def rule(
    rule_id: str, severity: Severity, title: str, reason: str, *, needs_sound: bool = False
) -> Callable[[Check], Rule]:
    """Make a rule of a check."""
    return lambda check: Rule(rule_id, severity, title, reason, check, needs_sound)


def quoted(names: Iterable[str]) -> str:
    """Names in backquotes, all of them if they are few."""
    return listed((f"`{name}`" for name in names), _NAMES_SHOWN)


def nearest(word: str, known: Collection[str]) -> str:
    """The known name that `word` probably stands for, as a hint; else what there is to choose from."""
    # Comparing with each of ten thousand names takes a second; one that is meant is about as long.
    alike = (name for name in known if abs(len(name) - len(word)) <= max(2, len(word) // 4))
    close = difflib.get_close_matches(word, alike, n=1)
    if close:
        return f"did you mean `{close[0]}`?"
    return f"the file has {quoted(sorted(known))}" if known else "the file has none"
