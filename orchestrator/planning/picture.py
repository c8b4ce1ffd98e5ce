"""What every picture of the world answers: whether it still is what a plan was made from."""

from __future__ import annotations

from collections.abc import Mapping


class DigestedPicture:
    """A picture whose parts have digests, for comparing it with an earlier one."""

    __slots__ = ()

    def digests(self) -> dict[str, str]:
        """Part -> digest of what must not change between plan and act."""
        raise NotImplementedError

    def moved_since(self, digests: Mapping[str, str]) -> tuple[str, ...]:
        """Names of the parts that are not as they were when `digests` were taken."""
        now = self.digests()
        return tuple(name for name, was in digests.items() if now.get(name) != was)
