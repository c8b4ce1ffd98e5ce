"""Voters of a metadata quorum are stopped, all at once, and started again where that is taken back."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked_dataclass

from orchestrator.moves.within_cluster.quorum.standing import StoppedVoter
from orchestrator.ports.voters import VoterHosts, VotersSeen
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Nothing,
    Outcome,
    Partial,
    Reversible,
    Running,
    Unknown,
)
from orchestrator.runs.facts_within_clusters import QuorumFormed, QuorumRestoring, QuorumWhole
from orchestrator.runs.ports import EstateRecord
from orchestrator.wording import listed, plural

PLAY_S = 60.0
"""How long a play at the hosts of voters may take."""
_RUNS_WITHIN_S = 60.0


@checked_dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class VotersStopped:
    """Where each one's log ended."""

    voters: tuple[StoppedVoter, ...]


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

    Brokers serve on meanwhile, and can change nothing: no leader, no replica in sync, no topic. `ran`: those
    of them that ran before. `files`: the digest of the file with which each may be started again; none where
    an earlier change of the quorum had not come to its end.
    """

    cluster: str
    sites: tuple[str, ...]
    servers: tuple[str, ...]
    ran: tuple[str, ...]
    files: dict[str, str]

    @property
    def title(self) -> str:
        """See `Effect`."""
        return f"Stop the voters of {self.cluster}, all at once, and read their logs: {listed(self.servers)}"

    def perform(self, run: Running) -> Outcome[VotersStopped]:
        """See `Effect`."""
        hosts = run.port(VoterHosts)
        seen = hosts.stop(self.sites, self.servers, name=run.step_id, timeout_s=PLAY_S)
        left = sorted(set(self.servers) - seen.voters.keys())
        if left:
            return Partial(
                f"nothing is known of {not_told(seen, left)}; resume once a host tells of them, or abort: "
                "the command, given again, decides afresh which voters take part"
            )
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
        """Start them again, if their files are those of a quorum that has stood; who ran is to run again.

        With two lists each could find a majority of its own. In the middle of a change that was not brought
        to its end any majority would begin, and cut off what the voter that has most has alone: with short
        lists before a quorum was formed by them, and with whole ones as long as survivors alone had decided.
        """
        record, hosts = run.port(EstateRecord), run.port(VoterHosts)
        formed, whole = record.find(QuorumFormed), record.find(QuorumWhole)
        files = formed.files if formed is not None else self.files
        seen = hosts.read(self.sites, timeout_s=PLAY_S)
        if unread := sorted(set(self.servers) - seen.voters.keys()):
            return Unknown(f"which voters their files name is not known: {not_told(seen, unread)}")
        run_now = [name for name in self.servers if seen.voters[name].runs is not False]
        if not (files or whole or self.ran or run_now):
            said = "they stay stopped: none of them ran before, in the middle of an earlier change"
            return Done(Nothing(), f"{said}: {listed(self.servers)}")
        other = [name for name in self.servers if seen.voters[name].sha256 != files.get(name)]
        if other and whole is None:
            return Partial(
                f"not started: a change of the quorum is not complete, and with the files that "
                f"{listed(other)} have now whoever has most has to begin; dcctl failover FILE, or dcctl "
                "failback FILE once every site is back, goes on with it"
            )
        if whole is None and record.find(QuorumRestoring) is not None:
            record.withdraw(QuorumRestoring)  # no file was put back: the survivors are the quorum as before
        seen = hosts.start(
            self.sites,
            self.servers,
            changes={},
            kept_as="",
            furthest=None,
            leaders_before={},
            name=f"undo-{run.step_id}",
            await_leader_s=0.0,
            timeout_s=PLAY_S,
        )
        return self._listening(run, seen)

    def _listening(self, run: Running, seen: VotersSeen) -> Outcome[Nothing]:
        """A server takes connections some seconds after it was started; one whose guard holds it does not."""
        idle: list[str] = []

        def do_run() -> bool:
            nonlocal seen
            idle[:] = [n for n in self.ran if n not in seen.voters or not seen.voters[n].runs]
            if idle:
                seen = run.port(VoterHosts).read(self.sites, timeout_s=PLAY_S)
            return not idle

        if run.await_true(do_run, _RUNS_WITHIN_S):
            held = sorted(set(self.servers) - {*self.ran})
            beside = f"; as far as a guard lets them: {listed(held)}" if held else ""
            return Done(Nothing(), f"started again: {listed(self.ran) or 'none that ran'}{beside}")
        if untold := [name for name in idle if name not in seen.voters]:
            return Unknown(f"started, and not known to run: {not_told(seen, untold)}")
        return Unknown(f"started, and take no connections after {_RUNS_WITHIN_S:g} s: {listed(idle)}")


def not_told(seen: VotersSeen, servers: Iterable[str]) -> str:
    """Of which servers nothing was told, and why."""
    why = "; ".join(f"{where}: {problem}" for where, problem in seen.problems.items())
    return f"{listed(servers)} ({why or 'no host tells of them'})"
