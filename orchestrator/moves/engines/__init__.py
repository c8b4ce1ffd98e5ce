"""Mirror engines: see `moves.participants.MirrorEngine`."""

from orchestrator.moves.engines.mirrormaker2 import MirrorMaker2

__all__ = ["MirrorMaker2"]
