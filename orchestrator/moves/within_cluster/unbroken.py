"""Brokers that were restarted since the quorum was lost: they have lost their place in sync. Pure.

Rule (facts: Kafka, "KRaft"): a broker that was killed is taken out of the replicas in sync, and out of the
eligible leaders, when it registers again. Without a quorum it can register nowhere, and takes no connections
before it has (`tests/adapters/kafka/test_without_quorum.py`): whoever takes some was not restarted since.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from orchestrator.moves.within_cluster.order import assigned
from orchestrator.ports.hosts import Listening
from orchestrator.ports.part import Part
from orchestrator.ports.servers import Placement
from orchestrator.runs.gate import absent, asked_again, gate_result
from orchestrator.runs.plan import GateOutcome, GateResult
from orchestrator.values import TopicPartition
from orchestrator.wording import listed, plural

Ports = Mapping[int, Listening]


def broken(ports: Part[Ports]) -> tuple[int, ...]:
    """Brokers that take no connections."""
    return tuple(sorted(broker for broker, answer in (ports.value or {}).items() if answer != "yes"))


def resting_on(placement: Placement, brokers: Collection[int]) -> list[TopicPartition]:
    """Partitions of which nobody else that is up is in sync."""
    return [one.partition for one in assigned(placement) if one.in_sync and one.in_sync <= set(brokers)]


@asked_again()
def brokers_unbroken(
    ports: Part[Ports], placement: Placement, cluster: str, *, is_accepted: bool
) -> GateResult:
    """Each partition has a replica in sync at a broker that has run since before; or a person accepts others.

    `placement`: without the brokers that are lost. `is_accepted`: another leader may lack records.
    """
    limit = (
        f"each partition of {cluster} has a replica in sync at a broker that was not restarted since the loss"
    )
    if ports.value is None:
        return absent("brokers-unbroken", ports, limit)
    gone = broken(ports)
    measured = f"{len(gone)} of {plural(len(ports.value), 'broker')} take no connections"
    if not gone:
        return gate_result("brokers-unbroken", "ok", measured, limit, limit)
    who = "down, or restarted since the quorum was lost, and no longer in sync if it was killed: "
    who += _named(ports.value, gone)
    resting = resting_on(placement, gone)
    if not resting:
        return gate_result(
            "brokers-unbroken", "ok", measured, limit, f"{who}; each partition has another replica"
        )
    said = f"{who}; nobody else has all of {listed(map(str, resting))}"
    if is_accepted:
        return gate_result("brokers-unbroken", "ok", measured, limit, f"accepted: {said}")
    is_silent = any(ports.value[broker] == "silent" for broker in gone)
    hint = (
        "bring the lost site back, and these partitions lose nothing; with --accept-unclean N (or all) the "
    )
    hint += "quorum is formed, and the same command then lets whoever has most lead them"
    outcome: GateOutcome = "unknown" if is_silent else "refused"
    return gate_result("brokers-unbroken", outcome, measured, limit, said, hint)


def _named(ports: Ports, brokers: Collection[int]) -> str:
    how = {"refused": "refuses connections", "silent": "does not answer"}
    return listed(f"broker {broker} {how[ports[broker]]}" for broker in brokers)
