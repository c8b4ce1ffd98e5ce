"""The copy of the estate record on a real broker: what a place knows once the ensemble is gone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Producer

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.kafka import KafkaCluster, produce_records
from orchestrator.errors import ClusterError, CoordinationError
from orchestrator.runs.estate_record import ClusterIds, LogsAtDeparture, PrimaryMoved, life_of, standing
from orchestrator.runs.live.estate_facts import read_facts
from orchestrator.runs.live.estate_store import EnsembleRecord
from orchestrator.snapshot.live.fact_copy import read_fact_copies
from orchestrator.snapshot.live.identity import KnownClusters
from orchestrator.snapshot.live.reader import read_samples
from orchestrator.snapshot.live.tidying import SAMPLES_CONFIG, create_samples_topic
from orchestrator.snapshot.watched import watched_along
from orchestrator.topology.model import Replication, Topology
from orchestrator.verbs.live import fact_copier as fact_copies
from orchestrator.verbs.live.fact_copier import FactCopier
from orchestrator.watch.log import watch_log
from tests.kafka_broker import kafka_broker
from tests.runs.memory_ensemble import MemoryEnsemble, MemoryLock
from tests.verbs.pictures import MIRROR, topology

pytestmark = pytest.mark.integration

_TRIES = itertools.count(1)


@pytest.fixture(scope="module")
def east(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    folder = tmp_path_factory.mktemp("east")
    with kafka_broker(kafka_runtime("4.3.1", find_java()), folder) as cluster:
        yield cluster


@pytest.fixture
def mirror() -> Replication:
    """Into east, with a samples topic of its own in each try: a second one finds nothing of the first."""
    return replace(MIRROR, source=f"west-{next(_TRIES)}", target="east")


def file_with(east: KafkaCluster) -> Topology:
    found = topology()
    addressed = replace(found.clusters["east"], bootstrap=(east.properties["bootstrap.servers"],), client={})
    return replace(found, clusters={**found.clusters, "east": addressed})


def test_every_fact_is_copied_once_and_read_where_nothing_else_is_left(
    east: KafkaCluster, mirror: Replication, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also by a second copier after the first one's death; an ensemble that is away costs nothing."""
    found, ensemble, samples = file_with(east), MemoryEnsemble(), mirror.samples_topic
    with pytest.raises(ClusterError, match="there is no such topic"):
        read_fact_copies(east, samples)
    create_samples_topic(east, samples)
    monkeypatch.setattr(fact_copies, "coordination_connection", lambda _: ensemble)
    record = EnsembleRecord(MemoryLock(ensemble, "lock"), found.name, "r1")
    with watch_log(tmp_path / "log") as log:
        copier = FactCopier(found, watched_along(found, mirror), log)
        assert (copier.copy_once(), read_fact_copies(east, samples)) == (0, ())
        assert life_of(read_fact_copies(east, samples)) == ""
        record.write(PrimaryMoved(home="west", primary="east", topics=("orders",)))
        many = tuple(("orders", number, number * 7919, 5) for number in range(40_000))
        record.write(LogsAtDeparture(cluster="west", ends=many, topic_ids={"orders": "id"}))
        assert (copier.copy_once(), copier.copy_once()) == (3, 0)
        record.withdraw(PrimaryMoved)
        assert FactCopier(found, watched_along(found, mirror), log).copy_once() == 4
        copied = read_fact_copies(east, samples)
        assert standing(copied) == read_facts(ensemble, found.name)
        assert life_of(copied) != ""
        assert read_samples(east, samples).unreadable == 0

        def away(_: object) -> MemoryEnsemble:
            raise CoordinationError("coordination", "no answer")

        monkeypatch.setattr(fact_copies, "coordination_connection", away)
        with pytest.raises(CoordinationError):
            copier.copy_once()
    assert standing(read_fact_copies(east, samples)) == standing(copied)


def test_brokers_that_make_topics_by_themselves_do_not_make_the_one_of_the_copies(
    east: KafkaCluster, mirror: Replication, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What they make for whoever writes is not compacted: a week later every fact in it would be gone."""
    # dcctl's own producers make no topic.
    writer = Producer(dict(east.properties))
    writer.produce("made-by-brokers", b"value")
    assert writer.flush(60) == 0
    assert east.topic_config(["made-by-brokers"])["made-by-brokers"]["cleanup.policy"] == "delete"
    found, ensemble = file_with(east), MemoryEnsemble()
    samples = mirror.samples_topic
    for look in (read_fact_copies, read_samples):
        with pytest.raises(ClusterError, match="there is no such topic"):
            look(east, samples)
    assert samples not in east.topics([samples]), "a look makes nothing"
    monkeypatch.setattr(fact_copies, "coordination_connection", lambda _: ensemble)
    EnsembleRecord(MemoryLock(ensemble, "lock"), found.name, "r1").write(
        ClusterIds(ids={"east": east.identity()[0]})
    )
    with watch_log(tmp_path / "log") as log:
        assert FactCopier(found, watched_along(found, mirror), log).copy_once() > 0
    config = east.topic_config([samples])[samples]
    assert {name: config[name] for name in SAMPLES_CONFIG} == SAMPLES_CONFIG
    assert len(east.topics([samples])[samples].leaders) == 1, "records of one key stay in order"


def test_the_record_is_not_copied_into_another_cluster(
    east: KafkaCluster, mirror: Replication, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The target's address leads elsewhere: no topic is made there, and the watcher knows the right ids.

    What a run remembered of them and took back holds no more, for a watcher at work and for one that starts.
    """
    found, ensemble = file_with(east), MemoryEnsemble()
    known = KnownClusters()
    monkeypatch.setattr(fact_copies, "coordination_connection", lambda _: ensemble)
    record = EnsembleRecord(MemoryLock(ensemble, "lock"), found.name, "r1")
    record.write(ClusterIds(ids={"east": "the-right-one"}))
    with watch_log(tmp_path / "log") as log:
        copier = FactCopier(found, watched_along(found, mirror), log, known)
        with pytest.raises(ClusterError, match="east is another cluster than before"):
            copier.copy_once()
        assert known.ids == {"east": "the-right-one"}
        assert mirror.samples_topic not in east.topic_names()
        later = EnsembleRecord(MemoryLock(ensemble, "lock"), found.name, "r2")
        later.write(ClusterIds(ids={"east": east.identity()[0]}))
        assert copier.copy_once() > 1
        assert known.ids == {"east": east.identity()[0]}
        later.withdraw(ClusterIds)
        anew = KnownClusters()
        for again, told in (
            (copier, known),
            (FactCopier(found, watched_along(found, mirror), log, anew), anew),
        ):
            with pytest.raises(ClusterError, match="east is another cluster than before"):
                again.copy_once()
            assert told.ids == {"east": "the-right-one"}


def test_a_copy_that_cannot_be_understood_is_no_copy(east: KafkaCluster, mirror: Replication) -> None:
    """Then it is not known what was done before. The newest record is the one that was copied last."""
    topic = mirror.samples_topic
    create_samples_topic(east, topic)
    produce_records(east.name, east.properties, topic, [(b'{"fact":1}', b"{}")])
    with pytest.raises(ClusterError, match="the copy of a fact is none that this version understands"):
        read_fact_copies(east, topic)
