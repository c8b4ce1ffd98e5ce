"""Effects on the voters of a metadata quorum: all stopped, their files changed, the one that has most first.

Never one by one: while some know the short list and others the long one, each list could find a majority of
its own (facts: Kafka, "Two data centres").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked_dataclass

from orchestrator.moves.within_cluster.quorum.standing import (
    StoppedVoter,
    beginning,
    leader_of,
)
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
from orchestrator.runs.estate_record import QuorumForced, QuorumFormed, QuorumWhole
from orchestrator.runs.ports import EstateRecord
from orchestrator.wording import listed, plural

_PLAY_S = 60.0
_LEADER_WITHIN_S = 60.0


@checked_dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class VotersStopped:
    """Where each one's log ended."""

    voters: tuple[StoppedVoter, ...]


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
    """What the quorum is to be, in the ensemble, before anything is stopped. See `QuorumForced`."""

    cluster: str
    sites: tuple[str, ...]
    generation: int
    kept: dict[str, int]
    files: dict[str, FileChange]

    @property
    def title(self) -> str:
        """See `Effect`."""
        return (
            f"Record that {listed(self.kept)} are to be the whole metadata quorum of {self.cluster}, "
            f"without {listed(self.sites)}"
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
        """Take the record back: no voter knows of it yet."""
        run.port(EstateRecord).withdraw(QuorumForced, like=self._fact())
        return Done(Nothing(), f"the quorum of {self.cluster} is to stay as it was")

    def _fact(self) -> QuorumForced:
        return QuorumForced(
            cluster=self.cluster,
            sites=self.sites,
            generation=self.generation,
            kept=self.kept,
            files=self.files,
        )


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class StopVoters(
    Reversible,
    Effect[VotersStopped],
    name="stop-voters",
    phase="fence",
    expected_s=8.0,
    timeout_s=120.0,
):
    """Stop voters, kill what does not end within five seconds, and read where their logs end.

    Brokers serve on meanwhile, and can change nothing: no leader, no replica in sync, no topic.
    """

    cluster: str
    sites: tuple[str, ...]
    servers: tuple[str, ...]

    @property
    def title(self) -> str:
        """See `Effect`."""
        return f"Stop the voters of {self.cluster}, all at once, and read their logs: {listed(self.servers)}"

    def perform(self, run: Running) -> Outcome[VotersStopped]:
        """See `Effect`."""
        hosts = run.port(VoterHosts)
        seen = hosts.stop(self.sites, self.servers, name=run.step_id, timeout_s=_PLAY_S)
        left = sorted(set(self.servers) - seen.voters.keys())
        if left:
            return Partial(f"no host tells of {listed(left)}")
        running = [name for name, voter in seen.voters.items() if voter.runs]
        if running:
            return Partial(f"still running: {listed(running)}")
        unclear = [name for name, voter in seen.voters.items() if voter.runs is None]
        if unclear:
            return Unknown(f"whether they still run is not known: {listed(unclear)}")
        stopped = VotersStopped(voters=tuple(map(StoppedVoter.of, seen.voters.values())))
        furthest = max(stopped.voters, key=lambda voter: voter.reaches)
        return Done(stopped, f"{plural(len(self.servers), 'voter')} stopped; {furthest.server} has most")

    def undo(self, run: Running) -> Outcome[Nothing]:
        """Start them with the files that they have."""
        run.port(VoterHosts).start(
            self.sites,
            self.servers,
            changes={},
            kept_as="",
            leaders_before={},
            name=f"undo-{run.step_id}",
            await_leader_s=0.0,
            timeout_s=_PLAY_S,
        )
        return Done(Nothing(), f"started again: {listed(self.servers)}")


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class _Beginning(Effect[Nothing]):
    """Voters begin with changed files, those first that a majority cannot do without.

    `needed`: how many begin; `all_of`: who of them in any case.
    """

    cluster: str
    sites: tuple[str, ...]
    generation: int
    files: dict[str, FileChange]
    stopped: tuple[Handle[VotersStopped], ...]
    needed: int
    all_of: tuple[str, ...] = ()

    def begin(self, run: Running) -> _Started:
        """All files change before any voter starts."""
        stopped = _stopped(run, self.stopped)
        first = beginning(stopped, self.needed, self.all_of).first
        kept_as = f".dcctl-{self.generation}"
        seen = _asked_to_start(run, self.sites, first, stopped, changes=self.files, kept_as=kept_as)
        leader, furthest = leader_of(seen.voters.values()), max(stopped, key=lambda voter: voter.reaches)
        if leader is None:
            said = f"{listed(first)} were started, and none is known to lead after {_LEADER_WITHIN_S:g} s"
            return _Started(seen, "", said)
        if leader.end < furthest.end:
            said = f"{leader.server} leads with a log that ends at {leader.end}, "
            return _Started(seen, leader.server, f"{said}that of {furthest.server} ended at {furthest.end}")
        return _Started(seen, leader.server)


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class FormQuorum(
    _Beginning,
    name="form-quorum",
    phase="redirect",
    expected_s=8.0,
    timeout_s=180.0,
    irreversible="the survivors decide without the lost voters, which know nothing of it: "
    "failback makes all of them one quorum again",
):
    """The voters that are left become the whole quorum. Their files are kept beside as they were."""

    @property
    def title(self) -> str:
        """See `Effect`."""
        return (
            f"Make {listed(self.files)} the whole metadata quorum of {self.cluster}; "
            "the voter whose log reaches furthest leads"
        )

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        found = self.begin(run)
        digests = {name: voter.sha256 for name, voter in found.seen.voters.items() if name in self.files}
        if missing := sorted(self.files.keys() - digests.keys()):
            return Unknown(f"the files of {listed(missing)} could not be read once they were changed")
        if found.problem:
            return Unknown(found.problem)
        run.port(EstateRecord).write(
            QuorumFormed(cluster=self.cluster, generation=self.generation, files=digests)
        )
        return Done(Nothing(), f"{self.cluster} has a metadata quorum, {found.leader} leads it")


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RestoreQuorum(
    _Beginning,
    name="restore-quorum",
    phase="redirect",
    expected_s=8.0,
    timeout_s=180.0,
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
        found = self.begin(run)
        if found.problem:
            return Unknown(found.problem)
        run.port(EstateRecord).write(QuorumWhole(cluster=self.cluster, generation=self.generation))
        return Done(Nothing(), f"{self.cluster} has its whole metadata quorum again, {found.leader} leads it")


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class StartRest(
    Effect[Nothing],
    name="start-rest",
    phase="verify",
    title="Start the other voters of {cluster}: they follow whoever leads",
    expected_s=5.0,
    timeout_s=180.0,
    stays="they are voters of the quorum that there is",
):
    """Those that did not begin; `needed` and `all_of` as for those that did."""

    cluster: str
    sites: tuple[str, ...]
    stopped: tuple[Handle[VotersStopped], ...]
    needed: int
    all_of: tuple[str, ...] = ()

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        stopped = _stopped(run, self.stopped)
        rest = beginning(stopped, self.needed, self.all_of).rest
        if not rest:
            return Done(Nothing(), f"every voter of {self.cluster} runs already")
        seen = _asked_to_start(run, self.sites, rest, stopped, changes={}, kept_as="")
        alone = [name for name, voter in seen.voters.items() if voter.leads is None]
        if alone:
            return Unknown(f"started, and they know no leader after {_LEADER_WITHIN_S:g} s: {listed(alone)}")
        return Done(Nothing(), f"started: {listed(rest)}")


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
) -> VotersSeen:
    return run.port(VoterHosts).start(
        sites,
        servers,
        changes=changes,
        kept_as=kept_as,
        leaders_before={voter.server: voter.leader_epoch for voter in stopped if voter.server in servers},
        name=run.step_id,
        await_leader_s=_LEADER_WITHIN_S,
        timeout_s=_PLAY_S + _LEADER_WITHIN_S,
    )
