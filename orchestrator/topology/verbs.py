"""The verbs that move applications: who has to know which they are asks here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

MovingVerb = Literal["failover", "switchover", "failback"]
MOVING_VERBS: tuple[MovingVerb, ...] = get_args(MovingVerb)


def put_back_command(cluster: str) -> str:
    """What puts back whatever was changed within a cluster."""
    return f"dcctl failback FILE --cluster {cluster}"


OVERTAKEN_BY: Mapping[str, frozenset[str]] = {
    "fence": frozenset({"fence", "unfence"}),
    "unfence": frozenset({"fence", "unfence"}),
    "evacuate": frozenset({"evacuate", "site-loss", "put-back"}),
    "site-loss": frozenset({"site-loss", "put-back"}),
    "put-back": frozenset({"evacuate", "site-loss", "put-back"}),
    "leaders": frozenset(),
}
"""Of a verb about one cluster those that work against it, or take its place, when they come later."""
