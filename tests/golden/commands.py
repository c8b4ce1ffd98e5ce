"""A command as it is typed, parsed by the real command line and given to the verbs' entry points."""

from __future__ import annotations

import shlex
from functools import cache
from typing import Any

import typer
from typer.main import get_command

from orchestrator.cli import failback, failover, fence, runs, switchover
from orchestrator.cli.said_words import said_in
from orchestrator.runs.overrides import acknowledgement
from orchestrator.verbs.live.run_result import RunResult
from tests.twin.operator import Operator

_RENAMED = {"attest_down": "attested", "attest_degraded": "sick", "principal": "principals"}
# None of them reaches a request: they say how the command itself talks, or are for a file without mirrors.
_TALK = (
    "file",
    "dry_run",
    "out",
    "graph",
    "full",
    "yes",
    "as_json",
    "lower_min_insync",
    "accept_unclean",
    "accept_margin",
    "accept_unproven",
    "drop_dead_voters",
    "evacuate",
    "keep_tails",
    "power_off",
)


def give(operator: Operator, line: str) -> RunResult:
    """Run a command. Raises what it raises, `DcctlError` above all."""
    verb, *options = shlex.split(line)
    command = commands()[verb]
    # A run's id is not known before: the newest is meant.
    words = ["RUN", *options] if verb in ("resume", "abort") else options
    asked = dict(command.make_context(verb, words).params)
    for name in _TALK:
        asked.pop(name, None)
    asked = {name: _value(name, value) for name, value in asked.items()}
    if verb in ("resume", "abort"):
        asked.pop("run")
        if verb == "resume":
            asked["words"] = said_in(asked)
        asked["reason"] = f"ada: {asked['reason'] or 'no reason given'}"
        return operator.resume(**asked) if verb == "resume" else operator.abort(**asked)
    asked = {_RENAMED.get(name, name): value for name, value in asked.items()} | {"by": "ada"}
    if verb == "fence":
        return operator.fence(asked.pop("cluster"), **asked)
    if verb == "unfence":
        return operator.unfence(asked.pop("cluster"), **asked)
    if verb == "switchover":
        return operator.switchover(**asked)
    if verb == "failover":
        return operator.failover(**asked)
    asked.pop("cluster")  # within a cluster: no story of moves says it
    return operator.failback(**asked)


def _value(name: str, value: Any) -> Any:
    if name == "acknowledge":
        return acknowledgement(value)
    return tuple(value) if isinstance(value, list | tuple) else value


@cache
def commands() -> dict[str, Any]:
    app = typer.Typer()
    for group in (failover, switchover, failback, fence, runs):
        group.register(app)
    return dict(get_command(app).commands)  # type: ignore[attr-defined]
