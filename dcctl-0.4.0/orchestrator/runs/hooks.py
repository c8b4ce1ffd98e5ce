"""A file's own playbooks: one before everything, one behind everything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from pydantic.dataclasses import dataclass

from orchestrator.errors import PlaybookError
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Nothing,
    Outcome,
    Reversible,
    Running,
)
from orchestrator.runs.registry import Registry
from orchestrator.runs.runbook import Runbook, behind
from orchestrator.topology.model import Topology

RUN_HOOK = "run-hook"
"""The action of a step that runs a file's own playbook."""
_KEPT = "dcctl does not know what a hook did"


class OwnPlaybooks(Protocol):
    """The port to a user's playbooks."""

    def run_own_playbook(
        self, playbook: str, variables: Mapping[str, Any], *, name: str, timeout_s: float
    ) -> frozenset[str]:
        """Run one and keep all that it says under `name`. Returns the hosts on which a task was done.

        Raises `PlaybookError` with the failed task's words.
        """


@dataclass(frozen=True, config=EFFECT_CONFIG)
class HookRun:
    """The hosts on which a hook did something."""

    hosts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RunHook(
    Reversible,
    Effect[HookRun],
    name=RUN_HOOK,
    phase="prepare",
    title="Run the file's {variables[dcctl_when]} hook: {playbook}",
    expected_s=5.0,
    timeout_s=300.0,
    stays=_KEPT,
):
    """Run a playbook of the file's own. What it did until it failed is its own matter, as when it is taken
    back: nothing of the run's own has changed.
    """

    playbook: str
    variables: dict[str, Any]
    """What the playbook is told; the run's id comes to it when it is run."""

    def perform(self, run: Running) -> Outcome[HookRun]:
        """See `Effect`."""
        told = {**self.variables, "dcctl_run": run.run_id}
        try:
            hosts = run.port(OwnPlaybooks).run_own_playbook(
                self.playbook, told, name=run.step_id, timeout_s=run.timeout_s
            )
        except PlaybookError as error:
            return Failed(f"{error.subject}: {error.problem}")
        return Done(HookRun(tuple(sorted(hosts))), f"done on {', '.join(sorted(hosts))}")

    def undo(self, run: Running) -> Outcome[Nothing]:  # noqa: ARG002
        """A hook is not taken back."""
        return Done(Nothing(), "what the hook has done stays")


HOOK_EFFECTS = Registry(RunHook)
"""What a plan of any verb may name."""


@contextmanager
def hooks_around(book: Runbook, topology: Topology, verb: str, source: str, target: str) -> Iterator[None]:
    """The file's hooks of a verb around all that is added within.

    Everything waits for the first one, and where it fails nothing was done. The last one waits for
    everything, and where it fails the run has still done what it was for.
    """

    def sites(clusters: str) -> list[str]:
        return [dc for name in clusters.split(",") if name for dc in topology.clusters[name].datacenters]

    def hook(when: str, playbook: str) -> RunHook:
        variables = {
            "dcctl_when": when,
            "dcctl_verb": verb,
            "dcctl_topology": topology.name,
            "dcctl_source": source,
            "dcctl_target": target,
            "dcctl_source_datacenters": sites(source),
            "dcctl_target_datacenters": sites(target),
        }
        return RunHook(playbook=playbook, variables=variables)

    before, after = topology.hooks.of("pre", verb), topology.hooks.of("post", verb)
    if before is not None:
        with book.section("before all steps", on_failure="undo"):
            first = book.add(hook("pre", before), id="pre-hook")
        book.everything_behind(behind(first, because="the file's playbook comes before all steps"))
    yield
    if after is not None:
        last = behind(*book.last(), because="the file's playbook comes after all steps")
        with book.section("after all steps", on_failure="note", kept=_KEPT):
            book.add(hook("post", after), id="post-hook", after=[last], phase="follow-up")
