"""The members of a ZooKeeper ensemble that can be reconfigured; see `ports.voter_sets.VoterSets`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from orchestrator.errors import CoordinationError
from orchestrator.ports.voter_sets import Member, VoterSet
from tests.twin.clusters import TwinCluster
from tests.twin.record import Record


class TwinEnsembleVoters:
    """Of one cluster in ZooKeeper mode."""

    def __init__(self, cluster: TwinCluster, record: Record) -> None:
        self.quorum, self.name, self.record = cluster.quorum, cluster.name, record

    def read(self) -> VoterSet:
        quorum = self.quorum
        self._refuse_gone()
        voting = frozenset(quorum.voters) if quorum.voting is None else quorum.voting
        leads = [number for number, voter in quorum.voters.items() if voter.leads]
        lines = [f"server.{number}={self._address(number)}" for number in sorted(voting)]
        sites = {site: ":".join(map(str, ids)) for site, ids in self._groups(voting).items()}
        lines += (
            [f"group.{at}={ids}" for at, ids in enumerate(sites.values(), 1)] if quorum.is_grouped else []
        )
        return VoterSet(
            voters=tuple(self._member(number) for number in sorted(voting)),
            heard=frozenset(number for number, voter in quorum.voters.items() if voter.runs),
            leader=leads[0] if leads else None,
            version=str(quorum.version),
            lines=tuple(lines),
        )

    def following(self, members: Sequence[Member]) -> tuple[Member, ...]:
        return tuple(one for one in members if self.quorum.voters[one.number].runs)

    def remove(self, seen: VoterSet, members: Sequence[Member]) -> None:
        going = frozenset(member.number for member in members)
        self._change("remove voters", seen, going, seen.numbers - going, is_grouped=False)

    def add(self, seen: VoterSet, members: Sequence[Member], lines: Sequence[str]) -> None:
        coming = frozenset(member.number for member in members)
        is_grouped = any(line.startswith("group.") for line in lines)
        self._change("add voters", seen, coming, seen.numbers | coming, is_grouped=is_grouped)

    def _change(
        self, verb: str, seen: VoterSet, which: frozenset[int], now: frozenset[int], *, is_grouped: bool
    ) -> None:
        self._refuse_gone()
        if seen.version != str(self.quorum.version):
            raise CoordinationError("ZooKeeper", f"{verb}: BadVersionError")
        self.record.do(
            verb,
            self.name,
            ", ".join(map(str, sorted(which))),
            lambda: self.quorum.change(now, is_grouped=is_grouped),
            failed=lambda why: CoordinationError("ZooKeeper", f"{verb}: {why}"),
        )

    def _refuse_gone(self) -> None:
        if not self.quorum.members():
            raise CoordinationError("ZooKeeper", "no answer within 5 s")

    def _groups(self, voting: Collection[int]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number in sorted(voting):
            found.setdefault(self.quorum.voters[number].site, []).append(number)
        return found

    def _member(self, number: int) -> Member:
        return Member(number=number, addresses=(self._address(number),))

    def _address(self, number: int) -> str:
        return f"{self.quorum.voters[number].address}:3888:participant;voter-{number}:2181"
