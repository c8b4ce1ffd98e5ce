"""The topics of a mirror as a file names them: by name, or by patterns as MirrorMaker understands them.

A pattern is a regular expression that must match the whole name (`DefaultTopicFilter`, `MirrorUtils`). It
is told from a name by a character that no topic's name has; `.` alone makes no pattern. MirrorMaker reads
them by Java's rules, dcctl by Python's: what the two read otherwise is refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Annotated, Any

from pydantic import PlainSerializer, StringConstraints, ValidatorFunctionWrapHandler, WrapValidator

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_Entry = Annotated[str, StringConstraints(min_length=1, max_length=1000)]

# Of both: letters of names, any character, classes without one inside another, groups, alternatives,
# quantifiers, look-arounds. A flag would hold for the patterns behind it too: MirrorMaker joins them by `|`.
_TOKEN = re.compile(
    r"[A-Za-z0-9_-]|\\[.dDwW\\-]|\.|\[\^?(?:[A-Za-z0-9._-]|\\[.dDwW\\-])+\]|\((?:\?[:=!]|\?<[=!]|(?!\?))|\)|[|^$]"
    r"|[*+?]\??|\{[0-9]+\}\??"
)

LEFT_OUT = (
    r"__.*",
    r"\..*",
    r".*[-.]internal",
    r".*-(changelog|repartition)",
    r".*-KTABLE-FK-JOIN-SUBSCRIPTION-.*-topic",
    r"_confluent-ksql-.*|.*ksql_processing_log|.*__transient_.*",
    r"_?connect([-_.].*)?[-_.](configs?|offsets?|status(es)?)",
)
"""What no pattern is to copy, as `topics.exclude` takes it: internal topics of Kafka, MirrorMaker, Streams,
ksqlDB and Connect. Copies of state do not fit the translated offsets."""


class MirroredTopics(tuple[str, ...]):
    """Names of mirrored topics, those that patterns match too; `patterns` as the file has them."""

    patterns: tuple[str, ...]

    def __new__(cls, names: Iterable[str] = (), patterns: Iterable[str] = ()) -> MirroredTopics:
        """Names, and patterns; see the class."""
        made = super().__new__(cls, names)
        made.patterns = tuple(patterns)
        return made

    @classmethod
    def of(cls, entries: Iterable[str]) -> MirroredTopics:
        """From the entries of a file."""
        given = tuple(entries)
        return cls(
            (entry for entry in given if _NAME.fullmatch(entry)),
            (entry for entry in given if not _NAME.fullmatch(entry)),
        )

    @property
    def entries(self) -> tuple[str, ...]:
        """All that a file would have: names, then patterns."""
        return (*self, *self.patterns)

    def __eq__(self, other: object) -> bool:
        """Patterns count."""
        return tuple.__eq__(self, other) is True and self.patterns == patterns_of(other)

    def __ne__(self, other: object) -> bool:
        """See `__eq__`."""
        return not self == other

    def __hash__(self) -> int:
        """See `__eq__`."""
        return hash(self.entries) if self.patterns else tuple.__hash__(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """For copies and other processes."""
        return MirroredTopics, (tuple(self), self.patterns)


def patterns_of(topics: object) -> tuple[str, ...]:
    """The patterns among a mirror's topics."""
    return topics.patterns if isinstance(topics, MirroredTopics) else ()


def _read(value: Any, handler: ValidatorFunctionWrapHandler) -> MirroredTopics:
    if isinstance(value, MirroredTopics):
        return value
    # Of JSON this gets a list, which is no tuple to whoever is strict.
    return MirroredTopics.of(handler(tuple(value) if isinstance(value, list) else value))


def _shown(topics: Any) -> tuple[str, ...]:
    return (*topics, *patterns_of(topics))


NamesAndPatterns = Annotated[
    tuple[_Entry, ...], WrapValidator(_read), PlainSerializer(_shown, return_type=tuple[str, ...])
]
"""The key `topics` of a mirror."""


def pattern_problem(pattern: str) -> str:
    """Why a pattern cannot be used; empty where it can."""
    if "," in pattern:
        return "MirrorMaker separates its patterns by commas, so none may stand inside one"
    place = 0
    while place < len(pattern):
        token = _TOKEN.match(pattern, place)
        if token is None:
            return (
                f"`{pattern[place:]}` is not read alike by MirrorMaker and dcctl, or matches no topic's name"
            )
        place = token.end()
    try:
        re.compile(pattern)
    except re.error as error:
        return f"it is no regular expression: {error}"
    return ""


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    return None if pattern_problem(pattern) else re.compile(pattern)


def matching(patterns: Iterable[str], name: str) -> str:
    """The first pattern that matches a name as a whole; empty for none, and for one that cannot be used."""
    return next((one for one in patterns if (known := _compiled(one)) and known.fullmatch(name)), "")


_INTERNAL = re.compile("|".join(f"(?:{pattern})" for pattern in LEFT_OUT) + r"|(?:.*[._-])?heartbeats")


def is_left_out(name: str) -> bool:
    """Whether no pattern is to copy a topic of that name; see `LEFT_OUT`. Heartbeats go without a pattern."""
    return _INTERNAL.fullmatch(name) is not None


def given_names(topics: Collection[str]) -> tuple[str, ...]:
    """The names that no pattern of the mirror matches."""
    patterns = patterns_of(topics)
    return tuple(name for name in topics if not (patterns and matching(patterns, name)))
