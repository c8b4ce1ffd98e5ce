"""What a watcher keeps of applications beside committed offsets, as their kinds declare it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from orchestrator.snapshot.samples import ApplicationSample, CheckpointCopy, Word, encode_sample
from orchestrator.topology.consumer_kinds import KINDS, ConsumerKind, by_kind
from orchestrator.topology.model import Consumer

_ASKED_EVERY_S = 0.25
_BEGUN_AGAIN_S = 30.0
_WORD_BYTES_AT_MOST = 500_000
"""Half of what a broker takes by default: a batch has room for it."""


@runtime_checkable
class Keeping(Protocol):
    """Follows the applications of one kind, in threads of its own.

    Made of their entries in the file, the watcher's name, and its log.
    """

    def start(self) -> None:
        """Begin to follow."""

    def stop(self) -> None:
        """End soon; what is cut off does no harm."""

    def words(self) -> Sequence[Word]:
        """The newest word on each application; at once, whatever they do."""


class Follower:
    """One kind's applications, followed in such a way that nothing its package does stops the watcher.

    `make` makes the `Keeping`; it is called, and what it makes is started and asked, by a thread of its own:
    one that blocks lets the words on its applications grow old, and nothing else. In place of a word that
    cannot be kept (no plain data, too large) stands the last one that could, with the problem; so it does
    where the keeping cannot be made or started. `applications`: the names of those that it is asked for.
    """

    def __init__(
        self, kind: str, applications: Collection[str], make: Callable[[], Keeping], watcher: str, log: Any
    ) -> None:
        self._kind, self._applications, self._make = kind, frozenset(applications), make
        self._watcher, self._log = watcher, log
        self._keeping: Keeping | None = None
        self._stopped = threading.Event()
        self._words: dict[str, Word] = {}
        self._thread = threading.Thread(target=self._follow, name=f"words-{kind}", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def stop(self) -> None:
        """End soon; one that blocks is not waited for."""
        self._stopped.set()
        if self._keeping is not None:
            try:
                self._keeping.stop()
            except Exception as error:  # noqa: BLE001 - a package's bug keeps no watcher from ending
                self._say(f"its package cannot be told to stop: {error!r}", self._applications)
        self._thread.join(2 * _ASKED_EVERY_S)

    def words(self) -> Sequence[Word]:
        """The newest word on each application, at once."""
        return tuple(dict(self._words).values())

    def ask(self) -> None:
        """Take the newest words; never raises."""
        if self._keeping is None and not self._begin():
            return
        try:
            words: Sequence[Any] = self._keeping.words() if self._keeping is not None else ()
            found = [(word, self._why_not(word)) for word in words]
        except Exception as error:  # noqa: BLE001 - a package's bug ends no watcher
            self._say(f"its newest state cannot be asked for: {error!r}", self._applications)
            return
        for word, why in found:
            if not why:
                self._words[word.application] = word
            else:
                self._say(why, self._applications & {getattr(word, "application", "")})

    def _begin(self) -> bool:
        """Whether it is followed; where it cannot be, the words on its applications say why."""
        try:
            keeping = self._make()
            keeping.start()
        except Exception as error:  # noqa: BLE001 - a package's bug ends no watcher
            self._say(f"it cannot be followed: {error!r}", self._applications)
            return False
        self._keeping = keeping
        return True

    def _follow(self) -> None:
        while not self._stopped.is_set():
            self.ask()
            self._stopped.wait(_ASKED_EVERY_S if self._keeping is not None else _BEGUN_AGAIN_S)

    def _why_not(self, word: object) -> str:
        """Why it cannot be kept; empty if it can."""
        if not isinstance(word, CheckpointCopy | ApplicationSample):
            return f"{type(word).__name__} is no word on an application"
        is_own = isinstance(word, CheckpointCopy) or word.kind == self._kind
        if word.application not in self._applications or not is_own:
            return f"{word.application} is no application of this kind that the watcher keeps"
        try:
            size_bytes = sum(map(len, encode_sample(word)))
        except (TypeError, ValueError, RecursionError) as error:
            return f"its newest state is no plain data: {error}"
        if size_bytes > _WORD_BYTES_AT_MOST:
            return f"its newest state has {size_bytes:,} bytes, {_WORD_BYTES_AT_MOST:,} at most are kept"
        return ""

    def _say(self, problem: str, applications: Iterable[str]) -> None:
        """The last states as they were, with their old times, and what is in the way now."""
        for name in sorted(applications):
            known = self._words.get(name) or ApplicationSample(
                watcher=self._watcher, kind=self._kind, name=name, at_s=0.0
            )
            if known.problem != problem:
                self._log.warning("application is not kept", kind=self._kind, name=name, problem=problem)
            self._words[name] = replace(known, problem=problem)


def followers_of(consumers: Sequence[Consumer], watcher: str, log: Any) -> tuple[Follower, ...]:
    """One for each kind that keeps something and has an application among these."""
    return tuple(
        Follower(
            kind.name, [member.name for member in members], _maker(kind, members, watcher, log), watcher, log
        )
        for kind, members in by_kind(consumers).items()
        if kind.kept_by
    )


def _maker(kind: ConsumerKind, members: Sequence[Consumer], *given: Any) -> Callable[[], Keeping]:
    """What makes the keeping of one kind. Raises `DcctlError` where it refers to nothing of the sort."""
    return lambda: KINDS.made(kind.name, kind.kept_by, Keeping, members, *given)  # type: ignore[type-abstract]
