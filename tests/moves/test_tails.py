"""What a returned log holds beyond its leader's, read from its disk, and cut off as Kafka does it."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import ClusterError
from orchestrator.moves.within_cluster.tails import begin_of_tail, tails_of
from orchestrator.ports.replica_logs import BrokerLogs, ReplicaLog
from orchestrator.values import EpochEnd, TopicPartition
from tests.moves.test_quorum import batch
from tests.twin.voters import module

LOGS = module("dcctl_replica_logs")
ORDERS = TopicPartition("orders", 0)


def broker(folder: Path, *, roles: str = "broker") -> Path:
    """A broker's configuration, and the folder of its logs."""
    data = folder / "data"
    data.mkdir()
    config = folder / "server.properties"
    config.write_text(f"process.roles={roles}\nnode.id=1\nlog.dirs={data}\n")
    return config


def partition(data: Path, *segments: tuple[int, bytes], epochs: str = "") -> Path:
    """A partition with segments by their base offsets."""
    folder = data / "orders-0"
    folder.mkdir()
    for base, content in segments:
        (folder / f"{base:020}.log").write_bytes(content)
    if epochs:
        (folder / "leader-epoch-checkpoint").write_text(epochs)
    return folder


def test_logs_are_read_from_the_disk(tmp_path: Path) -> None:
    """The last whole batch says where a log ends; metadata and what is no partition are left out."""
    config = broker(tmp_path)
    partition(
        tmp_path / "data",
        (0, batch(0, 3, 10)),
        (10, batch(10, 3, 5) + batch(15, 4, 2) + batch(17, 4, 9)[:-1]),
        epochs="0\n2\n3 0\n4 15\n",
    )
    (tmp_path / "data" / "__cluster_metadata-0").mkdir()
    (tmp_path / "data" / "meta.properties").write_text("")
    found = LOGS.look(str(config))
    assert found == {"id": 1, "logs": {"orders-0": {"epoch": 4, "end": 17, "epochs": [[3, 0], [4, 15]]}}}


def test_an_empty_log_ends_where_it_starts(tmp_path: Path) -> None:
    """All its records are too old, or none came; epochs that are not whole count for nothing."""
    config = broker(tmp_path)
    partition(tmp_path / "data", (40, b""), epochs="0\n2\n3 0\n")
    assert LOGS.look(str(config))["logs"]["orders-0"] == {"epoch": -1, "end": 40, "epochs": None}


def test_epochs_that_are_older_than_the_last_records_tell_nothing(tmp_path: Path) -> None:
    """A broker that was killed may not have noted the newest one."""
    config = broker(tmp_path)
    folder = partition(tmp_path / "data", (0, batch(0, 3, 10) + batch(10, 5, 2)), epochs="0\n1\n3 0\n")
    assert LOGS.look(str(config))["logs"]["orders-0"] == {"epoch": 5, "end": 12, "epochs": None}
    (folder / "leader-epoch-checkpoint").unlink()
    assert LOGS.look(str(config))["logs"]["orders-0"]["epochs"] is None
    stale = BrokerLogs("broker-1", 1, {ORDERS: ReplicaLog(5, 12)})
    found = tails_of([stale], {1: {ORDERS: EpochEnd(3, 30)}})
    assert (found.tails, found.uncounted) == (
        (),
        ("orders-0 of broker 1: its broker has not noted where epoch 5 begins",),
    )


def test_a_controller_has_no_logs_of_topics(tmp_path: Path) -> None:
    """Its configuration is one of dcctl's servers as well."""
    assert LOGS.look(str(broker(tmp_path, roles="controller"))) == {"id": None, "logs": {}}


def test_batches_beyond_an_offset_are_copied_byte_for_byte(tmp_path: Path) -> None:
    """One that begins before it and reaches beyond it is copied whole."""
    config, first, second, third = broker(tmp_path), batch(0, 3, 10), batch(10, 3, 5), batch(15, 4, 2)
    partition(tmp_path / "data", (0, first), (10, second + third))
    into = tmp_path / "kept"
    kept = LOGS.keep(str(config), {"orders-0": 12}, into)
    assert kept == [{"partition": "orders-0", "segment": f"{10:020}.log"}]
    assert (into / "orders-0" / f"{10:020}.log").read_bytes() == second + third
    assert LOGS.keep(str(config), {"orders-0": 17}, into) == []


@given(
    mine=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    theirs=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    common=st.integers(0, 6),
)
def test_what_is_cut_off_is_what_both_logs_do_not_share(
    mine: list[int], theirs: list[int], common: int
) -> None:
    """Logs are the same up to some epoch, and each went on by itself. Records bear (who, epoch)."""
    shared = min(common, len(mine), len(theirs))
    here = [(epoch, "both" if epoch < shared else "here") for epoch, n in enumerate(mine) for _ in range(n)]
    counts = mine[:shared] + theirs[shared:]
    later = [(10 + epoch, "there") for epoch, n in enumerate(counts[shared:]) for _ in range(n)]
    there = [(epoch, "both") for epoch, n in enumerate(mine[:shared]) for _ in range(n)] + later
    log = ReplicaLog(here[-1][0], len(here), tuple(_epochs(here)))
    same = next((at for at, (one, other) in enumerate(zip(here, there, strict=False)) if one != other), None)
    cut_at = begin_of_tail(log, _asked(there, log.leader_epoch))
    assert cut_at == (min(len(here), len(there)) if same is None else same)


def _epochs(log: list[tuple[int, str]]) -> list[tuple[int, int]]:
    begun: dict[int, int] = {}
    for offset, (epoch, _) in enumerate(log):
        begun.setdefault(epoch, offset)
    return sorted(begun.items())


def _asked(log: list[tuple[int, str]], epoch: int) -> EpochEnd:
    """As Kafka's `LeaderEpochFileCache.endOffsetFor` says: who leads has noted an epoch of its own."""
    known = {**dict(_epochs(log)), 99: len(log)}
    later = [at for one, at in known.items() if one > epoch]
    before = [one for one in known if one <= epoch]
    return EpochEnd(max(before), min(later)) if before else EpochEnd(epoch, min(later))


def test_a_leader_that_says_nothing_leaves_its_partition_uncounted() -> None:
    """An empty log has nothing that could be cut off; whoever does not answer is named."""
    logs = {ORDERS: ReplicaLog(4, 20), TopicPartition("empty", 0): ReplicaLog(-1, 3)}
    for said, why in (
        (ClusterError("cluster main", "no answer"), "no answer"),
        (EpochEnd(-1, -1), "its leader does not know its epoch"),
    ):
        found = tails_of([BrokerLogs("broker-1", 1, logs)], {1: {ORDERS: said}})
        assert found.tails == ()
        assert found.uncounted == (f"orders-0 of broker 1: {why}",)
