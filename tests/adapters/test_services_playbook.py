"""The playbook of services, against a real supervisor and a real systemd: twice, and in check mode."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.errors import PlaybookError
from orchestrator.ports.services import ServiceState
from orchestrator.topology.loading import load_topology
from orchestrator.verbs.live.real_servers import AnsiblePlaybooks
from orchestrator.verbs.live.service_hosts import HostsOfServices
from tests.adapters.played import played
from tests.adapters.supervised import states, supervised

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
_PROGRAMS = """\
[program:one]
command=/bin/sleep 600
startsecs=0
[program:two]
command=/bin/sleep 600
startsecs=0
autostart=false
"""
_UNIT = """\
[Service]
ExecStart=/bin/sleep 600
[Install]
WantedBy=default.target
"""
# In a mount namespace of its own: systemd works for its user where /run says that systemd has started the
# machine, and what else runs here shall not be told so.
_SYSTEMD = "mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system && exec /lib/systemd/systemd --user"


def host(**its: Any) -> dict[str, Any]:
    """One host of dc1, reached without SSH, with two servers."""
    return {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "dc": "dc1",
        "dcctl_servers": {"broker-1": {"unit": "one"}, "controller-2": {"unit": "two"}},
        **its,
    }


@contextmanager
def supervisor_host() -> Iterator[Path]:
    """With a supervisor: one program runs, one does not."""
    with supervised(_PROGRAMS) as folder:
        its = host(service_manager="supervisor", supervisor_conf=str(folder / "supervisord.conf"))
        write_inventory(folder, its)
        yield folder


@contextmanager
def systemd_host(patch: pytest.MonkeyPatch) -> Iterator[Path]:
    """With systemd: one unit runs and is enabled, one is neither."""
    if os.geteuid() != 0 or not Path("/lib/systemd/systemd").exists() or not shutil.which("unshare"):
        pytest.skip("needs systemd, and who may make a mount namespace for it")
    folder = Path(tempfile.mkdtemp(prefix="dcctl-"))  # a socket's path must be short
    for name in ("one", "two"):
        unit = folder / "config" / "systemd" / "user" / f"{name}.service"
        unit.parent.mkdir(parents=True, exist_ok=True)
        unit.write_text(_UNIT)
    (folder / "run").mkdir(mode=0o700)
    patch.setenv("XDG_RUNTIME_DIR", str(folder / "run"))
    patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    process = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", _SYSTEMD], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 20
        while systemctl("is-system-running") not in {"running", "degraded"} and time.monotonic() < deadline:
            if process.poll() is not None:
                pytest.skip("systemd does not work for its user on this machine")
            time.sleep(0.1)
        systemctl("enable", "one")
        systemctl("start", "one")
        its = host(service_manager="systemd", systemd_scope="user", systemd_become=False)
        write_inventory(folder, its)
        yield folder
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


def systemctl(*words: str) -> str:
    """What it says."""
    done = subprocess.run(["systemctl", "--user", *words], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def write_inventory(folder: Path, its: Mapping[str, Any], **more: Mapping[str, Any]) -> None:
    """The file that names the hosts."""
    away = {**its, "dc": "dc2", "ansible_connection": "ssh", "ansible_host": "192.0.2.1"}
    hosts = {"host-1": dict(its), "elsewhere": away, **more}
    (folder / "inventory.json").write_text(json.dumps({"all": {"hosts": hosts}}))


@pytest.fixture(params=["supervisor", "systemd"])
def site(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of one host's."""
    made = supervisor_host() if request.param == "supervisor" else systemd_host(monkeypatch)
    with made as folder:
        yield folder


def hosts_of(folder: Path) -> HostsOfServices:
    """As the verbs reach them."""
    topology = load_topology(ROOT / "topologies" / "stretched-2dc-kraft.yaml")
    servers: Any = SimpleNamespace(playbooks=AnsiblePlaybooks())
    kept = Path(tempfile.mkdtemp(dir=folder))
    return HostsOfServices(
        servers, replace(topology, inventory=str(folder / "inventory.json")), kept, lambda: False
    )


def test_services_are_stopped_and_are_as_before(site: Path) -> None:
    """Only those that ran run again; one is enabled again where its manager knows that."""
    hosts, is_systemd = hosts_of(site), (site / "run").exists()
    first = hosts.look(["dc1"], name="look")
    ran = ServiceState(site="dc1", is_running=True, is_enabled=True if is_systemd else None)
    rests = ServiceState(site="dc1", is_running=False, is_enabled=False if is_systemd else None)
    assert (first.services, first.problems) == ({"broker-1": ran, "controller-2": rests}, {})
    stopped = hosts.stop({"broker-1": ran}, name="stop")
    assert stopped.services == {"broker-1": rests}
    assert stopped.problems == {}
    started = hosts.start(first.services, name="start")
    assert (started.services, started.problems) == (first.services, {})


def test_twice_is_as_good_as_once_and_in_check_mode_what_would_change_is_said(site: Path) -> None:
    """The second time nothing changes; in check mode nothing does, and it says what would."""
    inventory, is_systemd = site / "inventory.json", (site / "run").exists()
    named = {"datacenters": ["dc1"]}
    stop = {**named, "stop": ["broker-1", "controller-2"], "disable": ["broker-1"], "stop_within_s": 5}
    start = {**named, "start": ["broker-1"], "enable": ["broker-1"]}

    def runs() -> bool:
        return systemctl("is-active", "one") == "active" if is_systemd else states(site)["one"] == "RUNNING"

    assert played("services.yml", inventory, stop, check=True).has_changed
    assert runs()
    assert played("services.yml", inventory, stop).has_changed
    assert not runs()
    assert not played("services.yml", inventory, stop).has_changed
    said = played("services.yml", inventory, start, check=True)
    assert said.has_changed
    assert is_systemd or "would be started through supervisor: one" in said.text
    assert not runs()
    assert played("services.yml", inventory, start).has_changed
    assert runs()
    assert not played("services.yml", inventory, start).has_changed


def test_a_unit_that_is_not_there_is_a_problem_of_its_host(site: Path) -> None:
    """An inventory that names another unit would have let a server run on."""
    hosts = json.loads((site / "inventory.json").read_text())["all"]["hosts"]
    its = hosts["host-1"]
    its["dcctl_servers"]["broker-1"]["unit"] = "kafak"
    write_inventory(site, its)
    seen = hosts_of(site).look(["dc1"], name="look")
    assert "broker-1" not in seen.services
    assert "kafak" in seen.problems["host-1"]
    assert seen.unreachable == frozenset()


def test_a_host_that_cannot_be_reached_costs_seconds_and_keeps_no_other_waiting() -> None:
    """Nothing answers at an address for documentation: a packet to it is lost."""
    if shutil.which("ssh") is None:
        pytest.skip("needs ssh")
    with supervisor_host() as site:
        its = json.loads((site / "inventory.json").read_text())["all"]["hosts"]["host-1"]
        away = {**its, "ansible_connection": "ssh", "ansible_host": "192.0.2.1"}
        away["dcctl_servers"] = {"broker-9": {"unit": "one"}}
        write_inventory(site, its, away=away)
        since_s = time.monotonic()
        seen = hosts_of(site).look(["dc1"], name="look")
        assert time.monotonic() - since_s < 15
        assert set(seen.services) == {"broker-1", "controller-2"}
        assert (set(seen.problems), seen.unreachable) == ({"away"}, frozenset({"away"}))


def test_a_supervisor_that_is_gone_tells_nothing() -> None:
    """As in a simulation, where it goes with its site."""
    with supervisor_host() as site:
        its = json.loads((site / "inventory.json").read_text())["all"]["hosts"]["host-1"]
        write_inventory(site, {**its, "supervisor_conf": str(site / "gone.conf")})
        seen = hosts_of(site).look(["dc1"], name="look")
        assert seen.services == {}
        assert set(seen.problems) == {"host-1"}


def test_without_an_inventory_nobody_is_asked() -> None:
    """And what is missing is said."""
    topology = load_topology(ROOT / "topologies" / "stretched-2dc-kraft.yaml")
    servers: Any = SimpleNamespace(playbooks=AnsiblePlaybooks())
    with pytest.raises(PlaybookError, match="names no inventory"):
        HostsOfServices(servers, topology).look(["dc1"], name="look")
