"""Parts of the report's model: records by where they were produced, where several clusters are at work.

The rules are those of `model`.
"""

from __future__ import annotations

from pydantic.dataclasses import dataclass

from orchestrator.evidence.report.model_parts import MODEL_CONFIG, Count, Seconds


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class CopyEvidence:
    """The acknowledged records of one topic at one cluster that has them; `origin` and `topic` are where they
    were produced, `name` is what they are called at `cluster`.

    Of those that are missing `tail` lies behind the last one that is there, `hole` before it.
    `copied_again`: stand there twice, since a worker that was killed has copied them again, which may be
    `copied_again_at_most`; `twice`: stand there twice for no such reason. `sent_again`: by a producer that
    was killed before it had heard of them.
    """

    origin: str
    topic: str
    cluster: str
    name: str
    acked: Count
    present: Count
    tail: Count
    hole: Count
    twice: Count
    copied_again: Count
    copied_again_at_most: Count
    sent_again: Count
    reordered: Count


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class ReadingEvidence:
    """What one consumer has made of the records of one origin, wherever it worked. Records.

    `expected`: acknowledged ones that it had to process; `read`: of them it has. `lost`: gone with a site
    that stayed away; `skipped`: all others that it has not. `again`: processed more than once because of a
    move, `again_at_most` as the plans had said for all origins together (None: nothing moved it); `late`: of
    them those that had been processed before a loss and arrived late; `uncommitted`: processed again where it
    works, because its site was killed before it had committed them; `repeated`: processed twice since they
    stand twice. `uncalled`: were not for it.
    """

    consumer: str
    kind: str
    cluster: str
    origin: str
    topic: str
    expected: Count
    read: Count
    lost: Count
    skipped: Count
    again: Count
    again_at_most: Count | None
    late: Count
    uncommitted: Count
    repeated: Count
    uncalled: Count


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class ApplicationEvidence:
    """What a loss was said to mean for one application, and what it did.

    `loss`: which of `faults`, from 1 on. `stated`, `happened`: `works on`, `waits` or `goes to CLUSTER`; the
    latter None where its ledger does not tell. `pause_s`: the longest that it got nothing done.
    """

    loss: int
    name: str
    kind: str
    cluster: str
    stated: str
    happened: str | None
    is_as_stated: bool | None
    pause_s: Seconds | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, config=MODEL_CONFIG)
class StatementEvidence:
    """One thing that had been stated of the loss of a site of a stretched cluster, and what happened.

    `loss`: which of `faults`, from 1 on. `subject`: `control plane`, `writes to TOPIC`, `failover` or `steps
    of failover`. `happened`: None where it could not be seen.
    """

    loss: int
    site: str
    subject: str
    stated: str
    happened: str | None
    is_as_stated: bool | None
    reason: str = ""
