"""Hooks of the topology file: playbooks of one's own before and after a verb."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic.dataclasses import dataclass

from orchestrator.topology.kinds import STRICT


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Hooks:
    """Paths of Ansible playbooks, each run as a step of the verb's plan, on the file's inventory.

    A `pre_…` hook runs before anything is done, and one that fails ends the run with nothing done. A
    `post_…` hook runs when everything is done; one that fails is told, and changes nothing about that.
    """

    pre_failover: str | None = None
    post_failover: str | None = None
    pre_switchover: str | None = None
    post_switchover: str | None = None
    pre_failback: str | None = None
    post_failback: str | None = None
    pre_fence: str | None = None
    post_fence: str | None = None
    pre_unfence: str | None = None
    post_unfence: str | None = None
    pre_apply: str | None = None
    post_apply: str | None = None

    def of(self, when: str, verb: str) -> str | None:
        """The playbook of a verb, `pre` or `post`; None where the file has none."""
        found: str | None = getattr(self, f"{when}_{verb}", None)
        return found

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Key and path of each hook that the file has."""
        for key in self.__dataclass_fields__:
            path = getattr(self, key)
            if path is not None:
                yield key, path
