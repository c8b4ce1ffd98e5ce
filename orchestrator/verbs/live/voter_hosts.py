"""The hosts of a cluster's voters, through `playbooks/voters.yml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from orchestrator.errors import PlaybookError
from orchestrator.ports.hosts import HostsTold
from orchestrator.ports.voters import FileChange, Voter, VotersSeen
from orchestrator.runs.live.servers import PROBE_TIMEOUT_S
from orchestrator.verbs.live.asked_hosts import AskedHosts

_PLAYBOOK = "voters.yml"
_CHANGES: TypeAdapter[dict[str, FileChange]] = TypeAdapter(dict[str, FileChange])


class HostsOfVoters(AskedHosts):
    """See `ports.voters.VoterHosts`."""

    def read(self, sites: Sequence[str], *, timeout_s: float) -> VotersSeen:
        """See `VoterHosts`."""
        return self._seen(self._asked(_PLAYBOOK, sites, {}, "read-voters", timeout_s))

    def stop(
        self, sites: Sequence[str], servers: Sequence[str], *, name: str, timeout_s: float
    ) -> VotersSeen:
        """See `VoterHosts`."""
        asked = self._asked(_PLAYBOOK, sites, {"stop": list(servers), "read": list(servers)}, name, timeout_s)
        return _whole(self._seen(asked))

    def start(
        self,
        sites: Sequence[str],
        servers: Sequence[str],
        *,
        changes: Mapping[str, FileChange],
        kept_as: str,
        furthest: tuple[str, int, int] | None,
        leaders_before: Mapping[str, int],
        name: str,
        await_leader_s: float,
        timeout_s: float,
        forget_epoch: int = -1,
    ) -> VotersSeen:
        """See `VoterHosts`."""
        doing = {
            # Whatever was started meanwhile runs with the file that it had, or with others that did.
            "stop": list(dict.fromkeys([*changes, *servers])) if changes else [],
            "changes": _CHANGES.dump_python(dict(changes), mode="json"),
            "kept_as": kept_as,
            "furthest": dict(zip(("server", "epoch", "end"), furthest, strict=True)) if furthest else {},
            "start": list(servers),
            "read": list(dict.fromkeys([*servers, *changes])),
            "await_leader_s": await_leader_s,
            "leaders_before": dict(leaders_before),
            "forget_epoch": forget_epoch,
        }
        return _whole(self._seen(self._asked(_PLAYBOOK, sites, doing, name, timeout_s)))

    def answering(self, addresses: Sequence[str]) -> tuple[str, ...]:
        """See `VoterHosts`."""
        found = self._servers.listening(dict.fromkeys(addresses), PROBE_TIMEOUT_S)
        return tuple(sorted(address for address, answer in found.items() if answer == "yes"))

    @staticmethod
    def _seen(asked: HostsTold) -> VotersSeen:
        voters: dict[str, Voter] = {}
        problems, stood = dict(asked.failures), dict[str, tuple[int, int]]()
        for host, told in asked.told.items():
            for server, found in told.get("stood", {}).items():
                if found.get("is_voter"):
                    stood[server] = int(found["epoch"]), int(found["end"])
            for server, found in told["servers"].items():
                if server in voters:
                    problems[server] = f"two hosts have it in `dcctl_servers`, {host} for one"
                elif "problem" in found:
                    problems[server] = f"{host}: {found['problem']}"
                elif found["is_voter"]:
                    voters[server] = _voter(server, told["dc"], found)
        return VotersSeen(voters, problems, stood)


def _whole(seen: VotersSeen) -> VotersSeen:
    """Raises `PlaybookError` where a host has failed."""
    if seen.problems:
        said = "; ".join(f"{where}: {problem}" for where, problem in seen.problems.items())
        raise PlaybookError(f"playbook {_PLAYBOOK}", said)
    return seen


_KEYS = {key for key in Voter.__dataclass_fields__ if key not in {"server", "site", "number", "lines"}}


def _voter(server: str, site: str, found: Mapping[str, Any]) -> Voter:
    lines = tuple((int(number), str(line)) for number, line in found["lines"])
    known = {key: value for key, value in found.items() if key in _KEYS}
    return Voter(server=server, site=site, number=int(found["id"]), lines=lines, **known)
