"""Hooks run by Ansible itself, around an apply in memory: told what they need, heard when they fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from orchestrator.cli.main import run
from orchestrator.runs.live.holds import put_hold, release_hold
from orchestrator.runs.plan import RunEvent
from orchestrator.topology.hooks import Hooks
from orchestrator.topology.loading import dump_topology
from orchestrator.verbs.live.apply import run_apply
from orchestrator.verbs.live.runs import resume_run
from tests.reconcile.layouts import active_active
from tests.reconcile.memory_run import Rehearsal, rehearse

pytestmark = pytest.mark.integration

_HOOK = """\
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: Tell the pager
      ansible.builtin.copy:
        dest: {told}
        content: "{{{{ dcctl_when }}}} {{{{ dcctl_verb }}}} of {{{{ dcctl_topology }}}} by {{{{ dcctl_run }}}}"
"""
_FAILING = """\
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: Ask the change board
      ansible.builtin.fail:
        msg: the board says no
"""
Prepared = Callable[[Hooks], tuple[Rehearsal, str]]


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Prepared:
    def prepare(hooks: Hooks) -> tuple[Rehearsal, str]:
        world = rehearse(monkeypatch, tmp_path, replace(active_active(), hooks=hooks))
        file = tmp_path / "both.yaml"
        file.write_text(yaml.safe_dump(dump_topology(world.topology)), encoding="utf-8")
        return world, str(file)

    return prepare


def playbook(folder: Path, name: str, text: str) -> str:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_both_hooks_run_and_know_what_it_is_about(prepared: Prepared, tmp_path: Path) -> None:
    """The first one before, the last one behind; what they say is kept."""
    told = {when: tmp_path / f"told-{when}" for when in ("pre", "post")}
    paths = {
        f"{when}_apply": playbook(tmp_path, f"{when}.yml", _HOOK.format(told=file))
        for when, file in told.items()
    }
    world, file = prepared(Hooks(**paths))
    assert run(["apply", file, "--yes"]) == 0
    words = {when: path.read_text() for when, path in told.items()}
    run_id = words["pre"].rpartition(" ")[2]
    assert words == {when: f"{when} apply of {world.topology.name} by {run_id}" for when in ("pre", "post")}
    assert "-apply-" in run_id


def test_a_pre_hook_stops_it_and_a_post_hook_only_complains(
    prepared: Prepared, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The failed task in its own words; status 1 with nothing changed, status 0 with everything done."""
    failing = playbook(tmp_path, "no.yml", _FAILING)
    world, file = prepared(Hooks(pre_apply=failing))
    assert run(["apply", file, "--yes"]) == 1
    said = " ".join(capfd.readouterr().err.split())
    assert "the board says no" in said
    assert "was rolled back" in said
    assert world.clusters["west"].picture.topics == {}

    world, file = prepared(Hooks(post_apply=failing))
    assert run(["apply", file, "--yes"]) == 0
    captured = capfd.readouterr()
    assert "post-hook failed" in captured.out
    assert "the board says no" in captured.out
    assert world.clusters["west"].picture.topics != {}


def test_a_hook_that_is_not_there_is_said_before_anything_is_begun(
    prepared: Prepared, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also of the last one: afterwards would be too late."""
    world, file = prepared(Hooks(post_apply="no/such.yml"))
    assert run(["apply", file, "--yes"]) == 1
    assert "hooks.post_apply: there is no playbook" in " ".join(capfd.readouterr().err.split())
    assert not world.ensemble.nodes


def test_a_run_that_is_gone_on_with_from_another_folder_finds_its_hooks(
    prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths of the file are relative to where the run began."""
    told = tmp_path / "told"
    playbook(tmp_path, "post.yml", _HOOK.format(told=told))
    monkeypatch.chdir(tmp_path)
    world, _ = prepared(Hooks(post_apply="post.yml"))

    def hold_once(event: RunEvent) -> None:
        if event.kind == "step-outcome":
            put_hold(world.topology, "all", reason="a break")

    stopped = run_apply(world.topology, on_event=hold_once)
    assert stopped.outcome == "incomplete"
    release_hold(world.topology, "all")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    end = resume_run(world.topology, stopped.run_id)
    assert (end.outcome, end.reason) == ("ok", "")
    assert told.read_text().startswith("post apply")
