"""Mirrors out of a cluster that gives up records: stopped before, set behind what is left, resumed. Pure.

Rule (facts: MirrorMaker 2): a mirror whose position lies beyond the end of a log begins anew at the earliest
offset, or skips what is written up to there, without a word. What is left to be done with one is recorded, so
that whoever comes after a run that ended on its way does the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from orchestrator.errors import DcctlError
from orchestrator.moves.participants import MirrorEngine, Participants
from orchestrator.moves.results import LeadersChosen
from orchestrator.moves.within_cluster.halted_mirrors import (
    RecordLeftEnds,
    RecordMirrorsHalted,
    ReleaseMirror,
)
from orchestrator.moves.within_cluster.planning import halted_of
from orchestrator.replication.mirror_ref import MirrorRef, ref_to
from orchestrator.runs.effect import Handle, Nothing
from orchestrator.runs.estate_record import Cuts
from orchestrator.runs.facts_within_clusters import MirrorHalted
from orchestrator.runs.gate import absent, gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.runs.runbook import After, Runbook, behind
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Replication, Topology
from orchestrator.topology.pattern_matching import matched
from orchestrator.values import TopicPartition
from orchestrator.wording import listed

_ANEW = "a mirror whose position is beyond a log would start from the beginning, or skip records"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortened:
    """One that may have copied what is given up, now or at an election whose run did not come to its end.

    `loses`: it copies what is given up now; `runs`: it does, and nobody has stopped it. `halted`: what is to
    be recorded of it, with where logs ended at elections before. `earlier`: cuts before.
    """

    mirror: MirrorRef
    engine: MirrorEngine
    loses: bool
    runs: bool
    halted: MirrorHalted
    earlier: Cuts


def mirrors_shortened(
    topology: Topology, seen: Snapshot, cluster: str, unclean: Collection[TopicPartition], them: Participants
) -> tuple[Shortened, ...]:
    """Those that copy any of these partitions out of the cluster, and those that stand since an election.

    One that cannot be stopped is left out: `mirrors_stoppable` tells of it.
    """
    state, found = seen.coordination.value, []
    known = {one.target: one for one in halted_of(seen, cluster)}
    losing = _copying(topology, cluster, unclean)
    for described in topology.replication:
        if described not in losing and (described.source != cluster or described.target not in known):
            continue
        ref, loses = ref_to(described), described in losing
        engine = _engine(topology, ref, them)
        if isinstance(engine, str):
            continue
        at_rest = engine.is_at_rest(seen.mirror(ref).states.value or {}, described)
        if loses and at_rest is None:
            continue
        runs = loses and not at_rest
        halted = known.get(ref.target, MirrorHalted(cluster=cluster, target=ref.target, ran=runs))
        one = Shortened(
            mirror=ref,
            engine=engine,
            loses=loses,
            runs=runs,
            halted=replace(halted, ran=halted.ran or runs),
            earlier=state.truncated.get((ref.source, ref.target), ()) if state else (),
        )
        found.append(one)
    return tuple(found)


def _copying(topology: Topology, cluster: str, unclean: Collection[TopicPartition]) -> list[Replication]:
    """Also of topics that the file does not have, and a pattern matches."""
    topics = {tp.topic for tp in unclean}
    return [
        one
        for one in topology.replication
        if one.source == cluster and (topics & set(one.topics) or matched(one, topics).copied)
    ]


def _engine(topology: Topology, mirror: MirrorRef, them: Participants) -> MirrorEngine | str:
    """The one that can set it behind what is left; otherwise why none can."""
    try:
        engine = them.engine(topology, mirror)
    except DcctlError as error:
        return error.problem
    return engine.why_not_shortened() or engine


def mirrors_stoppable(
    topology: Topology, seen: Snapshot, cluster: str, unclean: Collection[TopicPartition], them: Participants
) -> tuple[GateResult, ...]:
    """Whether each mirror of these partitions can be stopped before; none where no mirror copies them."""
    copying = _copying(topology, cluster, unclean)
    if not copying:
        return ()
    limit = "each mirror of partitions that lose records can be stopped before, and set behind what is left"
    said = listed(f"{one.source} → {one.target}" for one in copying)
    by_hand = "stop it, take it out of the file, and set its offsets behind the logs before it goes on"
    if unmanaged := [one for one in copying if not one.managed]:
        who = listed(f"{one.source} → {one.target}" for one in unmanaged)
        reason = f"the mirror {who} is not managed by dcctl, and would copy everything again, or skip records"
        return (gate_result("mirror-behind", "refused", said, limit, reason, by_hand),)
    engines = {ref_to(one): _engine(topology, ref_to(one), them) for one in copying}
    if unable := [f"{mirror}: {why}" for mirror, why in engines.items() if isinstance(why, str)]:
        reason = f"a mirror that copies them cannot be set behind what is left: {listed(unable)}"
        return (gate_result("mirror-behind", "refused", said, limit, reason, by_hand),)
    for one in copying:
        part, engine = seen.mirror(ref_to(one)).states, engines[ref_to(one)]
        if part.value is None:
            return (absent("mirror-behind", part, limit),)
        if not isinstance(engine, str) and engine.is_at_rest(part.value, one) is None:
            mirror = f"the mirror {one.source} → {one.target}"
            reason = f"whether {mirror} runs is unknown: its workers do not name it"
            hint = "dcctl status FILE tells what its workers run; dcctl apply FILE makes what is missing"
            return (gate_result("mirror-behind", "unknown", said, limit, reason, hint),)
    return (gate_result("mirror-behind", "ok", said, limit, limit),)


def mirrors_in_words(mirrors: Sequence[Shortened]) -> str:
    """What is done with them: parts of a sentence, or nothing."""
    stopped = listed(f"mirror {one.mirror}" for one in mirrors if one.runs)
    going = listed(f"mirror {one.mirror}" for one in mirrors if one.halted.ran and not one.runs)
    standing = listed(f"mirror {one.mirror}" for one in mirrors if not one.halted.ran)
    said = (
        f"; stopped for the election, set behind the new leaders' logs and resumed: {stopped}"
        if stopped
        else ""
    )
    said += f"; stopped for an election, and now set behind the logs and resumed: {going}" if going else ""
    return said + (f"; set behind the logs, and left stopped as found: {standing}" if standing else "")


def halt(
    book: Runbook, topology: Topology, mirrors: Sequence[Shortened], after: Sequence[After]
) -> list[Handle[Nothing]]:
    """Of those that lose records now: what is to be done with each is recorded, then those that run stop."""
    losing = [one for one in mirrors if one.loses]
    if not losing:
        return []
    noted = book.add(RecordMirrorsHalted(halted=tuple(one.halted for one in losing)), after=after)
    order = [behind(noted, because="whoever finds a mirror stopped is to know that it goes on")]
    stopped = [one.engine.halt(book, topology, one.mirror, order) for one in losing if one.runs]
    return stopped or [noted]


def record_left(book: Runbook, mirrors: Sequence[Shortened], chosen: Handle[LeadersChosen]) -> list[After]:
    """Where the logs end that are left, for whoever has to set these mirrors later."""
    losing = tuple(one.halted for one in mirrors if one.loses)
    if not losing:
        return []
    noted = book.add(RecordLeftEnds(halted=losing, chosen=chosen))
    return [behind(noted, because="once somebody leads, nobody can tell where the log had ended")]


def go_on(
    book: Runbook,
    topology: Topology,
    mirrors: Sequence[Shortened],
    chosen: Handle[LeadersChosen] | None,
    after: Sequence[After],
) -> None:
    """Each is set behind what is left of its logs; those that ran run again."""
    with book.section("mirrors go on", on_failure="stop"):
        for one in mirrors:
            _go_on(book, topology, one, chosen if one.loses else None, list(after))


def _go_on(
    book: Runbook,
    topology: Topology,
    one: Shortened,
    chosen: Handle[LeadersChosen] | None,
    order: list[After],
) -> None:
    halted, mirror = one.halted, one.mirror
    if one.loses or halted.ends:
        fits = one.engine.set_behind(book, topology, mirror, chosen, halted.ends, one.earlier, order)
        order = [behind(fits, because=_ANEW)]
        if halted.ran:
            is_set = RecordMirrorsHalted(halted=(replace(halted, ends=()),))
            noted = book.add(is_set, id=f"record-mirror-set-{mirror.target}", after=order)
            order = [behind(noted, because="a mirror that runs must not be set back once more")]
    if halted.ran:
        resumed = one.engine.go_on_halted(book, topology, mirror, order)
        order = [behind(resumed, because="nothing is left to be done once it runs")]
    release = ReleaseMirror(cluster=halted.cluster, target=halted.target)
    book.add(release, id=f"release-mirror-{mirror.target}", after=order)
