"""Where groups stood at a degraded cluster: as far as their coordinators still say it."""

from __future__ import annotations

from pydantic.dataclasses import dataclass

from orchestrator.applications.consumers import groups_named
from orchestrator.errors import ClusterError
from orchestrator.moves.ports import PartialClusters, Seen
from orchestrator.moves.results import RecordedPositions
from orchestrator.ports.clock import Clock
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.effect import EFFECT_CONFIG, Done, Look, Outcome, Running, Unknown
from orchestrator.snapshot.watcher_records import SET_CLOCKS, age_s
from orchestrator.wording import plural


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RecordPartialPositions(
    Look[RecordedPositions],
    name="record-left-positions",
    phase="translate",
    title="Record the positions of the groups at {mirror.source}; where a group's coordinator is silent, "
    "the newest that the watcher saw",
    expected_s=1.5,
):
    """What each group has committed there; where its coordinator is silent, the watcher's newest word.

    That may be `max_age_s` seconds old, counted up to when the watcher could not have it any more.
    """

    mirror: MirrorRef
    groups: tuple[str, ...]
    max_age_s: float

    def perform(self, run: Running) -> Outcome[RecordedPositions]:
        """See `Effect`."""
        clock, groups = run.port(Clock), groups_named(run, self.groups)
        with run.port(PartialClusters).left(self.mirror.source) as reader:
            said = reader.committed(groups)
        found = {group: dict(told) for group, told in said.items() if not isinstance(told, ClusterError)}
        at_s = dict.fromkeys(found, clock.now_s())
        silent = [group for group in groups if group not in found]
        old = {}
        if silent:
            history = run.port(Seen).samples_now(self.mirror)
            read_at_s = clock.now_s()
            for group in silent:
                sampled = history.positions(group)
                found[group] = {tp: position.offset for tp, position in sampled.items()}
                at_s[group] = min((position.sampled_at_s for position in sampled.values()), default=0.0)
                unseen_s = history.unseen_since_s(group)
                judged_s = history.comparable_s(read_at_s) if unseen_s is None else unseen_s
                age = age_s(judged_s, at_s[group])
                if not sampled:
                    old[group] = "never seen"
                elif age is None:
                    old[group] = f"of unknown age; {SET_CLOCKS}"
                elif age > self.max_age_s:
                    old[group] = f"{age:.0f} s old"
        if old:
            return Unknown(
                "the coordinators of these groups do not answer, and the watcher's positions are too old: "
                + ", ".join(f"{groups[group]} ({why})" for group, why in old.items())
                + "; look whether the watcher runs; a higher failover.max_position_age_s accepts them,"
                " and more is read again"
            )
        count = sum(len(offsets) for offsets in found.values())
        told = (
            f"; by the watcher's newest sample: {', '.join(groups[group] for group in silent)}"
            if silent
            else ""
        )
        return Done(
            RecordedPositions(
                positions={group: found[group] for group in groups},
                at_s={group: at_s[group] for group in groups},
                sampled=tuple(silent),
            ),
            f"{plural(count, 'position')} of {plural(len(self.groups), 'group')}{told}",
        )
