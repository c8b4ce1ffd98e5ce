"""The two offset maps that lead from the standby back to the old primary, and all that they are read with."""

from __future__ import annotations

from pydantic.dataclasses import dataclass

from orchestrator.moves.clusters import Clusters
from orchestrator.moves.effect import EFFECT_CONFIG, Handle, Running
from orchestrator.moves.ports import Maps
from orchestrator.moves.results import MirrorEnd, MirrorStarts, ReturnedLogs, StandingLogs, TopicEnds
from orchestrator.planning.mirror_ref import MirrorRef
from orchestrator.planning.positions_back import BothMaps
from orchestrator.replication.cuts import cuts_from_json
from orchestrator.values import LogEnd


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class ThroughBothMaps:
    """The arguments of an effect that leads positions back through both maps.

    `mirror` is the file's, `forward_end` where it was paused, `end` where the way back has come to.
    `standing`: the logs of the landing topics at the standby. `home_ends`: where the primary's own topics
    end, `returned`: with the cuts of their logs. `starts`: from where on the way back has copied.
    """

    mirror: MirrorRef
    standing: Handle[StandingLogs]
    end: Handle[MirrorEnd]
    forward_end: Handle[MirrorEnd]
    home_ends: Handle[TopicEnds]
    returned: Handle[ReturnedLogs]
    starts: Handle[MirrorStarts]

    def both_maps(self, run: Running) -> BothMaps:
        """Both maps with their very last pairs: both mirrors stand. Raises `DcctlError`."""
        forward = run.port(Maps).final(self.mirror, run.of(self.forward_end))
        reverse = run.port(Maps).final(self.mirror.other_way, run.of(self.end))
        standing = run.of(self.standing)
        landing = {tp: LogEnd(standing.starts[tp], end) for tp, end in standing.ends.items()}
        home = run.port(Clusters).cluster(self.mirror.source).log_ends(run.of(self.home_ends).ends)
        return BothMaps(
            forward=forward.offset_map,
            reverse=reverse.offset_map,
            standby={**forward.logs, **landing},
            primary={**home, **reverse.logs},
            cuts=cuts_from_json(run.of(self.returned).cuts),
            reverse_starts=run.of(self.starts).starts,
        )
