"""Mirror engines: see `moves.participants.MirrorEngine`."""

from orchestrator.mirrors.mirrormaker2 import MirrorMaker2

__all__ = ["MirrorMaker2"]
