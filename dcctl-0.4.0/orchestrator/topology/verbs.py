"""The verbs that move applications: who has to know which they are asks here."""

from __future__ import annotations

from typing import Literal, get_args

MovingVerb = Literal["failover", "switchover", "failback"]
MOVING_VERBS: tuple[MovingVerb, ...] = get_args(MovingVerb)
