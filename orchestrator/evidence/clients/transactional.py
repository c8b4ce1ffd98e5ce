"""A producer that writes in transactions, and aborts some of them, as applications do.

Run as `python -m orchestrator.evidence.clients.transactional CONFIG.json`. A record counts as acknowledged
once its transaction is committed, and not when the broker has it. The numbers of a transaction that was
aborted on purpose are given up: they stand in the log, and nobody who reads what is committed may ever see
them.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from orchestrator.evidence.clients.config import ProducerConfig
from orchestrator.evidence.clients.producer import FLUSH_TIMEOUT_S, WorkloadProducer, now_ms, run_producer

_AGE_S = 0.25
_CALL_TIMEOUT_S = 2.0
# What a lost site leaves open holds back every reader of what is committed for so long after its return.
_TRANSACTION_TIMEOUT_MS = 30_000


class _Sent(NamedTuple):
    """One record of a transaction. `place`: topic, partition and offset, empty until the broker has it."""

    sent_ms: int
    is_resent: bool
    place: str = ""


@dataclass(slots=True)
class _Transaction:
    """What was sent since it began. `error`: why it cannot be committed any more."""

    client: Producer
    is_to_abort: bool
    began_at_s: float = field(default_factory=time.monotonic)
    sent: dict[int, _Sent] = field(default_factory=dict)
    error: str = ""


class TransactionalProducer(WorkloadProducer):
    """Ends a transaction after so many records, or a quarter of a second, and aborts each so many-th.

    One with records that an earlier life owes is never aborted on purpose.
    """

    def __init__(self, config: ProducerConfig) -> None:
        self._open: _Transaction | None = None
        self._is_known = False
        self._begun = 0
        super().__init__(config)

    def _connected(self) -> Producer:
        self._is_known = False
        return super()._connected()

    def _properties(self) -> dict[str, object]:
        properties = super()._properties()
        timeout_ms = min(int(self._config.message_timeout_s * 1000), _TRANSACTION_TIMEOUT_MS)
        return {
            **properties,
            "transactional.id": self._config.transactional_id,
            "transaction.timeout.ms": _TRANSACTION_TIMEOUT_MS,
            "message.timeout.ms": timeout_ms,
        }

    def _send(self, sequence: int, *, is_resent: bool) -> bool:
        if self._open is None:
            self._open = self._begin()
        transaction = self._open
        if transaction is None:
            return False
        transaction.is_to_abort &= not is_resent
        transaction.sent[sequence] = _Sent(now_ms(), is_resent)
        if not super()._send(sequence, is_resent=is_resent):
            del transaction.sent[sequence]
            return False
        if transaction.error or len(transaction.sent) >= self._config.transaction_records:
            self._settle(is_end=True)
        return True

    def _settle(self, *, is_end: bool) -> None:
        transaction = self._open
        if transaction is None or not (is_end or time.monotonic() - transaction.began_at_s > _AGE_S):
            return
        self._await_brokers(transaction)
        if transaction.error:
            # No commit was asked for: whatever stands in the log, it is not committed.
            event, error = "failed", transaction.error
            self._abort(transaction)
        elif transaction.is_to_abort:
            event, error = "aborted", ""
            self._abort(transaction)
        else:
            event, error = self._commit(transaction)
        self._open = None
        at_ms = now_ms()
        for sequence, (sent_ms, is_resent, place) in transaction.sent.items():
            where = place if event == "ack" else ",,"
            self._ledger.add_lines(
                [f"{event},{sequence},,{where},{sent_ms},{at_ms},{int(is_resent)},{error}"]
            )
        self._poll(0)

    def _begin(self) -> _Transaction | None:
        """A new transaction, once the coordinator knows this producer; None where it is time to stop."""
        while not self.is_stopping:
            try:
                if not self._is_known:
                    self._client.init_transactions(_CALL_TIMEOUT_S)
                    self._is_known = True
                self._client.begin_transaction()
            except KafkaException as error:
                if not error.args[0].retriable():
                    self._client = self._connected()
                self._poll(0.2)
            else:
                self._begun += 1
                every = self._config.abort_every
                return _Transaction(self._client, every is not None and self._begun % every == 0)
        return None

    def _await_brokers(self, transaction: _Transaction) -> None:
        """Until every record of it was answered; one without an answer when it is time to go fails it."""
        stop_by_s: float | None = None
        while self._client is transaction.client and self._waits():
            self._poll(0)
            if self.is_stopping:
                stop_by_s = stop_by_s or time.monotonic() + FLUSH_TIMEOUT_S
                if time.monotonic() > stop_by_s:
                    transaction.error = "_PURGE_QUEUE"
                    self._client.purge()
        if self._client is not transaction.client:
            # A fatal error: nobody asks for a commit any more.
            transaction.error = transaction.error or "_FATAL"

    def _waits(self) -> bool:
        """Whether records are still to be answered after a while. With a fatal error a new client goes on."""
        try:
            return bool(self._client.flush(_AGE_S))
        except KafkaException as error:
            if not error.args[0].fatal():
                raise
            self._connect_anew()
            return False

    def _commit(self, transaction: _Transaction) -> tuple[str, str]:
        """The event that holds for each of its records, and the error. Without an answer nobody can tell."""
        while True:
            try:
                self._client.commit_transaction(_CALL_TIMEOUT_S)
            except KafkaException as error:
                found: KafkaError = error.args[0]
                if found.txn_requires_abort():
                    self._abort(transaction)
                elif not found.retriable():
                    self._client = self._connected()
                elif not self.is_stopping:
                    self._poll(0)
                    continue
                return "timeout", found.name()
            else:
                return "ack", ""

    def _abort(self, transaction: _Transaction) -> None:
        """Whether the coordinator hears of it or not: it ends what nobody commits by itself."""
        while self._client is transaction.client:
            try:
                self._client.abort_transaction(_CALL_TIMEOUT_S)
            except KafkaException as error:
                if not error.args[0].retriable():
                    self._client = self._connected()
                elif self.is_stopping:
                    return
                self._poll(0)
            else:
                return

    def _delivered(
        self, sequence: int, sent_ms: int, is_resent: bool, error: KafkaError | None, message: Message
    ) -> None:
        if error is not None:
            self._answered("failed", sequence, sent_ms, is_resent, error)
        elif self._open is not None and sequence in self._open.sent:
            place = f"{message.topic()},{message.partition()},{message.offset()}"
            self._open.sent[sequence] = _Sent(sent_ms, is_resent, place)

    def _answered(self, event: str, sequence: int, sent_ms: int, is_resent: bool, error: KafkaError) -> None:
        """What fails one record fails its transaction, and is written down with that."""
        if self._open is not None and sequence in self._open.sent:
            self._open.error = self._open.error or error.name()
        else:
            super()._answered(event, sequence, sent_ms, is_resent, error)


if __name__ == "__main__":
    run_producer(TransactionalProducer, sys.argv[1:])
