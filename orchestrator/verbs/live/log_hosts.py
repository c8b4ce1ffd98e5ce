"""The logs of a cluster's brokers on their disks, through `playbooks/replica-logs.yml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.errors import PlaybookError
from orchestrator.ports.replica_logs import BrokerLogs, LogsSeen, ReplicaLog
from orchestrator.values import TopicPartition
from orchestrator.verbs.live.asked_hosts import AskedHosts

_PLAYBOOK = "replica-logs.yml"


class HostsOfLogs(AskedHosts):
    """See `ports.replica_logs.LogHosts`."""

    def read(self, sites: Sequence[str], *, timeout_s: float) -> LogsSeen:
        """See `LogHosts`."""
        asked = self._asked(_PLAYBOOK, sites, {}, "read-replica-logs", timeout_s)
        brokers: dict[int, BrokerLogs] = {}
        problems = dict(asked.failures)
        for host, told in asked.told.items():
            for server, found in told["servers"].items():
                if "problem" in found:
                    problems[server] = f"{host}: {found['problem']}"
                elif found["id"] is not None and found["id"] in brokers:
                    problems[server] = f"{host}: broker {found['id']} is on another host as well"
                elif found["id"] is not None:
                    logs = {_partition(name): _log(log) for name, log in found["logs"].items()}
                    brokers[found["id"]] = BrokerLogs(server, found["id"], logs)
        return LogsSeen(brokers, problems)

    def keep(
        self,
        sites: Sequence[str],
        beyond: Mapping[str, Mapping[TopicPartition, int]],
        into: Path,
        *,
        timeout_s: float,
    ) -> tuple[str, ...]:
        """See `LogHosts`."""
        wanted = {
            server: {str(tp): offset for tp, offset in offsets.items()} for server, offsets in beyond.items()
        }
        doing = {"keep_from": wanted, "keep_in": str(into.absolute())}
        try:
            asked = self._asked(_PLAYBOOK, sites, doing, "keep-replica-logs", timeout_s)
        except PlaybookError as error:
            return (f"{error.subject}: {error.problem}",)
        left = [f"{where}: {problem}" for where, problem in sorted(asked.failures.items())]
        left += [
            f"{server}: nothing was fetched of {tp}"
            for server, offsets in beyond.items()
            for tp in offsets
            if not any((into / server / str(tp)).glob("*.log"))
        ]
        return tuple(left)


def _partition(folder: str) -> TopicPartition:
    topic, _, number = folder.rpartition("-")
    return TopicPartition(topic, int(number))


def _log(found: Mapping[str, Any]) -> ReplicaLog:
    noted = found["epochs"]
    epochs = None if noted is None else tuple((int(epoch), int(start)) for epoch, start in noted)
    return ReplicaLog(int(found["epoch"]), int(found["end"]), epochs)
