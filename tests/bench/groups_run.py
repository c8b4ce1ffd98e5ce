"""The offset part of a failover of many groups, on a real broker, beside Kafka's own tool: one line of JSON.

`python -m tests.bench.groups_run GROUPS PARTITIONS`. Each group reads one topic of ten partitions; there are
as many topics as groups, or as partitions allow. Both sides of the mirror's target are real: mirrored topics
with records in them, the landing topics, and an offset syncs topic.

Ours are the very steps of `dcctl failover`: save what the groups have there, read the syncs and translate each
position, write explicit offsets on mirrored and landing partitions, and read all of them back. Kafka's tool
(`kafka-consumer-groups --reset-offsets --from-file --execute`) gets the offsets that we translated, one group
a call, as it must where each has its own; it neither translates nor verifies. Its time for all is extrapolated
from the first of them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from confluent_kafka import Producer

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import KafkaRuntime, kafka_runtime
from orchestrator.adapters.kafka.cluster import KafkaCluster
from orchestrator.errors import ClusterError
from orchestrator.mirrors.mirrormaker2.formats import OffsetSync, encode_offset_sync
from orchestrator.mirrors.mirrormaker2.offset_syncs import OffsetSyncs
from orchestrator.moves.results import MirrorEnd, SavedOffsets, TranslatedPositions, WrittenOffsets
from orchestrator.moves.results import TopicEnds as LandingEnds
from orchestrator.ports.admin_values import NewTopic
from orchestrator.replication.mirror_ref import source_partitions
from orchestrator.snapshot.samples import GroupPositions, Round, SampleHistory, TopicEnds
from orchestrator.topology.model import Consumer, Replication, Topology
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.verbs.plans import plan_failover
from tests.bench.map_run import Stopwatch
from tests.bench.watched import rounds
from tests.kafka_broker import kafka_broker
from tests.verbs.pictures import REQUEST, observation, part, topology
from tests.verbs.some_moves import a_session, performed, result_of, verified
from tests.verbs.some_servers import SomeServers

_A_TOPIC = 10
_RECORDS = 20
_BY_TOOL = 20
_LOGS_WITHIN_S = 600.0
_AT_S = 1_000.0
# One broker would need a file descriptor for each of the logs; many machines allow 20,000 in all.
_BROKERS = 3
_SETTINGS = {
    "num.network.threads": "2",
    "log.index.size.max.bytes": "4096",
    "auto.create.topics.enable": "false",
}
T = TypeVar("T")


def main() -> None:
    """Fill a broker, move the groups, and let Kafka's tool write the first of them."""
    groups, partitions = int(sys.argv[1]), int(sys.argv[2])
    estate = _topology(groups, partitions // _A_TOPIC)
    mirror = estate.replication[0]
    runtime = kafka_runtime("4.3.1", find_java())
    with (
        tempfile.TemporaryDirectory(prefix="dcctl-bench-", dir=in_memory()) as folder,
        kafka_broker(runtime, Path(folder), brokers=_BROKERS, heap_mb=768, settings=_SETTINGS) as cluster,
    ):
        started = time.perf_counter()
        syncs = _fill(cluster, estate, mirror)
        fill_s = time.perf_counter() - started
        measured = {"groups": groups, "partitions": partitions, "fill_s": fill_s}
        measured |= _moved(cluster, estate, mirror, syncs, Path(folder))
        written = measured.pop("written")
        measured |= rounds(cluster, estate, mirror)
        measured |= _by_tool(runtime, cluster, written, Path(folder))
    sys.stdout.write(json.dumps(measured) + "\n")


def in_memory() -> str | None:
    """Where a broker makes thousands of logs in seconds: each takes several writes through to the disk."""
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and shutil.disk_usage(memory).free > 2 << 30 else None


def _topology(groups: int, topics: int) -> Topology:
    example = topology()
    names = [f"topic-{number}" for number in range(topics)]
    model = example.topics[0]
    return replace(
        example,
        topics=tuple(replace(model, name=name, partitions=_A_TOPIC) for name in names),
        replication=(replace(example.replication[0], topics=tuple(names)),),
        producers=(),
        consumers=tuple(
            Consumer(name=f"group-{n}", cluster="west", kind="group", topics=(names[n % topics],))
            for n in range(groups)
        ),
    )


def _fill(cluster: KafkaCluster, estate: Topology, mirror: Replication) -> list[OffsetSync]:
    """Topics, some records in each mirrored partition, and the syncs that tell of them."""
    landing = {topic.name: NewTopic(partitions=topic.partitions, replicas=1) for topic in estate.topics}
    mirrored = {mirror.mirrored_topic(name): made for name, made in landing.items()}
    everything = [*landing.items(), *mirrored.items(), (mirror.offset_syncs_topic, NewTopic(replicas=1))]
    for start in range(0, len(everything), 100):
        cluster.create_topics(dict(everything[start : start + 100]), timeout_s=120)
    sources = source_partitions(estate, mirror)
    mirrored_partitions = [mirror.mirrored(tp) for tp in sources]
    _await_logs(cluster, [*sources, *mirrored_partitions])
    producer = Producer(
        {
            **cluster.properties,
            "linger.ms": 200,
            "queue.buffering.max.messages": 1_000_000,
            "message.timeout.ms": 400_000,
        }
    )
    for tp in mirrored_partitions:
        for _ in range(_RECORDS):
            producer.produce(tp.topic, b"v", partition=tp.partition)
        producer.poll(0)
    syncs = [OffsetSync(tp, at, at) for tp in sources for at in (0, _RECORDS - 1)]
    for key, value in map(encode_offset_sync, syncs):
        producer.produce(mirror.offset_syncs_topic, value, key)
        producer.poll(0)
    if producer.flush(400):
        raise AssertionError("the broker did not take every record")
    return syncs


def _await_logs(cluster: KafkaCluster, partitions: list[TopicPartition]) -> None:
    """A topic is created when the controller says so; its brokers make its logs some time later."""
    deadline = time.monotonic() + _LOGS_WITHIN_S
    while True:
        try:
            cluster.end_offsets(partitions, timeout_s=30)
        except ClusterError as error:
            if time.monotonic() > deadline:
                raise
            sys.stderr.write(f"waiting for the logs of {len(partitions):,} partitions: {error}\n")
            time.sleep(2)
        else:
            return


def _moved(
    cluster: KafkaCluster, estate: Topology, mirror: Replication, syncs: list[OffsetSync], folder: Path
) -> dict[str, Any]:
    sources = source_partitions(estate, mirror)
    ends = cluster.end_offsets([mirror.mirrored(tp) for tp in sources], timeout_s=60)
    landing_ends = cluster.end_offsets(sources, timeout_s=60)
    builder = OffsetSyncs(gaps=dict.fromkeys(sources, "no"))
    for sync in syncs:
        key, value = encode_offset_sync(sync)
        builder.add_syncs([key], [value])
    seen = replace(
        observation(),
        samples=part(_samples(estate, mirror, ends)),
        offset_map=part(builder.build()),
        log_ends=part({tp: LogEnd(0, end) for tp, end in ends.items()}),
        earlier_ends=part(ends),
    )
    measured: dict[str, Any] = {}

    def timed(name: str, work: Callable[[], T]) -> T:
        watch = Stopwatch()
        with watch:
            found = work()
        measured[f"{name}_s"], measured[f"{name}_cpu_s"] = watch.wall_s, watch.cpu_s
        return found

    plan = timed("plan", lambda: plan_failover(estate, seen, REQUEST))
    servers = SomeServers(clusters={"east": cluster}, workers={"east": None})
    session = a_session(folder / "run", servers, estate, seen)
    landing = LandingEnds(ends=landing_ends, seen_from=landing_ends, now=landing_ends, at_s=_AT_S)
    stopped_at = {tp: ends[mirror.mirrored(tp)] - 1 for tp in sources}
    results: dict[str, Any] = {
        "record-mirrored-ends": MirrorEnd(ends=ends, mirror_offsets=stopped_at),
        "record-landing-ends": landing,
    }
    for name, step_id, work, kind in (
        ("save", "save-offsets", performed, SavedOffsets),
        ("translate", "translate-positions", performed, TranslatedPositions),
        ("write", "write-offsets", performed, None),
        ("verify", "write-offsets", verified, WrittenOffsets),
    ):
        step = plan.step(step_id)
        outcome = timed(name, lambda work=work, step=step: work(session, step, results))  # type: ignore[misc]
        if outcome.outcome != "ok":
            raise AssertionError(f"{name}: {outcome.message}")
        if kind is not None:
            results[step_id] = result_of(step, outcome, kind)
    written, rows = results["write-offsets"].written, results["translate-positions"].translations
    return {
        **measured,
        "offsets": sum(len(offsets) for offsets in written.values()),
        "exact": sum(row["exact"] for row in rows),
        "translated": len(rows),
        "written": written,
    }


def _samples(estate: Topology, mirror: Replication, ends: dict[TopicPartition, int]) -> SampleHistory:
    """What a watcher would have recorded: each group somewhere in its topic."""
    samples = SampleHistory()
    partitions: dict[str, list[TopicPartition]] = {}
    for tp in source_partitions(estate, mirror):
        partitions.setdefault(tp.topic, []).append(tp)
    for at_s in (_AT_S - 2, _AT_S - 1):
        for name, own in partitions.items():
            logs = {tp.partition: LogEnd(0, ends[mirror.mirrored(tp)], 1) for tp in own}
            samples.add(TopicEnds(watcher="w", topic=name, block=0, at_s=at_s, topic_id=name, ends=logs))
        for number, consumer in enumerate(estate.consumers):
            offsets = {
                tp.partition: min(number % _RECORDS, ends[mirror.mirrored(tp)])
                for tp in partitions[consumer.topics[0]]
            }
            samples.add(
                GroupPositions(
                    watcher="w",
                    group=consumer.name,
                    topic=consumer.topics[0],
                    block=0,
                    at_s=at_s,
                    offsets=offsets,
                )
            )
        samples.add(
            Round(
                watcher="w",
                begun_at_s=at_s,
                ended_at_s=at_s + 0.1,
                outcome="good",
                ends_at_s=(at_s, at_s + 0.1),
            )
        )
    return samples


def _by_tool(
    runtime: KafkaRuntime, cluster: KafkaCluster, written: dict[str, dict[TopicPartition, int]], folder: Path
) -> dict[str, Any]:
    """Kafka's own tool for the first groups, one call each."""
    chosen = list(written)[:_BY_TOOL]
    started = time.perf_counter()
    for group in chosen:
        file = folder / f"{group}.csv"
        rows = [f"{tp.topic},{tp.partition},{offset}\n" for tp, offset in written[group].items()]
        file.write_text("".join(rows), encoding="utf-8")
        subprocess.run(
            [
                str(runtime.java.executable),
                "-Xmx256m",
                "-cp",
                runtime.class_path,
                "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
                *("--bootstrap-server", str(cluster.properties["bootstrap.servers"])),
                *("--group", group, "--reset-offsets", "--from-file", str(file), "--execute"),
            ],
            check=True,
            capture_output=True,
            timeout=120,
        )
    seconds = time.perf_counter() - started
    committed = cluster.committed(chosen)
    if any(committed[group] != written[group] for group in chosen):
        raise AssertionError("Kafka's tool did not write the offsets that it was given")
    return {"tool_groups": len(chosen), "tool_s": seconds, "tool_all_s": seconds / len(chosen) * len(written)}


if __name__ == "__main__":
    main()
