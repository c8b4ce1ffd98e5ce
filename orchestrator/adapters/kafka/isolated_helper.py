"""The helper process of `isolated`: answers questions, several at a time, until its stdin ends."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from orchestrator.adapters.kafka.group_admin import GroupAdmin
from orchestrator.adapters.kafka.isolated import AT_ONCE, HELLO, Kind
from orchestrator.errors import DcctlError

_METHODS = frozenset(
    {
        "brokers",
        "identity",
        "topics",
        "log_ends",
        "groups",
        "groups_found",
        "committed",
        "write_group_offsets",
        "group_members",
        "group_assignments",
    }
)
_METHODS_IN_PARTS = frozenset({"committed_each"})


class Server:
    """Answers on stdout; one connection to the cluster serves all questions."""

    def __init__(self, hello: tuple[Any, Any, Any]) -> None:
        self._hello = hello
        self._cluster: GroupAdmin | None = None
        self._writing = threading.Lock()

    def answer(self, number: int, method: str, arguments: tuple[Any, ...]) -> None:
        """Answer one question."""
        kind: Kind = "answer"
        value: Any = None
        try:
            with self._writing:
                self._cluster = self._cluster or GroupAdmin(*self._hello)
            if method in _METHODS:
                value = getattr(self._cluster, method)(*arguments)
            elif method in _METHODS_IN_PARTS:
                getattr(self._cluster, method)(*arguments, lambda *part: self._say(number, "part", part))
        except DcctlError as error:
            kind, value = "problem", (error.subject, error.problem, error.hint, getattr(error, "code", ""))
        except Exception as error:  # noqa: BLE001 - whatever it was, the parent must not wait for ever
            kind, value = "problem", (f"cluster {self._hello[0]}", f"asking for {method}: {error!r}", "", "")
        self._say(number, kind, value)

    def _say(self, number: int, kind: Kind, value: Any) -> None:
        with self._writing:
            pickle.dump((number, kind, value), sys.stdout.buffer)
            sys.stdout.buffer.flush()


def main() -> None:
    """Serve until the parent is gone."""
    pool = ThreadPoolExecutor(max_workers=AT_ONCE)
    try:
        server = Server(pickle.load(sys.stdin.buffer))  # noqa: S301 - from our own parent
        pickle.dump((HELLO, "answer", None), sys.stdout.buffer)
        sys.stdout.buffer.flush()
        while True:
            pool.submit(server.answer, *pickle.load(sys.stdin.buffer))  # noqa: S301 - the same
    except (EOFError, KeyboardInterrupt):
        # The parent is gone, perhaps in the middle of a question: nobody waits for the answer.
        os._exit(0)


if __name__ == "__main__":
    main()
