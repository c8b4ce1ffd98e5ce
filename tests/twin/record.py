"""What is done to the estate, in plain words that name no step and no function; and what goes wrong on the way.

Each doing is an `Entry`: ("deny", "west", "User:checkout WRITE topic orders"). Which step made it is kept
apart, so that order can be looked up in the plan's graph. Looks that matter for order are entries as well
("see"). What the journal is told counts as a doing of its own kind, for a process may die there, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from tests.twin.crew import Crew

T = TypeVar("T")
NO_ANSWER = "no answer"
Kind = Literal["do", "see", "journal"]
Harm = Literal["fails", "is lost", "is done unheard", "dies before", "dies after"]
"""What becomes of one doing.

fails: it is refused. is lost: it never happens, and nobody says so. is done unheard: it happens, and the answer
is lost. The process dies before it, or just after it.
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One doing or look: when (seconds of virtual time), by which step, and what."""

    at_s: float
    step: str
    kind: Kind
    verb: str
    object: str
    value: str

    @property
    def words(self) -> tuple[str, str, str]:
        """What is kept: it names neither steps nor times."""
        return self.verb, self.object, self.value

    def __str__(self) -> str:
        return f"{self.at_s:8.2f}  {self.step:28}  {self.verb} {self.object}: {self.value}"


class Record:
    """Everything that was done and seen, in order. `harm` says what becomes of the doings to come."""

    def __init__(self, crew: Crew) -> None:
        self.entries: list[Entry] = []
        self._crew = crew
        self._harms: list[tuple[Callable[[Entry, int], bool], Harm]] = []
        self._count = 0
        self._seen: set[tuple[str, tuple[str, str, str]]] = set()

    @property
    def done(self) -> list[tuple[str, str, str]]:
        """What was done to the world, in order."""
        return [entry.words for entry in self.entries if entry.kind == "do"]

    @property
    def count(self) -> int:
        """Doings so far, those in the journal included: each is a point at which something may go wrong."""
        return self._count

    def by_step(self) -> dict[str, list[tuple[str, str, str]]]:
        """Doings and looks of each step."""
        found: dict[str, list[tuple[str, str, str]]] = {}
        for entry in self.entries:
            if entry.kind != "journal":
                found.setdefault(entry.step, []).append(entry.words)
        return found

    def harm_nth(self, number: int, harm: Harm) -> None:
        """The `number`-th doing from now on (0: the next one), journal included, comes to harm."""
        wanted = self._count + number
        self._harms.append((lambda _, count: count == wanted, harm))

    def harm_where(self, is_it: Callable[[Entry], bool], harm: Harm) -> None:
        """Every doing to come of which that holds."""
        self._harms.append((lambda entry, _: is_it(entry), harm))

    def heal(self) -> None:
        """Nothing comes to harm any more."""
        self._harms.clear()

    def see(self, verb: str, where: str, value: str) -> None:
        """A look of a step that matters for order; looking again tells nothing more."""
        entry = self._entry("see", verb, where, value)
        place = (entry.step, entry.words)
        if entry.step and place not in self._seen:
            self._seen.add(place)
            self.entries.append(entry)

    def do(
        self,
        verb: str,
        where: str,
        value: str | Sequence[str],
        effect: Callable[[], T],
        *,
        failed: Callable[[str], Exception],
        kind: Kind = "do",
    ) -> T:
        """Make an effect, unless it comes to harm. `failed` makes the error that whoever asked gets to see.

        Several values are several entries of one doing: all of them are done, or none.
        """
        self._crew.refuse_dead()
        values = [value] if isinstance(value, str) else value
        entries = [self._entry(kind, verb, where, one) for one in values]
        entry = self._entry(kind, verb, where, "; ".join(values))
        harm = next((found for is_it, found in self._harms if is_it(entry, self._count)), None)
        self._count += 1
        if harm == "dies before":
            self._crew.die()
        if harm == "fails":
            raise failed("refused")
        if harm == "is lost":
            raise failed(NO_ANSWER)
        found = effect()
        self.entries += entries
        if harm == "dies after":
            self._crew.die()
        if harm == "is done unheard":
            raise failed(NO_ANSWER)
        return found

    def _entry(self, kind: Kind, verb: str, where: str, value: str) -> Entry:
        return Entry(round(self._crew.now_s, 3), self._crew.step, kind, verb, where, value)
