"""What happens to the guard of a broker, and what it can do: plain values. See `guarding`.

All times are of one clock of the guard's machine that never goes back.
"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.guards.boot_guard import BootGuardStatus
from orchestrator.runs.guards import Said


@dataclass(frozen=True, slots=True)
class Saying:
    """What the guard says in the ensemble. See `guards.GuardSaid`."""

    state: Said
    reason: str
    beside: str = ""


@dataclass(frozen=True, slots=True)
class Begun:
    """The guard was started, and no broker runs. It starts closed unless it hears otherwise in `wait_s`."""

    now_s: float
    wait_s: float


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of asking. `word` is None where nobody answered, and `problem` why; `said` is what was said
    before it was asked, if it was."""

    now_s: float
    word: BootGuardStatus | None
    problem: str = ""
    said: Saying | None = None


@dataclass(frozen=True, slots=True)
class TurnAnswered:
    """Whether it is this server's turn to open, and why not."""

    now_s: float
    is_ours: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Listens:
    """The broker that was started last takes connections at all of its listeners."""

    now_s: float


@dataclass(frozen=True, slots=True)
class Ticked:
    """Time has passed."""

    now_s: float


@dataclass(frozen=True, slots=True)
class Ended:
    """The broker's process has ended. `status`: negative for a signal."""

    now_s: float
    status: int


@dataclass(frozen=True, slots=True)
class Told:
    """A signal for the broker. `ends`: it is to end by it."""

    now_s: float
    signal: int
    ends: bool


Event = Begun | Heard | TurnAnswered | Listens | Ticked | Ended | Told


@dataclass(frozen=True, slots=True)
class Ask:
    """Say `says`, if anything; when that is in the ensemble, read there whether the broker may be open."""

    says: Saying | None


@dataclass(frozen=True, slots=True)
class TakeTurn:
    """Take the lock of the server that opens just now."""


@dataclass(frozen=True, slots=True)
class LeaveTurn:
    """Let go of it."""


@dataclass(frozen=True, slots=True)
class Start:
    """Start the broker, open to applications or closed."""

    is_open: bool


@dataclass(frozen=True, slots=True)
class PassOn:
    """Send the broker a signal."""

    signal: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Let the broker stop in good order."""


@dataclass(frozen=True, slots=True)
class Kill:
    """End the broker at once, and all that it has started."""


@dataclass(frozen=True, slots=True)
class Log:
    """One line for the service's own log."""

    text: str


@dataclass(frozen=True, slots=True)
class Exit:
    """End as the broker has ended."""

    status: int


Instruction = Ask | TakeTurn | LeaveTurn | Start | PassOn | Stop | Kill | Log | Exit
