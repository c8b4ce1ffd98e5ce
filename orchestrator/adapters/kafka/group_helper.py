"""The helper process of `group_reader`: answers one question after the other until its stdin ends."""

from __future__ import annotations

import json
import os
import sys
import threading
from queue import SimpleQueue
from typing import Any

from orchestrator.adapters.kafka.cluster import KafkaCluster
from orchestrator.errors import DcctlError


def main() -> None:
    """Serve until the parent is gone."""
    questions: SimpleQueue[dict[str, Any]] = SimpleQueue()
    threading.Thread(target=_read, args=(questions,), daemon=True).start()
    hello = questions.get()
    cluster: KafkaCluster | None = None
    while True:
        question = questions.get()
        try:
            cluster = cluster or KafkaCluster(hello["name"], hello["bootstrap"], hello["client"])
            answer: dict[str, Any] = {"answer": _answer(cluster, question)}
        except DcctlError as error:
            answer = {"subject": error.subject, "problem": error.problem, "hint": error.hint}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _read(questions: SimpleQueue[dict[str, Any]]) -> None:
    for line in sys.stdin:
        questions.put(json.loads(line))
    # The parent is gone, perhaps in the middle of a question: nobody waits for the answer.
    os._exit(0)


def _answer(cluster: KafkaCluster, question: dict[str, Any]) -> Any:
    timeout_s = float(question["timeout_s"])
    if question["call"] == "groups":
        return sorted(cluster.groups(timeout_s))
    committed = cluster.committed(question["groups"], timeout_s)
    return {
        group: [[tp.topic, tp.partition, offset] for tp, offset in offsets.items()]
        for group, offsets in committed.items()
    }


if __name__ == "__main__":
    main()
