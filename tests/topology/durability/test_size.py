"""Large files: topics of one shape share one computation, and the whole takes a fraction of its limit."""

from __future__ import annotations

import json
import time

from orchestrator.cli.explain_answers import answers_of
from orchestrator.topology.durability.analysis import explain_topology
from orchestrator.topology.durability.losses import broker_losses, single_losses
from orchestrator.topology.model import Producer, Replication
from tests.topology.durability.topologies import stretched, topic, topology

TOPICS = 10_000
LIMIT_S = 5.0


def test_ten_thousand_topics_in_a_few_shapes() -> None:
    """Analysis, JSON and text's sentences together, for each site and each of 24 brokers."""
    names = tuple(f"t{number}" for number in range(TOPICS))
    topics = [topic(3 + number % 3, 1 + number % 3, name=name) for number, name in enumerate(names)]
    hasty = Producer(name="hasty", cluster="main", topics=names[::50], acks="1")
    given = topology(
        {"main": stretched("zookeeper", [4, 4, 4]), "copy": stretched("kraft", [4, 4, 4])},
        *topics,
        replication=(Replication(source="main", target="copy", topics=names[::2]),),
        producers=(hasty,),
    )
    began = time.process_time()
    found = explain_topology(given, (*single_losses(given), *broker_losses(given)))
    json.dumps(explain_topology(given, single_losses(given)).as_json())
    answers = answers_of(found)
    assert time.process_time() - began < LIMIT_S
    assert len(found.losses) == 3 + 24
    assert len({id(fate) for fate in found.losses[0].clusters["main"].topics.values()}) < 20
    assert len(answers) == 3 + 2
