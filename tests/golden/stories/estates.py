"""Kinds of estates that situations begin with, and the words that their stories share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.golden.play import Situation

Named = dict[str, Situation]

# So much normal work fills the logs, the samples and the offset syncs.
WORK = "work 10"
OVER = "$ failover --attest-down west --to east"
LEAVE = "$ failover --attest-sick west --to east"
SWITCH = "$ switchover --to east"
BACK = "$ failback --to west"
LOST = (WORK, "lose west", "wait 4")
ROAM = "client east producer-checkout runs"

FILES: Mapping[str, tuple[str, ...]] = {
    "small": (),
    "query": ("query",),
    "two queries": ("two queries",),
    "itself": ("itself",),
    "all themselves": ("all themselves",),
    "shared": ("shared",),
    "shared, unmarked": ("shared, unmarked",),
    "shared, itself": ("shared", "itself"),
    "no producers": ("no producers",),
    "no consumers": ("no consumers",),
    "three brokers": ("three brokers",),
    "three brokers, query": ("three brokers", "query"),
    "many topics": ("many topics",),
    "part mirrored": ("part mirrored",),
    "canary": ("canary",),
    "acks 1": ("acks 1",),
    "separator": ("separator",),
    "no loss": ("no loss",),
    "query that refuses": ("query that refuses",),
}
"""Kinds of estates, by features of the file."""

REFUSED = ("identity", "pattern", "unmanaged")
"""Features with which no move is made yet, and that is said."""

# Who is not seen by itself, and what lets the run end: it turns up, or a person has seen it.
_ATTEST = "$ resume --reason seen --attest-writing"
SEEN: Mapping[str, tuple[str, ...]] = {
    "itself": (ROAM, "wait 2", "$ resume", "wait 4"),
    "shared, itself": (ROAM, "wait 2", "$ resume", "wait 4"),
    "all themselves": (ROAM, "client east producer-settlement runs", "wait 2", "$ resume", "wait 4"),
    "shared, unmarked": (f"{_ATTEST} checkout --attest-writing returns", "wait 4"),
    "part mirrored": (f"{_ATTEST} settlement", "wait 4"),
}
SEEN_AT_HOME: Mapping[str, tuple[str, ...]] = {
    name: tuple(text.replace("client east", "client west") for text in story) for name, story in SEEN.items()
}
GONE_HOME = ("client east producer-checkout stops", "client east producer-settlement stops")


def all_files(*story: str, but: Iterable[str] = ()) -> Named:
    """A move, and what lets it end well."""
    return {
        name: Situation(file, (*story, "wait 4", *SEEN.get(name, ())))
        for name, file in FILES.items()
        if name not in but
    }


def back_by_file(*moved: str, before: tuple[str, ...] = ()) -> Named:
    """There, seen to the end, and back again."""
    return {
        name: Situation(
            file,
            (
                *moved,
                "wait 4",
                *SEEN.get(name, ()),
                "wait 4",
                *before,
                BACK,
                "wait 4",
                *((*GONE_HOME, *SEEN_AT_HOME[name]) if name in SEEN else ()),
            ),
        )
        for name, file in FILES.items()
        if name
        not in {"no loss", "query that refuses", "acks 1", "two queries", "three brokers, query", "separator"}
    }
