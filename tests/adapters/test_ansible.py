"""Playbooks against a real supervisor: programs start and stop, failures speak in the task's words."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from orchestrator.adapters.ansible import host_variables, run_playbook
from orchestrator.errors import PlaybookError
from tests.adapters.supervised import states, supervised

pytestmark = pytest.mark.integration

_PROGRAMS = """\
[program:producer-a]
command=/bin/sleep 600
autostart=false
startsecs=0
[program:consumer-b]
command=/bin/sleep 600
autostart=false
startsecs=0
"""
_INVENTORY = """\
all:
  vars:
    ansible_connection: local
    ansible_python_interpreter: {python}
    service_manager: supervisor
  hosts:
    west: {{dc: west, supervisor_conf: /nowhere}}
    east: {{dc: east, supervisor_conf: {folder}/supervisord.conf}}
"""


@pytest.fixture(scope="module")
def site() -> Iterator[Path]:
    with supervised(_PROGRAMS) as folder:
        (folder / "inventory.yaml").write_text(_INVENTORY.format(folder=folder, python=sys.executable))
        yield folder


def test_clients_start_and_stop_at_one_data_centre(site: Path, tmp_path: Path) -> None:
    """Twice is as good as once, and nothing is asked of the other data centre's hosts."""
    variables = {"datacenters": ["east"], "clients": ["producer-a", "consumer-b"]}
    for number in range(2):
        at_work = run_playbook(
            "start-clients.yml",
            inventory=site / "inventory.yaml",
            variables=variables,
            folder=tmp_path / f"start-{number}",
        )
        assert at_work == {"east"}
        assert states(site) == {"producer-a": "RUNNING", "consumer-b": "RUNNING"}
    run_playbook(
        "stop-clients.yml",
        inventory=site / "inventory.yaml",
        variables={**variables, "clients": ["consumer-b"]},
        folder=tmp_path / "stop",
    )
    assert states(site) == {"producer-a": "RUNNING", "consumer-b": "STOPPED"}


@pytest.mark.parametrize("left", ["", '{"datacenters": ["ea', '{"datacenters": ["west"], "clients": []}'])
def test_what_a_killed_attempt_has_left_does_not_count(site: Path, tmp_path: Path, left: str) -> None:
    """Its variables may be written in part, or be others: a step that is gone on with has the same folder."""
    folder = tmp_path / "start"
    (folder / "env").mkdir(parents=True)
    (folder / "env" / "extravars").write_text(left, encoding="utf-8")
    variables = {"datacenters": ["east"], "clients": ["producer-a"]}
    at_work = run_playbook(
        "start-clients.yml", inventory=site / "inventory.yaml", variables=variables, folder=folder
    )
    assert at_work == {"east"}


def test_a_play_does_not_go_on_once_whoever_runs_it_is_killed(tmp_path: Path) -> None:
    """The task that is under way ends by itself; none comes behind it, beside whoever resumes."""
    marks = {"began": tmp_path / "began", "went_on": tmp_path / "went-on"}
    tasks = [f"touch {marks['began']}", "sleep 4", f"touch {marks['went_on']}"]
    play = {
        "hosts": "all",
        "gather_facts": False,
        "tasks": [{"ansible.builtin.command": task} for task in tasks],
    }
    playbook = tmp_path / "play.yml"
    playbook.write_text(json.dumps([play]), encoding="utf-8")
    code = (
        "import sys; from pathlib import Path; from orchestrator.adapters.ansible import run_own_playbook; "
        "run_own_playbook(Path(sys.argv[1]), inventory=None, folder=Path(sys.argv[2]), "
        "variables={'ansible_connection': 'local', 'ansible_python_interpreter': sys.executable})"
    )
    with subprocess.Popen([sys.executable, "-c", code, playbook, tmp_path / "run"]) as runner:
        deadline = time.monotonic() + 60
        while not marks["began"].exists():
            assert time.monotonic() < deadline
            assert runner.poll() is None
            time.sleep(0.05)
        runner.kill()
    found = [str(tmp_path), "ansible-playbook"]
    deadline = time.monotonic() + 60
    while any(all(word in process for word in found) for process in _command_lines()):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert not marks["went_on"].exists()


def _command_lines() -> list[str]:
    lines = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            lines.append(" ".join(process.cmdline()))
    return lines


def test_a_failed_task_is_told_in_its_own_words(
    site: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Host, task and message; nothing reaches the terminal, all of it the log."""
    with pytest.raises(
        PlaybookError, match=r"east, task “Start through supervisor”.*no such process"
    ) as caught:
        run_playbook(
            "start-clients.yml",
            inventory=site / "inventory.yaml",
            variables={"datacenters": ["east"], "clients": ["producer-ghost"]},
            folder=tmp_path,
        )
    assert "producer-ghost" in Path(caught.value.hint.removeprefix("log: ")).read_text()
    assert capfd.readouterr().out == ""


def test_nothing_of_the_environment_is_kept(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """References to secrets may name variables; what a run leaves is shown to others. Failed or not."""
    monkeypatch.setenv("KAFKA_PASSWORD", "hunter2")
    for client in ("producer-a", "producer-ghost"):
        variables = {"datacenters": ["east"], "clients": [client]}
        try:
            run_playbook(
                "start-clients.yml",
                inventory=site / "inventory.yaml",
                variables=variables,
                folder=tmp_path / client,
            )
        except PlaybookError:
            assert client == "producer-ghost"
        kept = [file for file in (tmp_path / client).rglob("*") if file.is_file()]
        assert "start-clients.yml" in next(f for f in kept if f.name == "command").read_text()
        assert not [file for file in kept if b"hunter2" in file.read_bytes()]


@pytest.mark.parametrize("nowhere", [{"datacenters": ["north"]}, {"clients": ["producer-elsewhere"]}])
def test_no_host_with_anything_to_do_is_a_failure(
    site: Path, tmp_path: Path, nowhere: dict[str, list[str]]
) -> None:
    """Ansible says success; but nothing was started, and a person must not believe so."""
    own = tmp_path / "inventory.yaml"
    own.write_text((site / "inventory.yaml").read_text() + "      clients_on_host: [producer-a]\n")
    with pytest.raises(PlaybookError, match=r"no host of .* had anything to do"):
        run_playbook(
            "start-clients.yml",
            inventory=own,
            variables={"datacenters": ["east"], "clients": ["producer-a"], **nowhere},
            folder=tmp_path / "run",
        )


def test_an_inventory_is_read_as_ansible_reads_it(site: Path, tmp_path: Path) -> None:
    """Variables of groups and of all come down to each host; a folder of files is one inventory."""
    folder = tmp_path / "hosts"
    folder.mkdir()
    shutil.copy(site / "inventory.yaml", folder)
    (folder / "more.ini").write_text("[north]\nk1\n[north:vars]\ndc=north\n")
    hosts = host_variables(folder)
    assert {name: said["dc"] for name, said in hosts.items()} == {
        "west": "west",
        "east": "east",
        "k1": "north",
    }
    assert hosts["east"]["service_manager"] == "supervisor"


@pytest.mark.parametrize("text", ["all: [", "key value without sense ="])
def test_an_inventory_that_ansible_cannot_read_is_an_error(tmp_path: Path, text: str) -> None:
    """In Ansible's words, not in a traceback."""
    (tmp_path / "inventory.yaml").write_text(text)
    with pytest.raises(PlaybookError, match="parse"):
        host_variables(tmp_path / "inventory.yaml")


def test_a_missing_inventory_is_named(tmp_path: Path) -> None:
    """Before anything is started."""
    with pytest.raises(PlaybookError, match="no such file"):
        run_playbook("start-clients.yml", inventory=tmp_path / "none", variables={}, folder=tmp_path)


def test_a_cancelled_playbook_ends_soon(site: Path, tmp_path: Path) -> None:
    """Ctrl-C must not wait for ansible."""
    begun = time.monotonic()
    with pytest.raises(PlaybookError, match="cancelled"):
        run_playbook(
            "start-clients.yml",
            inventory=site / "inventory.yaml",
            variables={"datacenters": ["east"], "clients": ["producer-a"]},
            folder=tmp_path,
            is_cancelled=lambda: True,
        )
    assert time.monotonic() - begun < 10
