"""Group offsets of a cluster that may die at any moment, read by a process of its own.

librdkafka (2.16 and before) aborts the whole process when the connection to a group's coordinator
breaks under an admin call: `rd_kafka_enq_once_del_source_return: Assertion eonce->refcnt > 0`
(confluentinc/librdkafka issue 4605, pull request 5397). It does so just when the watcher is needed most.
Here only the helper dies; the next call starts another one.

Requests and answers are lines of JSON on the helper's stdin and stdout. It ends when its stdin does, so
it never outlives its parent, however that one ended.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestrator.errors import ClusterError
from orchestrator.values import TopicPartition


class GroupReader:
    """Asks one cluster for groups and their committed offsets. Calls from several threads take turns."""

    def __init__(self, name: str, bootstrap: Sequence[str], client: Mapping[str, str]) -> None:
        self._name = name
        self._hello = {"name": name, "bootstrap": list(bootstrap), "client": dict(client)}
        self._helper: subprocess.Popen[str] | None = None
        self._turn = threading.Lock()

    def groups(self, timeout_s: float) -> set[str]:
        """Every group that the operator may see. Raises `ClusterError`."""
        return set(self._ask({"call": "groups", "timeout_s": timeout_s}))

    def committed(self, groups: Iterable[str], timeout_s: float) -> dict[str, dict[TopicPartition, int]]:
        """Committed offsets (the next to read) of each group. Raises `ClusterError`."""
        answer = self._ask({"call": "committed", "groups": sorted(groups), "timeout_s": timeout_s})
        return {
            group: {TopicPartition(topic, partition): offset for topic, partition, offset in offsets}
            for group, offsets in answer.items()
        }

    def close(self) -> None:
        """End the helper, whatever it is at."""
        helper, self._helper = self._helper, None
        if helper is not None:
            helper.kill()
            helper.wait()

    def _ask(self, request: Mapping[str, Any]) -> Any:
        with self._turn:
            try:
                helper = self._started()
                _send(helper, request)
                line = helper.stdout.readline() if helper.stdout else ""
            except (OSError, ValueError):
                line = ""
            if not line:
                self.close()
                raise ClusterError(
                    f"cluster {self._name}", "the connection broke while asking for group offsets"
                )
        answer = json.loads(line)
        if "problem" in answer:
            raise ClusterError(answer["subject"], answer["problem"], answer["hint"])
        return answer["answer"]

    def _started(self) -> subprocess.Popen[str]:
        if self._helper is None or self._helper.poll() is not None:
            self._helper = subprocess.Popen(
                [sys.executable, "-m", "orchestrator.adapters.kafka.group_helper"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # Its last words are the library's assertion, which this class exists to survive.
                stderr=subprocess.DEVNULL,
                text=True,
                # Ctrl-C at the terminal is for the parent, which ends the helper itself.
                start_new_session=True,
            )
            _send(self._helper, self._hello)
        return self._helper


def _send(helper: subprocess.Popen[str], message: Mapping[str, Any]) -> None:
    if helper.stdin is not None:
        helper.stdin.write(json.dumps(message) + "\n")
        helper.stdin.flush()
