"""What can go wrong, as a user sees it.

    DcctlError                   exit status 1
    ├── UsageError               2  the command line makes no sense
    ├── TopologyError            1  the topology file is wrong; carries every problem found
    ├── JavaError                1  no Java, or one that cannot be used
    ├── DownloadError            1  a part could not be fetched, or is not what it should be
    ├── ClusterError             1  a Kafka cluster refused, or could not be asked
    ├── ConnectError             1  a Connect worker refused, or could not be asked
    ├── CoordinationError        1  the coordination ensemble refused, or could not be asked
    │   ├── NoAnswerError        1  none of its servers answers: nothing else of it can be told either
    │   ├── LockHeldError        5  somebody else holds the lock
    │   └── LockLostError        6  it was held and is lost; nothing more is done without it
    ├── FormatError              1  bytes in Kafka are not the record that they should be
    ├── PlaybookError            1  a playbook failed
    ├── SimulationError          1  a simulated data centre did not do what it should
    ├── AuditError               1  the audit could not be made
    ├── GateRefusedError         4  a gate refused; nothing was changed
    │   └── GateUnknownError     7  a gate could not be measured, and none refused; nothing was changed
    ├── DeclinedError            8  the person who was asked declined; nothing was changed
    ├── IncompleteError          6  stopped on the way; `dcctl resume` goes on
    └── OutcomeUnknownError      7  it may or may not have happened

Each error says which object (`subject`), what is wrong with it and what was expected (`problem`),
and what to do next (`hint`). No exception of a library reaches a user: adapters translate them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class DcctlError(Exception):
    """An error for a user: `subject: problem`, and a hint for the next move."""

    exit_status = 1

    def __init__(self, subject: str, problem: str, hint: str = "") -> None:
        self.subject = subject
        self.problem = problem
        self.hint = hint
        super().__init__(f"{subject}: {problem}" + (f"\n  {hint}" if hint else ""))


class UsageError(DcctlError):
    """The command line makes no sense."""

    exit_status = 2


class TopologyError(DcctlError):
    """The topology file is wrong. `problems` holds one line for each error found, in file order."""

    def __init__(self, subject: str, problems: Sequence[str], hint: str = "") -> None:
        self.problems = tuple(problems)
        super().__init__(subject, "\n".join((self.counted, *self.problems)), hint)

    @property
    def counted(self) -> str:
        """`1 error`, `2 errors`."""
        return f"{len(self.problems)} error{'s' if len(self.problems) != 1 else ''}"


class JavaError(DcctlError):
    """No Java was found, or one that cannot be used."""


class DownloadError(DcctlError):
    """A part could not be fetched, or is not what it should be."""


class ClusterError(DcctlError):
    """A Kafka cluster refused, or could not be asked. `code` is Kafka's own name of the error, or empty."""

    def __init__(self, subject: str, problem: str, hint: str = "", code: str = "") -> None:
        self.code = code
        super().__init__(subject, problem, hint)


class ConnectError(DcctlError):
    """A Connect worker refused, or could not be asked.

    `is_passing`: asking again may help, for the workers rebalance, start, or did not answer in time.
    """

    def __init__(self, subject: str, problem: str, hint: str = "", *, is_passing: bool = False) -> None:
        self.is_passing = is_passing
        super().__init__(subject, problem, hint)


class CoordinationError(DcctlError):
    """The coordination ensemble refused, or could not be asked."""


class NoAnswerError(CoordinationError):
    """No server of the coordination ensemble answered in time."""


class LockHeldError(CoordinationError):
    """Somebody else holds the lock."""

    exit_status = 5


class LockLostError(CoordinationError):
    """The lock was held and is lost. Nothing more is done without it."""

    exit_status = 6


class FormatError(DcctlError):
    """Bytes in Kafka are not the record that they should be."""


class PlaybookError(DcctlError):
    """A playbook failed."""


class SimulationError(DcctlError):
    """A simulated data centre did not do what it should."""


class NotAsStatedError(SimulationError):
    """A rehearsed command did not end as its plan had stated."""


class AuditError(DcctlError):
    """The audit could not be made."""


class GateRefusedError(DcctlError):
    """A gate refused. Nothing was changed. `gates`: ids of those that are closed, where they are known."""

    exit_status = 4

    def __init__(self, subject: str, problem: str, hint: str = "", *, gates: Iterable[str] = ()) -> None:
        self.gates = frozenset(gates)
        super().__init__(subject, problem, hint)


class GateUnknownError(GateRefusedError):
    """No gate refused, but one could not be measured. Nothing was changed."""

    exit_status = 7


class DeclinedError(DcctlError):
    """The person who was asked declined. Nothing was changed."""

    exit_status = 8


class IncompleteError(DcctlError):
    """A run stopped on the way; `dcctl resume` goes on."""

    exit_status = 6


class OutcomeUnknownError(DcctlError):
    """It may or may not have happened."""

    exit_status = 7
