"""How much the applications of a rehearsal do, and how the consumers behave. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from orchestrator.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """How one consumer group behaves before the fault. After the move every one reads to the end.

    `hold_lag_records` keeps it behind the end by so many, `max_rate_records_per_s` lets it catch up
    steadily, `stop_after_records` makes it commit and end.
    """

    name: str
    hold_lag_records: int = 0
    max_rate_records_per_s: float | None = None
    stop_after_records: int | None = None


AT_END = Role(name="at the end")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One rehearsal's load.

    `records_before` are written as fast as the cluster takes them, then `rate_records_per_s` in total go on
    through the fault: `steady_s` seconds before it and `after_s` seconds after the failover. The mirror
    stalls for the last `mirror_stall_s` seconds before the fault, as a link to a dying site does, so that
    there is something to lose. `roles` are given to the consumer groups in file order; those beyond are at
    the end. After the move they stay `hold_after_records` behind the end, so that a way back finds something
    to be read. `seed` decides which of `keys` keys each record has, and so where it goes. With
    `sabotage_every` N, each producer marks each Nth record after the preload, in its life `sabotage_life`,
    for a mirror that loses marked ones.
    """

    name: str
    records_before: int
    rate_records_per_s: float
    steady_s: float
    after_s: float
    mirror_stall_s: float
    roles: Sequence[Role]
    keys: int = 1_000
    seed: int = 0
    value_size_bytes: int = 100
    sabotage_every: int | None = None
    sabotage_life: int = 1
    hold_after_records: int = 0

    def shares(self, producers: Sequence[str]) -> Mapping[str, float]:
        """Which part of the load each producer carries: the first the most (1, 1/2, 1/3, … of it)."""
        weights = {name: 1 / (position + 1) for position, name in enumerate(producers)}
        total = sum(weights.values())
        return {name: weight / total for name, weight in weights.items()}

    def preload_records(self, share: float) -> int:
        """How many of `records_before` a producer with that share writes; all together no fewer."""
        return math.ceil(self.records_before * share)

    def roles_of(self, groups: Sequence[str]) -> Mapping[str, Role]:
        """The role of each consumer group, in file order."""
        assigned = zip_longest(groups, self.roles[: len(groups)], fillvalue=AT_END)
        return {str(group): role for group, role in assigned if isinstance(role, Role)}


DEFAULT = Scenario(
    name="default",
    records_before=200_000,
    rate_records_per_s=2_000.0,
    steady_s=8.0,
    after_s=5.0,
    mirror_stall_s=1.0,
    roles=(
        AT_END,
        Role(name="100 behind", hold_lag_records=100),
        Role(name="5,000 behind", hold_lag_records=5_000),
        Role(name="50,000 behind", hold_lag_records=50_000),
        Role(name="moving", max_rate_records_per_s=1_500.0),
        Role(name="stopped", stop_after_records=20_000),
    ),
)

SMALL = Scenario(
    name="small",
    records_before=5_000,
    rate_records_per_s=500.0,
    steady_s=5.0,
    after_s=4.0,
    mirror_stall_s=1.0,
    roles=(
        AT_END,
        Role(name="10 behind", hold_lag_records=10),
        Role(name="200 behind", hold_lag_records=200),
        Role(name="2,000 behind", hold_lag_records=2_000),
        Role(name="moving", max_rate_records_per_s=200.0),
        Role(name="stopped", stop_after_records=500),
    ),
    keys=100,
)

TINY = Scenario(
    name="tiny",
    records_before=3_000,
    rate_records_per_s=300.0,
    steady_s=3.0,
    after_s=3.0,
    mirror_stall_s=1.0,
    roles=(AT_END, Role(name="200 behind", hold_lag_records=200)),
    keys=100,
)

SCENARIOS: Mapping[str, Scenario] = {scenario.name: scenario for scenario in (DEFAULT, SMALL, TINY)}


def scenario_named(name: str) -> Scenario:
    """The scenario of that name. Raises `UsageError` for a name that there is not."""
    if name not in SCENARIOS:
        raise UsageError(
            f"--scenario {name}", "there is no such scenario", f"there are: {', '.join(SCENARIOS)}"
        )
    return SCENARIOS[name]
