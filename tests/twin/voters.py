"""Voters of a metadata quorum: a file each, a log, and whoever runs and finds a majority on its list."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from orchestrator.moves.within_cluster.quorum.files import voters_listed
from orchestrator.ports.voters import Voter
from orchestrator.topology.model import Cluster

State = Literal["up", "silent", "gone"]
_PLAYBOOKS = Path(__file__).parents[2] / "playbooks"


def module(name: str) -> Any:
    """One of the modules that playbooks bring to hosts; what these share is where Ansible puts it."""
    for file in sorted((_PLAYBOOKS / "module_utils").glob("*.py")):
        shared = f"ansible.module_utils.{file.stem}"
        if shared not in sys.modules:
            sys.modules[shared] = _loaded(shared, file)
    return _loaded(name, _PLAYBOOKS / "library" / f"{name}.py")


def _loaded(name: str, file: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


_LINES, _VOTERS = module("dcctl_lines"), module("dcctl_voters")


@dataclass
class TwinVoter:
    """One voter. `epoch` and `end`: of its log; `leader_epoch`: since which it knows its leader.

    `loaded`: the file with which it was started; `claims`: an id in its file that is not its own. `is_told`:
    its host answers.
    """

    number: int
    site: str
    text: str
    kind: Literal["kraft", "zookeeper"]
    state: State = "up"
    is_started: bool = True
    loaded: str = ""
    epoch: int = 1
    end: int = 1
    leads: bool | None = None
    leader_epoch: int = -1
    is_broker: bool = False
    claims: int | None = None
    directory_id: str = ""
    is_dynamic: bool = False
    is_told: bool = True

    @property
    def server(self) -> str:
        return f"{'zookeeper' if self.kind == 'zookeeper' else 'controller'}-{self.number}"

    @property
    def file(self) -> str:
        return f"/etc/{self.server}.properties"

    @property
    def address(self) -> str:
        return f"voter-{self.number}:{3888 if self.kind == 'zookeeper' else 9093}"

    @property
    def runs(self) -> bool:
        return self.state == "up" and self.is_started

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def seen(self) -> Voter:
        """As its host tells of it."""
        lines = enumerate(self.text.splitlines(), 1)
        return Voter(
            server=self.server,
            site=self.site,
            kind=self.kind,
            number=self.number if self.claims is None else self.claims,
            is_broker=self.is_broker,
            file=self.file,
            sha256=self.sha256,
            lines=tuple((number, line) for number, line in lines if _VOTERS.QUORUM_LINES.match(line)),
            epoch=self.epoch,
            end=self.end,
            runs=self.runs,
            leads=self.leads if self.runs else None,
            leader_epoch=self.leader_epoch,
            is_dynamic=self.is_dynamic,
        )

    def told(self) -> dict[str, Any]:
        """The same, as the module tells it."""
        seen = self.seen()
        found = {name: getattr(seen, name) for name in Voter.__dataclass_fields__}
        return {**found, "id": found.pop("number"), "is_voter": True}

    @property
    def listed(self) -> frozenset[int]:
        """By the file with which it was started."""
        return _listed(self.loaded or self.text)

    @property
    def has_groups(self) -> bool:
        return "\ngroup." in (self.loaded or self.text)

    def change(self, change: Mapping[str, Any]) -> str:
        """Lines of its file, as `playbooks/library/dcctl_lines.py` changes them. Returns why it does not."""
        raw, wanted = self.text.encode(), change["sha256"]
        now = _LINES.changed(raw, change["changes"], "was", "now")
        if self.sha256 != wanted or now is None:
            earlier = _LINES.changed(raw, change["changes"], "now", "was")
            is_there = earlier is not None and hashlib.sha256(earlier).hexdigest() == wanted
            return "" if is_there else f"{self.file} is not the file that was read"
        if change.get("becomes") and hashlib.sha256(now).hexdigest() != change["becomes"]:
            return f"{self.file} would not become the file that it was"
        self.text = now.decode()
        return ""


@cache
def _listed(text: str) -> frozenset[int]:
    return frozenset(voters_listed(TwinVoter(0, "", text, "kraft").seen()))


@dataclass
class TwinQuorum:
    """All voters of a cluster. `seconds`: quorums beside another one, each by its voters: none may ever be.

    `voting`: of a dynamic quorum, who votes as it has committed, and `logs` with which log each;
    `is_grouped`: by sites. `version`: how often that was changed.
    """

    voters: dict[int, TwinVoter]
    epoch: int = 1
    voting: frozenset[int] | None = None
    logs: dict[int, str] = field(default_factory=dict)
    is_grouped: bool = False
    version: int = 0
    seconds: list[frozenset[int]] = field(default_factory=list)
    lost_changes: list[str] = field(default_factory=list)
    _behind: tuple[int, int] = (-1, -1)
    """How far the leader's log reached before it wrote in its own epoch."""

    @classmethod
    def of(cls, described: Cluster) -> TwinQuorum:
        """As the file has them."""
        kind: Literal["kraft", "zookeeper"] = "zookeeper" if described.metadata == "zookeeper" else "kraft"
        sites = [row.dc for row in described.nodes for _ in range(row.controllers or row.zookeepers)]
        numbered = dict(enumerate(sites, 101 if kind == "kraft" else 1))
        is_hierarchical = kind == "zookeeper" and described.quorum == "hierarchical"
        voters = {
            number: TwinVoter(number, site, _file(number, numbered, kind, is_hierarchical), kind)
            for number, site in numbered.items()
        }
        is_dynamic = described.voters == "dynamic"
        for voter in voters.values():
            voter.loaded = voter.text
            voter.is_dynamic, voter.directory_id = is_dynamic, f"log-{voter.number}"
        found = cls(voters, voting=frozenset(voters) if is_dynamic else None, is_grouped=is_hierarchical)
        if is_dynamic and kind == "kraft":
            found.logs = {number: voter.directory_id for number, voter in voters.items()}
        found.elect()
        return found

    def members(self) -> frozenset[int]:
        """Who is in the quorum: running voters of one list that are a majority of it. Empty without one."""
        if self.logs:
            voting = {
                number for number in self.voting or () if self.voters[number].runs and self.votes(number)
            }
            return frozenset(voting) if self._is_quorum(voting, self.voting or ()) else frozenset()
        found = []
        for listed in {voter.listed for voter in self.voters.values() if voter.runs}:
            running = {n for n, v in self.voters.items() if v.runs and v.listed == listed and n in listed}
            if self._is_quorum(running, listed):
                found.append(frozenset(running))
        if len(found) > 1:
            self.seconds += found[1:]
        return found[0] if found else frozenset()

    def votes(self, number: int) -> bool:
        """Whether it has the log that votes: another one, as on a disk of its own, follows."""
        return self.logs.get(number) in {None, self.voters[number].directory_id}

    def _is_quorum(self, running: Collection[int], listed: Collection[int]) -> bool:
        has_groups = any(self.voters[number].has_groups for number in running)
        if not has_groups:
            return 2 * len(running) > len(listed)
        sites = {self.voters[number].site for number in listed}
        whole = 0
        for site in sites:
            group = [number for number in listed if self.voters[number].site == site]
            whole += 2 * sum(number in running for number in group) > len(group)
        return 2 * whole > len(sites)

    def change(self, voting: frozenset[int], *, is_grouped: bool = False) -> None:
        """The quorum commits who votes from here on."""
        stay = voting & self.logs.keys() & (self.voting or frozenset())
        logs = {number: self.voters[number].directory_id for number in voting}
        if self.logs:
            self.logs = logs | {number: self.logs[number] for number in stay}
        self.voting, self.is_grouped = frozenset(voting), is_grouped
        self.version += 1
        sites = {number: self.voters[number].site for number in sorted(voting)}
        for voter in self.voters.values():
            if voter.runs and voter.kind == "zookeeper":  # each writes what was committed into its file
                voter.text = voter.loaded = _file(voter.number, sites, voter.kind, is_grouped)
        self.elect()

    def set_started(self, voter: TwinVoter, is_started: bool) -> None:
        """Its service manager starts or stops it. Whoever runs has the file with which it was started."""
        if is_started != voter.is_started:
            voter.loaded = voter.text if is_started else ""
        voter.is_started = is_started
        self.elect()

    def elect(self) -> None:
        """The member whose log reaches furthest of those that a majority needs leads; the others follow it.

        Kafka may take any whose log is not behind a majority's: this one takes the worst that it could.
        """
        members = self.members()
        for number, voter in self.voters.items():
            if number not in members:
                voter.leads = None
        if members and self.voting is not None and not self.logs:
            # ZooKeeper goes by what its servers have in their files, whoever has written that.
            first = self.voters[min(members)]
            self.voting, self.is_grouped = first.listed, first.has_groups
        if not members or any(self.voters[number].leads for number in members):
            self._follow(members)
            return
        listed = self.voters[min(members)].listed if self.voting is None else self.voting
        by_reach = sorted(members, key=lambda n: (self.voters[n].epoch, self.voters[n].end))
        could = [
            n
            for at, n in enumerate(by_reach)
            if self._is_quorum([m for m in by_reach if self._reach(m) <= self._reach(n)], listed)
        ]
        leader = could[0]
        furthest = max(self._reach(number) for number in members)
        if self._reach(leader) < furthest:
            self.lost_changes.append(f"{leader} leads, and another has more")
        self.epoch += 1
        self._behind = self._reach(leader)
        self.voters[leader].epoch = self.epoch
        self.voters[leader].end += 1
        for number in members:
            self.voters[number].leads = number == leader
            self.voters[number].leader_epoch = self.epoch
        self._follow(members)

    def _reach(self, number: int) -> tuple[int, int]:
        return self.voters[number].epoch, self.voters[number].end

    def _follow(self, members: Collection[int]) -> None:
        leader = next((n for n in members if self.voters[n].leads), None)
        for number in members if leader is not None else ():
            voter = self.voters[number]
            if voter.epoch < self.epoch and self._reach(number) > self._behind:
                self.lost_changes.append(
                    f"{leader} leads, and {number} comes to it with more: that is cut off"
                )
            voter.leads = number == leader
            voter.epoch, voter.end = self.voters[leader].epoch, self.voters[leader].end
            voter.leader_epoch = self.epoch


def _file(
    number: int, numbered: Mapping[int, str], kind: Literal["kraft", "zookeeper"], is_hierarchical: bool
) -> str:
    if kind == "kraft":
        voters = ",".join(f"{n}@voter-{n}:9093" for n in numbered)
        return f"process.roles=controller\nnode.id={number}\ncontroller.quorum.voters={voters}\nlog.dirs=/d\n"
    lines = [f"server.{n}=voter-{n}:2888:3888" for n in numbered]
    if is_hierarchical:
        groups: dict[str, list[str]] = {}
        for n, site in numbered.items():
            groups.setdefault(site, []).append(str(n))
            lines.append(f"weight.{n}=1")
        lines += [f"group.{at}={':'.join(ids)}" for at, ids in enumerate(groups.values(), 1)]
    return "\n".join(["tickTime=500", "dataDir=/d", *lines]) + "\n"
