"""MirrorMaker 2: connectors on Connect's workers at the target, offset syncs, a group sync beside."""

from orchestrator.mirrors.mirrormaker2.engine import ENGINE, MirrorMaker2

__all__ = ["ENGINE", "MirrorMaker2"]
