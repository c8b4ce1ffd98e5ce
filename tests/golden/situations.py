"""Every situation by its name, in groups: a group is one golden file.

A situation is the topology file, what happens to the estate in plain words, and the commands as they are typed.
It names nothing of what is inside of dcctl. Most come about by combination, the odd ones by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from tests.golden.play import Situation
from tests.golden.stories.failback import failback
from tests.golden.stories.failover import (
    failover_by_file,
    failover_by_state,
    failover_by_word,
    self_redirecting,
)
from tests.golden.stories.fencing import fencing, hooked
from tests.golden.stories.interrupted import interrupted
from tests.golden.stories.leaving import leaving
from tests.golden.stories.switchover import switchover

_MAKERS = (
    failover_by_file,
    failover_by_state,
    failover_by_word,
    self_redirecting,
    leaving,
    switchover,
    failback,
    fencing,
    hooked,
    interrupted,
)


@cache
def groups() -> Mapping[str, Mapping[str, Situation]]:
    """All of them, by group."""
    return {name: situations for make in _MAKERS for name, situations in make()}
