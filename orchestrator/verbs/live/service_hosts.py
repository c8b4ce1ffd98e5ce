"""The services of a cluster's servers, through `playbooks/services.yml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.ports.services import STOP_WITHIN_S, ServicesSeen, ServiceState
from orchestrator.verbs.live.asked_hosts import AskedHosts

_PLAYBOOK = "services.yml"
# A lost site's hosts are asked as well: whoever waits for them waits no longer than this.
_CONNECT_WITHIN_S, _ANSWER_WITHIN_S = 3, 10
_LOOK_S, _CHANGE_S = 40.0, 55.0
# A program of supervisor's runs, or will in a moment; systemd's states are in `org.freedesktop.systemd1`.
_RUNNING = {"RUNNING", "STARTING", "BACKOFF", "active", "activating", "reloading", "deactivating"}
_OFF = {"STOPPED", "STOPPING", "EXITED", "FATAL", "inactive", "failed"}
# Others start with the host in ways that `systemctl disable` does not end: generated, static, linked, …
_ENABLED = {
    "enabled": True,
    "enabled-runtime": True,
    "disabled": False,
    "masked": False,
    "masked-runtime": False,
}


class HostsOfServices(AskedHosts):
    """See `ports.services.ServiceHosts`."""

    def look(self, sites: Sequence[str], *, name: str) -> ServicesSeen:
        """See `ServiceHosts`."""
        return self._told(sites, {"read": []}, name, _LOOK_S)

    def stop(
        self, services: Mapping[str, ServiceState], *, name: str, within_s: float = STOP_WITHIN_S
    ) -> ServicesSeen:
        """See `ServiceHosts`."""
        doing = {
            "disable": [server for server, its in services.items() if its.is_enabled],
            "stop": list(services),
            "stop_within_s": round(within_s),
        }
        return self._changed(services, doing, name, within_s)

    def start(self, services: Mapping[str, ServiceState], *, name: str) -> ServicesSeen:
        """See `ServiceHosts`."""
        doing = {
            "enable": [server for server, its in services.items() if its.is_enabled],
            "start": [server for server, its in services.items() if its.is_running],
        }
        return self._changed(services, doing, name)

    def _changed(
        self, services: Mapping[str, ServiceState], doing: Mapping[str, Any], name: str, within_s: float = 0.0
    ) -> ServicesSeen:
        sites = list(dict.fromkeys(its.site for its in services.values()))
        return self._told(sites, {**doing, "read": list(services)}, name, _CHANGE_S + within_s)

    def _told(
        self, sites: Sequence[str], doing: Mapping[str, Any], name: str, timeout_s: float
    ) -> ServicesSeen:
        limits = {"connect_within_s": _CONNECT_WITHIN_S, "answer_within_s": _ANSWER_WITHIN_S}
        found = self._asked(_PLAYBOOK, sites, {**limits, **doing}, name, timeout_s)
        services: dict[str, ServiceState] = {}
        problems = dict(found.failures)
        for host, told in found.told.items():
            rows = dict(_row(line) for line in told["lines"] if line.strip())
            for server, unit in told["units"].items():
                state = _state(told["dc"], rows.get(unit, ()))
                if state is None:
                    said = " ".join(rows.get(unit, ())) or "nothing"
                    problems[host] = f"its service manager says of {unit}: {said}"
                else:
                    services[server] = state
        return ServicesSeen(services, problems, found.unreachable)


def _row(line: str) -> tuple[str, tuple[str, ...]]:
    unit, *words = line.split()
    return unit, tuple(words)


def _state(site: str, words: Sequence[str]) -> ServiceState | None:
    """By supervisor's own line, or by ActiveState, LoadState and UnitFileState of systemd's."""
    if not words or words[0] not in _RUNNING | _OFF or "not-found" in words:
        return None
    is_systemd = words[0].islower()
    told = words[2] if is_systemd and len(words) > len(("ActiveState", "LoadState")) else ""
    return ServiceState(site=site, is_running=words[0] in _RUNNING, is_enabled=_ENABLED.get(told))
