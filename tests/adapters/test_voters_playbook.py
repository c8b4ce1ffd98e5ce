"""The playbook of voters against a real supervisor: all of a step at all hosts before the next, and twice."""

from __future__ import annotations

import hashlib
import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.adapters.ansible import ask_playbook, playbook_path
from tests.adapters.supervised import states, supervised

pytestmark = pytest.mark.integration

_PROGRAMS = """\
[program:zk-1]
command=/bin/sleep 600
autorestart=true
startsecs=0
[program:zk-2]
command=/bin/sh -c 'trap "" TERM; while :; do sleep 0.2; done'
autorestart=true
startsecs=0
stopwaitsecs=60
"""
_ZOO = "tickTime=500\ndataDir={data}\nclientPort={port}\nserver.1=a:2888:3888\nserver.2=b:2888:3888\n"


@pytest.fixture
def site() -> Iterator[Path]:
    """One host with two servers, of which one does not end when it is told to."""
    with supervised(_PROGRAMS) as folder:
        servers = {f"zookeeper-{number}": _server(folder, number) for number in (1, 2)}
        host = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "service_manager": "supervisor",
            "supervisor_conf": str(folder / "supervisord.conf"),
            "dc": "west",
            "dcctl_servers": servers,
        }
        away = {**host, "dc": "east", "supervisor_conf": "/nowhere"}
        (folder / "inventory.json").write_text(json.dumps({"all": {"hosts": {"west": host, "east": away}}}))
        yield folder


def _server(folder: Path, number: int) -> dict[str, str]:
    """Its files and disk, with a log without any transaction."""
    data = folder / f"data-{number}"
    (data / "version-2").mkdir(parents=True)
    (data / "version-2" / "currentEpoch").write_text("1")
    (data / "myid").write_text(f"{number}\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = folder / f"zoo-{number}.cfg"
    config.write_text(_ZOO.format(data=data, port=port))
    return {"unit": f"zk-{number}", "config": str(config)}


def ask(site: Path, **variables: Any) -> Any:
    """What the hosts of west tell."""
    return ask_playbook(
        "voters.yml",
        inventory=site / "inventory.json",
        variables={"datacenters": ["west"], **variables},
        folder=Path(tempfile.mkdtemp(dir=site)),
    )


def test_servers_stop_files_change_and_servers_start_and_twice_is_as_good_as_once(site: Path) -> None:
    """What does not end is killed; a supervisor that starts again whatever ends does not get in the way."""
    assert states(site) == {"zk-1": "RUNNING", "zk-2": "RUNNING"}
    names = ["zookeeper-1", "zookeeper-2"]
    for _ in range(2):
        found = ask(site, stop=names, stop_within_s=1)
        assert found.failures == {}
        assert set(states(site).values()) == {"STOPPED"}
    seen = found.told["west"]["servers"]
    assert {name: (one["id"], one["runs"]) for name, one in seen.items()} == {
        "zookeeper-1": (1, False),
        "zookeeper-2": (2, False),
    }
    config = site / "zoo-1.cfg"
    before = config.read_bytes()
    change = {
        "path": str(config),
        "sha256": hashlib.sha256(before).hexdigest(),
        "changes": [{"number": 5, "was": "server.2=b:2888:3888", "now": "#server.2=b:2888:3888"}],
    }
    for _ in range(2):
        found = ask(site, changes={"zookeeper-1": change}, start=["zookeeper-1"], kept_as=".kept")
        assert found.failures == {}
        assert config.read_bytes() == before.replace(b"server.2", b"#server.2")
        assert (site / "zoo-1.cfg.kept").read_bytes() == before
        assert states(site) == {"zk-1": "RUNNING", "zk-2": "STOPPED"}
    back = {
        "path": str(config),
        "sha256": hashlib.sha256(config.read_bytes()).hexdigest(),
        "changes": [{"number": 5, "was": "#server.2=b:2888:3888", "now": "server.2=b:2888:3888"}],
        "becomes": hashlib.sha256(before).hexdigest(),
    }
    assert ask(site, changes={"zookeeper-1": back}).failures == {}
    assert config.read_bytes() == before


def test_a_file_that_is_another_one_is_left_alone_and_nothing_starts(site: Path) -> None:
    """Somebody has changed it since it was read."""
    config = site / "zoo-1.cfg"
    before = config.read_bytes()
    change = {
        "path": str(config),
        "sha256": hashlib.sha256(before).hexdigest(),
        "changes": [{"number": 5, "was": "server.2=b:2888:3888", "now": "#server.2=b:2888:3888"}],
    }
    assert ask(site, stop=["zookeeper-1", "zookeeper-2"], stop_within_s=1).failures == {}
    config.write_bytes(before + b"# by hand\n")
    found = ask(site, changes={"zookeeper-1": change}, start=["zookeeper-1"])
    assert "is not the file that was read" in found.failures["west"]
    assert config.read_bytes() == before + b"# by hand\n"
    assert set(states(site).values()) == {"STOPPED"}
    other = site / "zoo-2.cfg"
    was = other.read_bytes()
    theirs = {**change, "path": str(other), "sha256": hashlib.sha256(was).hexdigest()}
    found = ask(site, changes={"zookeeper-2": theirs, "zookeeper-1": change}, start=["zookeeper-2"])
    assert f"{config} is not the file that was read" in found.failures["west"]
    assert other.read_bytes() == was
    config.write_bytes(before)
    # What is put in its place cannot be written: the other one, of which it could, is not changed either.
    (site / "zoo-2.cfg.full").mkdir()
    found = ask(site, changes={"zookeeper-1": change, "zookeeper-2": theirs}, kept_as=".full")
    assert f"{other} cannot be changed, and no file was" in found.failures["west"]
    assert (config.read_bytes(), other.read_bytes()) == (before, was)
    assert not list(site.glob(".dcctl-*"))
    found = ask(site, changes={"zookeeper-1": {**change, "becomes": "0" * 64}})
    assert "would not become the file that it was" in found.failures["west"]
    assert config.read_bytes() == before


def test_in_check_mode_nothing_changes(site: Path) -> None:
    """Ansible's own: somebody wants to see it first."""
    config = site / "zoo-1.cfg"
    before = config.read_bytes()
    variables = {
        "datacenters": ["west"],
        "stop": ["zookeeper-1"],
        "changes": {
            "zookeeper-1": {
                "path": str(config),
                "sha256": hashlib.sha256(before).hexdigest(),
                "changes": [{"number": 1, "was": "tickTime=500", "now": "tickTime=501"}],
            }
        },
        "start": ["zookeeper-2"],
    }
    words = [
        "ansible-playbook",
        "--check",
        "-i",
        str(site / "inventory.json"),
        str(playbook_path("voters.yml")),
    ]
    done = subprocess.run(
        [Path(sys.executable).with_name(words[0]), *words[1:], "-e", json.dumps(variables)],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(site)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert config.read_bytes() == before
    assert states(site) == {"zk-1": "RUNNING", "zk-2": "RUNNING"}


def test_a_host_that_cannot_be_reached_keeps_no_other_from_telling_and_holds_what_it_is_asked_for(
    site: Path,
) -> None:
    """Who only reads is told of all others; where the host has something to do nothing is done anywhere."""
    inventory = json.loads((site / "inventory.json").read_text())
    west = inventory["all"]["hosts"]["west"]
    servers = {"zookeeper-2": west["dcctl_servers"].pop("zookeeper-2")}
    at_no_port = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    inventory["all"]["hosts"]["west-2"] = {**west, **at_no_port, "dcctl_servers": servers}
    (site / "inventory.json").write_text(json.dumps(inventory))
    found = ask(site)
    assert (found.failures.keys(), found.unreachable) == ({"west-2"}, {"west-2"})
    assert found.told["west"]["servers"].keys() == {"zookeeper-1"}
    found = ask(site, stop=["zookeeper-1"], read=["zookeeper-1"])
    assert found.failures == {}
    assert states(site)["zk-1"] == "STOPPED"
    found = ask(site, start=["zookeeper-1", "zookeeper-2"], read=["zookeeper-1", "zookeeper-2"])
    assert found.failures.keys() == {"west-2"}
    assert states(site)["zk-1"] == "STOPPED"
