"""The samples topic of a mirror that is deleted under its watcher: the copies of facts do not bring it back."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import ClusterError
from orchestrator.runs.estate_record import PrimaryMoved
from orchestrator.runs.live.estate_store import EnsembleRecord
from orchestrator.snapshot.live.fact_copy import read_fact_copies
from orchestrator.snapshot.watched import watched_along
from orchestrator.verbs.live import fact_copier as fact_copies
from orchestrator.verbs.live.fact_copier import FactCopier
from orchestrator.watch.log import watch_log
from tests.runs.memory_ensemble import MemoryEnsemble, MemoryLock
from tests.twin.estate import TwinEstate
from tests.verbs.pictures import MIRROR, topology


def test_a_topic_that_was_deleted_stays_away_until_somebody_makes_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An apply of a file without the mirror deletes it, and writes facts. Made anew, it gets all of them."""
    estate, ensemble, samples = TwinEstate(topology(), tmp_path), MemoryEnsemble(), MIRROR.samples_topic
    east = estate.clusters["east"]
    kafka = estate.servers.kafka(estate.topology, "east")
    monkeypatch.setattr(fact_copies, "coordination_connection", lambda _: ensemble)
    monkeypatch.setattr(fact_copies, "kafka_cluster", lambda *_: kafka)
    record = EnsembleRecord(MemoryLock(ensemble, "lock"), estate.topology.name, "r1")
    record.write(PrimaryMoved(home="west", primary="east", topics=("orders",)))
    east.topics.pop(samples, None)
    with watch_log(tmp_path / "log") as log:
        copier = FactCopier(estate.topology, watched_along(estate.topology, MIRROR), log)
        count = copier.copy_once()
        assert count > 0
        assert samples in east.topics, "at first it is made, for the watcher may come later"
        del east.topics[samples]
        record.withdraw(PrimaryMoved)
        for _ in range(2):
            with pytest.raises(ClusterError, match="it was deleted"):
                copier.copy_once()
            assert samples not in east.topics
        east.create_topic(samples, 1, 3, {})
        assert copier.copy_once() == count + 1
        assert len(read_fact_copies(kafka, samples)) == count + 1
        east.cluster_id = "another"
        del east.topics[samples]
        record.write(PrimaryMoved(home="west", primary="east", topics=("orders",)))
        assert copier.copy_once() == 1
        assert samples in east.topics, "another cluster never had it"
