"""MirrorMaker 2's own translation of group offsets, as evidence sets it beside what was written. Pure."""

from __future__ import annotations

from typing import NamedTuple


class OwnTranslation(NamedTuple):
    """How files and reports name what a mirror engine had translated by itself.

    `engine`: its title. `offset_key`: of a position in `inputs.json`, where it had put a group.
    `reread_key`: of a row of `report.json`, what would have been read again from there.
    """

    engine: str
    offset_key: str
    reread_key: str


BUILT_IN = OwnTranslation(
    engine="MirrorMaker", offset_key="mirrormaker_offset", reread_key="mirrormaker_reread"
)
