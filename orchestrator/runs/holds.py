"""Keeping the tool's hands off: what a hold covers, and the gate that every writing verb has.

A hold is put by a person, on everything that shares the ensemble (`all`), on one topology
(`topology:NAME`) or on a data centre (`dc:NAME`). It forbids to begin anything; what is under way stops
before its next step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Any

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from orchestrator.errors import UsageError
from orchestrator.runs.plan import GateResult
from orchestrator.topology.model import Topology

ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Hold:
    """One hold. Times are Unix epoch seconds; without `expires_at_s` it stands until it is released."""

    scope: str
    who: str
    reason: str
    at_s: float
    host: str = ""
    expires_at_s: float | None = None

    def as_json(self) -> dict[str, Any]:
        """For the store and for `--json`."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @property
    def holder(self) -> str:
        """Who, and from which machine: an account may be shared."""
        return f"{self.who}@{self.host}" if self.host else self.who

    def is_standing(self, now_s: float) -> bool:
        """Whether it has not expired."""
        return self.expires_at_s is None or now_s < self.expires_at_s

    def covers(self, topology: str, datacenters: Collection[str]) -> bool:
        """Whether it is about this topology, or about one of the data centres that are to be touched."""
        kind, _, name = self.scope.partition(":")
        return kind == ALL or (name == topology if kind == "topology" else name in datacenters)

    def __str__(self) -> str:
        until = f" until {_clock(self.expires_at_s)}" if self.expires_at_s is not None else ""
        return f"{self.scope} is held by {self.holder} since {_clock(self.at_s)}{until}: {self.reason}"


def hold_scope(said: str, topology: Topology) -> str:
    """The scope that a person means: `all`, `topology:NAME` or the bare name, `dc:NAME`.

    Raises `UsageError` for a name that the file does not have: a hold that covers nothing would be
    believed in.
    """
    kind, colon, name = said.partition(":")
    if said in (topology.name, f"topology:{topology.name}"):
        return f"topology:{topology.name}"
    if said == ALL:
        return ALL
    if kind == "dc" and name in topology.datacenters:
        return said
    known = ", ".join(
        [ALL, f"topology:{topology.name}", *(f"dc:{datacenter}" for datacenter in topology.datacenters)]
    )
    near = f"dc:{said}" if not colon and said in topology.datacenters else ""
    hint = f"a data centre is written {near}" if near else "another topology is held by its own file"
    raise UsageError(f"scope {said}", f"a hold covers one of these: {known}", hint)


def check_kind(said: str) -> None:
    """Raise `UsageError` for a scope of a kind that no file has, before any file is looked for."""
    kind, colon, name = said.partition(":")
    if colon and (kind not in ("dc", "topology") or not name):
        raise UsageError(
            f"scope {said}",
            "a hold covers one of these: all, topology:NAME, dc:NAME",
            f"a data centre is written dc:{name or 'NAME'}",
        )


def datacenters_of(topology: Topology, clusters: Iterable[str]) -> tuple[str, ...]:
    """The data centres in which clusters stand, in the order of the file."""
    touched = {dc for name in clusters for dc in topology.clusters[name].datacenters}
    return tuple(dc for dc in topology.datacenters if dc in touched)


def standing_on(
    holds: Iterable[Hold], topology: Topology, clusters: Iterable[str], now_s: float
) -> tuple[Hold, ...]:
    """The holds that forbid to touch these clusters now, the oldest first."""
    touched = datacenters_of(topology, clusters)
    found = [hold for hold in holds if hold.is_standing(now_s) and hold.covers(topology.name, touched)]
    return tuple(sorted(found, key=lambda hold: hold.at_s))


def not_held(topology: Topology, clusters: Iterable[str], holds: Iterable[Hold], now_s: float) -> GateResult:
    """The gate `not-held`, where the holds could be read."""
    touched = datacenters_of(topology, clusters)
    standing = standing_on(holds, topology, clusters, now_s)
    return GateResult(
        id="not-held",
        outcome="refused" if standing else "ok",
        measured="1 hold" if len(standing) == 1 else f"{len(standing)} holds",
        limit=f"no hold on all, topology:{topology.name}" + "".join(f", dc:{dc}" for dc in touched),
        reason="; ".join(map(str, standing)) or f"no hold on {', '.join(touched)} or {topology.name}",
        hint=f"dcctl release {standing[0].scope} FILE, once {standing[0].holder} agrees" if standing else "",
    )


def _clock(at_s: float | None) -> str:
    return datetime.fromtimestamp(at_s or 0.0, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
