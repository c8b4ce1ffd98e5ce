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
    """Before a failover."""
    post_failover: str | None = None
    """After a failover."""
    pre_switchover: str | None = None
    """Before a switchover."""
    post_switchover: str | None = None
    """After a switchover."""
    pre_failback: str | None = None
    """Before a failback."""
    post_failback: str | None = None
    """After a failback."""
    pre_fence: str | None = None
    """Before a fence."""
    post_fence: str | None = None
    """After a fence."""
    pre_unfence: str | None = None
    """Before an unfence."""
    post_unfence: str | None = None
    """After an unfence."""
    pre_apply: str | None = None
    """Before an apply."""
    post_apply: str | None = None
    """After an apply."""

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
