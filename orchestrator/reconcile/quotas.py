"""Client quotas: how fast mirrors may write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic.dataclasses import dataclass
from typing_extensions import TypedDict  # pydantic reads no other one before Python 3.12

from orchestrator.reconcile.batch import SETTLE_S, Batch, Replacing
from orchestrator.reconcile.ports import ReconciledClusters
from orchestrator.runs.effect import EFFECT_CONFIG, Done, Failed, Nothing, Outcome, Running
from orchestrator.values import PRODUCER_BYTE_RATE, QuotaOwner
from orchestrator.wording import listed, plural


class QuotaWanted(TypedDict):
    """Bytes that a client may write in a second to each broker, and what was there before; None: no limit."""

    user: str
    client_id: str | None
    set: float | None
    was: float | None


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class SetQuotas(
    Replacing,
    Batch,
    name="set-quotas",
    phase="access",
    title="Set the quota of",
    expected_s=0.3,
):
    """Set or remove one quota of each of these clients. Their other quotas stay."""

    quotas: tuple[QuotaWanted, ...]

    @property
    def objects(self) -> tuple[QuotaOwner, ...]:
        """See `Batch`."""
        return tuple(_owner(wanted) for wanted in self.quotas)

    @classmethod
    def joined(cls, works: Sequence[Self]) -> Self:
        """See `Batch`."""
        return cls(cluster=works[0].cluster, quotas=tuple(one for work in works for one in work.quotas))

    @property
    def what(self) -> str:
        """See `Batch`."""
        return listed(f"{_owner(wanted)} ({_in_words(wanted['set'])})" for wanted in self.quotas)

    def put(self, run: Running, *, back: bool) -> Outcome[Nothing]:
        """See `Replacing`."""
        changes = {_owner(wanted): {PRODUCER_BYTE_RATE: _limit(wanted, back=back)} for wanted in self.quotas}
        run.port(ReconciledClusters).at(self.cluster).kafka.alter_quotas(changes)
        return Done(Nothing(), plural(len(changes), "client quota"))

    def see(self, run: Running, *, back: bool) -> Outcome[Nothing]:
        """See `Replacing`."""
        kafka = run.port(ReconciledClusters).at(self.cluster).kafka

        def wrong() -> list[str]:
            there = kafka.quotas()
            return [
                f"{_owner(wanted)} has {_in_words(has)}"
                for wanted in self.quotas
                if (has := there.get(_owner(wanted), {}).get(PRODUCER_BYTE_RATE)) != _limit(wanted, back=back)
            ]

        if run.await_true(lambda: not wrong(), SETTLE_S):
            return Done(Nothing())
        return Failed(f"client quotas at {self.cluster} that are not as asked for: {listed(wrong())}")


def _limit(wanted: QuotaWanted, *, back: bool) -> float | None:
    return wanted["was"] if back else wanted["set"]


def _owner(wanted: QuotaWanted) -> QuotaOwner:
    return QuotaOwner(wanted["user"], wanted["client_id"])


def _in_words(limit: float | None) -> str:
    return "no limit" if limit is None else f"{limit:,.0f} bytes/s to each broker"
