"""Kinds of values that the topology file is made of, and how its mappings are read."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints

STRICT = ConfigDict(extra="forbid", strict=True)
"""An unknown key or a value of another type is an error: nothing is guessed."""

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=200)]
TopicName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]+$", max_length=249)]
Principal = Annotated[str, StringConstraints(pattern=r"^User:.+$")]
TransactionalId = Annotated[str, StringConstraints(pattern=r"^(\*|[^*]+\*?)$", max_length=249)]
"""A `transactional.id`; with `*` at its end every id that begins so, `*` alone is every id."""
HeaderName = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
SecondsOrZero = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Milliseconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]

Layout = Literal[
    "one-location",
    "stretched-2dc",
    "stretched-2.5dc",
    "stretched-3dc",
    "active-passive",
    "active-active",
    "aggregation",
]
Metadata = Literal["kraft", "zookeeper"]
Preference = Literal["consistency", "availability"]
Policy = Literal["default", "identity"]
ReadFrom = Literal["leader", "nearest"]

OnFork = Literal["keep", "replay", "rebuild"]
"""What becomes of the tail that only the lost side holds, when it comes back under the identity policy:
`keep` it in that side's log, exported for reference; `replay` it to the active side as new records;
`rebuild` the topic there from the other side."""

Unknown = Literal["quorum", "racks", "internal-topics", "acls", "connectors"]
"""What could not be seen of a cluster by whoever wrote the file; what depends on it is unknown as well."""

DestructiveChange = Literal[
    "delete-topics",  # a topic that the file no longer has, with its records
    "recreate-topics",  # a mirrored topic whose source was deleted and made anew
    "delete-records",  # a shorter retention, another cleanup policy, tiered storage switched off
    "reduce-durability",  # fewer replicas, a lower min.insync.replicas, unclean leader election
    "reset-config",  # settings of a topic that the file does not name
    "delete-acls",  # access rules that an apply of the file made, and that it no longer implies
    "delete-connectors",  # mirror connectors that the file no longer implies
]
"""Changes that destroy something; `apply` makes none that `allow` does not name."""
