"""Playbooks through ansible-runner: quiet, logged into a folder, errors with the failed task's own words."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ansible_runner

from orchestrator.adapters.child_process import tied_program
from orchestrator.errors import PlaybookError
from orchestrator.installation import install_extra, own_folder
from orchestrator.ports.hosts import HostsTold

_SETTINGS = {
    # ansible-core refuses to start in a locale that is not UTF-8.
    "LC_ALL": "C.UTF-8",
    "ANSIBLE_GATHERING": "explicit",
    "ANSIBLE_PIPELINING": "1",
    "ANSIBLE_FORKS": "25",
    "ANSIBLE_RETRY_FILES_ENABLED": "0",
    "ANSIBLE_LOCALHOST_WARNING": "0",
    "ANSIBLE_NOCOLOR": "1",
    "ANSIBLE_DEPRECATION_WARNINGS": "0",
}
_PLAYBOOKS = (
    "start-clients.yml",
    "stop-clients.yml",
    "voters.yml",
    "voters/begin.yml",
    "replica-logs.yml",
    "services.yml",
    "library/dcctl_lines.py",
    "library/dcctl_quorum_state.py",
    "library/dcctl_replica_logs.py",
    "library/dcctl_voters.py",
    "module_utils/dcctl_files.py",
    "module_utils/dcctl_log_files.py",
    "service-managers/supervisor.yml",
    "service-managers/systemd.yml",
)
_PROGRAMS = ("ansible-playbook", "ansible-inventory")
_FAILURES = ("runner_on_failed", "runner_on_unreachable")
_ITEMS_FAILED = "One or more items failed"
_INCLUDES = ("include_tasks", "ansible.builtin.include_tasks")


def playbook_path(name: str) -> Path:
    """One of the project's own playbooks. Raises `PlaybookError` where it is not installed."""
    path = own_folder("playbooks") / name
    if not path.is_file():
        problem = f"dcctl brings it, and it is not there: {path}"
        raise PlaybookError(f"playbook {name}", problem, "this dcctl is not whole: install it again")
    return path


def check_installed() -> None:
    """Raise `PlaybookError` where a playbook of dcctl's own, or Ansible, is missing."""
    for name in _PLAYBOOKS:
        playbook_path(name)
    for program in _PROGRAMS:
        if shutil.which(program, path=_search_path()) is None:
            problem = f"{program} is neither beside this Python nor on PATH"
            raise PlaybookError("Ansible", problem, install_extra("operator"))


def run_playbook(
    name: str,
    *,
    inventory: Path,
    variables: Mapping[str, Any],
    folder: Path,
    timeout_s: float = 60.0,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> frozenset[str]:
    """Run one of the project's playbooks; everything it says is kept in `folder`, nothing is printed.

    `folder` must be this run's own: ansible-runner keeps the variables there too. Returns the names of
    the hosts on which a task was done. Raises `PlaybookError` naming host, task and message, or the
    deadline that has passed; also where no host had anything to do, which Ansible itself calls a success.
    """
    playbook = playbook_path(name)
    _check_exists(inventory)
    hosts = str(inventory.resolve())
    return _run(name, playbook, hosts, variables, folder, timeout_s, is_cancelled).at_work()


def ask_playbook(
    name: str,
    *,
    inventory: Path,
    variables: Mapping[str, Any],
    folder: Path,
    timeout_s: float = 60.0,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> HostsTold:
    """Run one of the project's playbooks for what hosts tell: each by `set_stats`, under its name in `told`.

    A host that fails, or cannot be reached, is named with its message, as are those for which the play ended
    before they could tell. See `run_playbook`; raises `PlaybookError` where no host tells anything and none
    has failed, and where the deadline has passed.
    """
    playbook = playbook_path(name)
    _check_exists(inventory)
    found = _run(name, playbook, str(inventory.resolve()), variables, folder, timeout_s, is_cancelled)
    if not found.told and not found.failures:
        found.at_work()
    return HostsTold(found.told, found.failures, found.unreachable)


def run_own_playbook(
    playbook: Path,
    *,
    inventory: Path | None,
    variables: Mapping[str, Any],
    folder: Path,
    timeout_s: float = 60.0,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> frozenset[str]:
    """Run a playbook of the user's; without an inventory on this machine alone. See `run_playbook`."""
    if not playbook.is_file():
        raise PlaybookError(f"playbook {playbook}", "no such file", "correct `hooks` in the topology file")
    if inventory is not None:
        _check_exists(inventory)
    hosts = "localhost," if inventory is None else str(inventory.resolve())
    found = _run(str(playbook), playbook.resolve(), hosts, variables, folder, timeout_s, is_cancelled)
    return found.at_work()


@dataclass(frozen=True, slots=True)
class _Ended:
    """A run of Ansible that has come to its end: whether well, and what its hosts did and told."""

    name: str
    inventory: str
    log: Path
    is_well: bool
    hosts: frozenset[str]
    told: Mapping[str, Any]
    failures: Mapping[str, str]
    unreachable: frozenset[str]
    status: int | None

    def at_work(self) -> frozenset[str]:
        """The hosts on which a task was done. Raises `PlaybookError` where one has failed, or for none."""
        if not self.is_well:
            problem = "; ".join(f"{host}, {said}" for host, said in self.failures.items())
            problem = problem or _last_line(self.log) or f"ended with status {self.status}"
            raise PlaybookError(f"playbook {self.name}", problem, f"log: {self.log}")
        if not self.hosts:
            raise PlaybookError(
                f"playbook {self.name}",
                f"no host of {self.inventory} had anything to do",
                f"does it have hosts with this `dc`, and what is asked for? log: {self.log}",
            )
        return self.hosts


def _run(  # noqa: PLR0917 - what a run of Ansible is made of
    name: str,
    playbook: Path,
    inventory: str,
    variables: Mapping[str, Any],
    folder: Path,
    timeout_s: float,
    is_cancelled: Callable[[], bool],
) -> _Ended:
    folder.mkdir(parents=True, exist_ok=True)
    # Of an attempt that was killed: ansible-runner keeps a file that is there, whole or not.
    shutil.rmtree(folder / "env", ignore_errors=True)
    failures: dict[str, str] = {}
    at_work: set[str] = set()
    unreachable: set[str] = set()
    told: dict[str, Any] = {}

    def note_event(event: Mapping[str, Any]) -> bool:
        data = event.get("event_data", {})
        host = str(data.get("host"))
        if event.get("event") == "runner_on_ok" and data.get("task_action") not in _INCLUDES:
            at_work.add(host)
        is_item = event.get("event") == "runner_item_on_failed"
        is_told = host in failures and data.get("res", {}).get("msg") == _ITEMS_FAILED
        if (is_item or event.get("event") in _FAILURES) and not data.get("ignore_errors") and not is_told:
            said = f"task “{data.get('task')}”: {_message(data.get('res', {}))}"
            failures[host] = f"{failures[host]}; {said}" if host in failures else said
        if event.get("event") == "runner_on_unreachable":
            unreachable.add(host)
        if event.get("event") == "playbook_on_stats":
            told.update(data.get("artifact_data", {}).get("told", {}))
        return True  # keep the event's file: it is evidence

    def note_status(status: Mapping[str, Any], **_config: object) -> None:
        if status["status"] != "starting":  # from here on the file is written
            _forget_environment(folder / "artifacts" / "ansible" / "command")

    result = ansible_runner.run(
        private_data_dir=str(folder),
        ident="ansible",
        playbook=str(playbook),
        inventory=inventory,
        extravars=dict(variables),
        envvars=_tied_environment(folder),
        # The expect loop looks for a cancellation only as often as this.
        settings={"job_timeout": int(timeout_s), "pexpect_timeout": 0.2},
        quiet=True,
        event_handler=note_event,
        status_handler=note_status,
        # With a callback of ours ansible-runner leaves the process's signal handlers alone.
        cancel_callback=is_cancelled,
    )
    log = folder / "artifacts" / "ansible" / "stdout"
    if result.status in {"timeout", "canceled"}:
        problem = f"not done within {timeout_s:g} s" if result.status == "timeout" else "cancelled"
        raise PlaybookError(f"playbook {name}", problem, f"log: {log}")
    is_well = result.status == "successful"
    hosts, gone = frozenset(at_work), frozenset(unreachable)
    return _Ended(name, inventory, log, is_well, hosts, told, failures, gone, result.rc)


def host_variables(inventory: Path, timeout_s: float = 30.0) -> dict[str, dict[str, Any]]:
    """Every host of an inventory with its variables, as Ansible itself understands them.

    Whatever kind of inventory it is: a file, a folder, a program. Raises `PlaybookError` where Ansible
    cannot make sense of it.
    """
    _check_exists(inventory)
    subject = f"inventory {inventory}"
    with tempfile.TemporaryDirectory(prefix="dcctl-ansible-") as scratch:
        try:
            done = subprocess.run(
                ["ansible-inventory", "--list", "--inventory", str(inventory.resolve())],
                env={**os.environ, **_environment(Path(scratch)), "ANSIBLE_INVENTORY_UNPARSED_FAILED": "1"},
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise PlaybookError(subject, f"was not read within {timeout_s:g} s") from None
        except OSError as error:
            raise PlaybookError(subject, f"ansible-inventory cannot be run: {error.strerror}") from None
    try:
        hosts: dict[str, dict[str, Any]] = json.loads(done.stdout)["_meta"]["hostvars"]
    except (ValueError, KeyError, TypeError):
        said = " ".join(done.stderr.split())
        raise PlaybookError(
            subject, said[:500] or "Ansible finds no hosts in it", "`ansible-inventory --list` must show it"
        ) from None
    return hosts


def _environment(scratch: Path) -> dict[str, str]:
    return {
        **_SETTINGS,
        "ANSIBLE_LOCAL_TEMP": str(scratch),
        "PATH": _search_path(),
    }


def _tied_environment(folder: Path) -> dict[str, str]:
    """In which `ansible-playbook` ends with this process: a play must not go on while somebody resumes."""
    environment = _environment(folder / "tmp")
    found = shutil.which("ansible-playbook", path=_search_path())
    if found is None:
        return environment
    tied_program(found, folder / "bin")
    return {**environment, "PATH": os.pathsep.join((str(folder / "bin"), environment["PATH"]))}


def _search_path() -> str:
    """Where Ansible's programs are looked for: beside this Python first."""
    return os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))


def _forget_environment(command: Path) -> None:
    """Keep what was run, and not in which environment: that may hold secrets, and this is evidence."""
    try:
        kept = json.loads(command.read_text(encoding="utf-8"))
        if kept.pop("env", None) is not None:
            command.write_text(json.dumps(kept), encoding="utf-8")
    except (OSError, ValueError):
        command.unlink(missing_ok=True)


def _check_exists(inventory: Path) -> None:
    if not inventory.exists():
        raise PlaybookError(
            f"inventory {inventory}", "no such file", "correct `inventory` in the topology file"
        )


def _message(result: Mapping[str, Any]) -> str:
    said = [str(result.get(key, "")).strip() for key in ("msg", "stderr", "stdout")]
    return (
        " – ".join(dict.fromkeys(" ".join(text.split()) for text in said if text))
        or "failed without a message"
    )


def _last_line(log: Path) -> str:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
