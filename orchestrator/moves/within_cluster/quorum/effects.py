"""Effects on the voters of a metadata quorum: all stopped, their files changed, the one that has most first.

Never one by one: while some know the short list and others the long one, each list could find a majority of
its own (facts: Kafka, "Two data centres").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pydantic.dataclasses import dataclass as checked_dataclass

from orchestrator.moves.within_cluster.quorum.standing import (
    StoppedVoter,
    beginning,
    lacks,
    leader_of,
)
from orchestrator.moves.within_cluster.quorum.stopping import PLAY_S, VotersStopped, not_told
from orchestrator.ports.voters import FileChange, VoterHosts, VotersSeen
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Handle,
    Nothing,
    Outcome,
    Partial,
    Reversible,
    Running,
    Unknown,
    Verified,
)
from orchestrator.runs.facts_within_clusters import QuorumForced, QuorumFormed, QuorumRestoring, QuorumWhole
from orchestrator.runs.ports import EstateRecord
from orchestrator.runs.within_clusters import left_out_in_words
from orchestrator.wording import listed

_LEADER_WITHIN_S = 120.0


@dataclass(frozen=True, slots=True)
class _Started:
    """Who runs, and who leads; or why that is not known."""

    seen: VotersSeen
    leader: str
    problem: str = ""


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RecordGeneration(
    Reversible,
    Verified[Nothing],
    Effect[Nothing],
    name="record-generation",
    phase="decide",
    expected_s=0.1,
):
    """What the quorum is to be, in the ensemble, before anything is stopped. See `QuorumForced`.

    `found`: the digest of each file as it was found, which an earlier run may have changed already; `left`:
    the sites of those that are kept; `lost`: addresses of the others, but for those `left_out`.
    """

    cluster: str
    sites: tuple[str, ...]
    generation: int
    kept: dict[str, int]
    files: dict[str, FileChange]
    found: dict[str, str]
    left: tuple[str, ...]
    lost: tuple[str, ...]
    left_out: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """See `Effect`."""
        return (
            f"Record that {listed(self.kept)} are to be the whole metadata quorum of {self.cluster}, "
            f"without {listed([*self.sites, *left_out_in_words(self.left_out)])}"
        )

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        run.port(EstateRecord).write(self._fact())
        return Done(Nothing())

    def verify(self, run: Running) -> Outcome[Nothing]:
        """It is recorded."""
        if run.port(EstateRecord).find(QuorumForced, like=self._fact()) is None:
            return Failed("it is not recorded")
        return Done(Nothing(), f"recorded as change {self.generation} of the quorum of {self.cluster}")

    def undo(self, run: Running) -> Outcome[Nothing]:
        """Take the record back, as long as each file is as it was found: else nobody could restore it.

        Where an earlier run had begun to change the quorum, what that one has recorded counts again.
        """
        seen = run.port(VoterHosts).read(self.left, timeout_s=PLAY_S)
        unread = sorted(self.found.keys() - seen.voters.keys())
        if unread:
            return Unknown(f"whether files were changed is not known: {not_told(seen, unread)}")
        if changed := [name for name, found in self.found.items() if seen.voters[name].sha256 != found]:
            said = (
                f"the files of {listed(changed)} are changed: what they were stays recorded, for a failback"
            )
            return Done(Nothing(), said)
        run.port(EstateRecord).withdraw(QuorumForced, like=self._fact())
        return Done(Nothing(), f"what is recorded of the quorum of {self.cluster} is as it was")

    def _fact(self) -> QuorumForced:
        return QuorumForced(
            cluster=self.cluster,
            sites=self.sites,
            generation=self.generation,
            kept=self.kept,
            files=self.files,
            lost=self.lost,
            left_out=self.left_out,
        )


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class _Beginning(Effect[Nothing]):
    """Voters begin with changed files, those first that a majority cannot do without.

    `needed`: how many begin; `all_of`: who of them in any case; `last`: who behind all others.
    """

    cluster: str
    sites: tuple[str, ...]
    generation: int
    files: dict[str, FileChange]
    stopped: tuple[Handle[VotersStopped], ...]
    needed: int
    all_of: tuple[str, ...] = ()
    last: tuple[str, ...] = ()

    def begin(self, run: Running, *, leaves_leader: bool = False) -> _Started:
        """All files change before any voter starts, and none of them runs meanwhile.

        `leaves_leader`: whom they followed may be no voter any more. A controller would end as it hears of
        such a leader (KafkaRaftClient, "Unknown leader endpoints"), so all of them forget whom they followed.
        Of any epoch in which the lost voters have elected a leader a survivor knows: they go on behind it.
        """
        stopped = _stopped(run, self.stopped)
        first = beginning(stopped, self.needed, self.all_of, self.last).first
        # Who stays behind the others decides nothing: what it has beyond them was never committed.
        deciding = {one.server: one for one in stopped if one.server in first or one.server not in self.last}
        kept_as = f".dcctl-{self.generation}"
        known = max((voter.leader_epoch for voter in stopped), default=-1)
        seen = _asked_to_start(
            run,
            self.sites,
            first,
            deciding.values(),
            changes=self.files,
            kept_as=kept_as,
            forget_epoch=known if leaves_leader else -1,
        )
        if missing := sorted(self.files.keys() - seen.voters.keys()):
            return _Started(
                seen, "", f"their files were not read once they were changed: {not_told(seen, missing)}"
            )
        leader = leader_of(seen.voters.values())
        if leader is not None:
            stood = {name: reaches for name, reaches in seen.stood.items() if name in deciding}
            problem = lacks(leader.server, {name: one.reaches for name, one in deciding.items()}, stood)
            if problem:
                return _Started(seen, leader.server, problem)
        if problem := _without_leader(seen, first, stopped):
            return _Started(seen, "", problem)
        if leader is None:
            return _Started(seen, "", f"of {listed(first)} not just one says that it leads")
        return _Started(seen, leader.server)


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class FormQuorum(
    _Beginning,
    name="form-quorum",
    phase="redirect",
    expected_s=8.0,
    timeout_s=240.0,
    irreversible="the survivors decide without the lost voters, which know nothing of it: "
    "failback makes all of them one quorum again",
):
    """The voters that are left become the whole quorum. Their files are kept beside as they were.

    `lost`: addresses of the others.
    """

    lost: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """See `Effect`."""
        return (
            f"Make {listed(self.files)} the whole metadata quorum of {self.cluster}; "
            "the voter whose log reaches furthest leads"
        )

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        if answering := run.port(VoterHosts).answering(self.lost):
            return self._not_begun(
                run, f"voters that are to be left out take connections: {listed(answering)}"
            )
        found = self.begin(run, leaves_leader=True)
        if found.problem:
            return Unknown(found.problem)
        digests = {name: voter.sha256 for name, voter in found.seen.voters.items() if name in self.files}
        run.port(EstateRecord).write(
            QuorumFormed(cluster=self.cluster, generation=self.generation, files=digests)
        )
        return Done(Nothing(), f"{self.cluster} has a metadata quorum, {found.leader} leads it")

    def _not_begun(self, run: Running, why: str) -> Outcome[Nothing]:
        """By this attempt. An earlier one may have changed files, and started who runs."""
        seen = run.port(VoterHosts).read(self.sites, timeout_s=PLAY_S)
        if unread := sorted(self.files.keys() - seen.voters.keys()):
            return Unknown(f"{why}; whether files are changed is not known: {not_told(seen, unread)}")
        said = ""
        if changed := _changed(seen, self.files):
            said += f"; files of {listed(sorted(changed))} are changed already"
        if running := [name for name in self.files if seen.voters[name].runs is not False]:
            said += f"; {listed(running)} may run already"
        if said:
            return Partial(f"{why}{said}: resume once those are off")
        return Failed(f"{why}; nothing changed")


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RestoreQuorum(
    _Beginning,
    name="restore-quorum",
    phase="redirect",
    expected_s=8.0,
    timeout_s=240.0,
    irreversible="all voters are one quorum again, and decide together",
):
    """The survivors get their files back byte for byte, and begin together with as many of the others as a
    majority needs.
    """

    @property
    def title(self) -> str:
        """See `Effect`."""
        return f"Give {listed(self.files)} the full list of voters of {self.cluster} back, byte for byte"

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        record, stopped = run.port(EstateRecord), _stopped(run, self.stopped)
        first = beginning(stopped, self.needed, self.all_of, self.last).first
        numbers = tuple(sorted(voter.number for voter in stopped if voter.server in first))
        record.write(QuorumRestoring(cluster=self.cluster, generation=self.generation, beginning=numbers))
        found = self.begin(run)
        if found.problem:
            return Unknown(found.problem)
        voters = found.seen.voters
        if wrong := [name for name, one in self.files.items() if voters[name].sha256 != one.becomes]:
            return Unknown(f"not the files that they were: {listed(voters[name].file for name in wrong)}")
        record.write(QuorumWhole(cluster=self.cluster, generation=self.generation))
        return Done(Nothing(), f"{self.cluster} has its whole metadata quorum again, {found.leader} leads it")


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class StartRest(
    Effect[Nothing],
    name="start-rest",
    phase="verify",
    title="Start the other voters of {cluster}: they follow whoever leads",
    expected_s=5.0,
    timeout_s=240.0,
    stays="they are voters of the quorum that there is",
):
    """Those that did not begin; `needed`, `all_of` and `last` as for those that did. `servers`: those of them
    that do not run, where who began is known no more. `lost`: addresses of voters at lost sites.
    """

    cluster: str
    sites: tuple[str, ...]
    stopped: tuple[Handle[VotersStopped], ...] = ()
    needed: int = 0
    all_of: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        stopped = _stopped(run, self.stopped)
        rest = self.servers or beginning(stopped, self.needed, self.all_of, self.last).rest
        if not rest:
            return Done(Nothing(), f"every voter of {self.cluster} runs already")
        if answering := run.port(VoterHosts).answering(self.lost):
            return Failed(
                f"not started, since voters that were left out take connections: {listed(answering)}"
            )
        seen = _asked_to_start(run, self.sites, rest, stopped, changes={}, kept_as="")
        if problem := _without_leader(seen, rest, stopped):
            return Unknown(problem)
        return Done(Nothing(), f"started: {listed(rest)}")


def _without_leader(seen: VotersSeen, servers: Iterable[str], stopped: Iterable[StoppedVoter]) -> str:
    """In words, which of them are not known to run, and to know a leader that is newer than when they were
    stopped; empty for none.
    """
    before = {voter.server: voter.leader_epoch for voter in stopped}
    known = seen.voters
    alone = [
        name for name in servers if name not in known or not known[name].knows_leader(before.get(name, -1))
    ]
    said = f"started, and not known to run with a leader after {_LEADER_WITHIN_S:g} s"
    return f"{said}: {listed(alone)}" if alone else ""


def _changed(seen: VotersSeen, files: Mapping[str, FileChange]) -> list[str]:
    """Of the voters whose files were read, those whose file is no longer the one that the change is of."""
    return [
        name for name, one in files.items() if name in seen.voters and seen.voters[name].sha256 != one.sha256
    ]


def _stopped(run: Running, handles: Iterable[Handle[VotersStopped]]) -> tuple[StoppedVoter, ...]:
    return tuple(voter for handle in handles for voter in run.of(handle).voters)


def _asked_to_start(
    run: Running,
    sites: tuple[str, ...],
    servers: tuple[str, ...],
    stopped: Iterable[StoppedVoter],
    *,
    changes: Mapping[str, FileChange],
    kept_as: str,
    forget_epoch: int = -1,
) -> VotersSeen:
    most = max(stopped, key=lambda voter: voter.reaches, default=None)
    return run.port(VoterHosts).start(
        sites,
        servers,
        changes=changes,
        kept_as=kept_as,
        furthest=(most.server, *most.reaches) if most is not None else None,
        leaders_before={voter.server: voter.leader_epoch for voter in stopped if voter.server in servers},
        name=run.step_id,
        await_leader_s=_LEADER_WITHIN_S,
        timeout_s=PLAY_S + _LEADER_WITHIN_S,
        forget_epoch=forget_epoch,
    )
