"""A topology file of any size, made from a small one."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.topology.model import Topology


def grown(small: Topology, *, groups: int, topics: int, partitions: int, producers: int) -> Topology:
    """The estate of an active-passive file with that many of each; `partitions` in all, its queries beside.

    Group n reads topic n, and so round again; each producer writes to its share of the topics.
    """
    model = small.topics[0]
    each = partitions // topics
    made = tuple(
        replace(model, name=f"team-{number // 10:02d}.events-{number:03d}", partitions=each)
        for number in range(topics)
    )
    names = [topic.name for topic in made]
    group = next(consumer for consumer in small.consumers if consumer.kind == "group")
    consumers = tuple(
        replace(
            group,
            name=f"group-{number:04d}",
            topics=(names[number % topics],),
            principal=f"User:group-{number:04d}",
        )
        for number in range(groups)
    )
    queries = tuple(
        replace(consumer, topics=(names[0],)) for consumer in small.consumers if consumer.kind == "spark"
    )
    writers = tuple(
        replace(
            small.producers[0],
            name=f"producer-{number:03d}",
            topics=tuple(names[number::producers]),
            principal=f"User:producer-{number:03d}",
        )
        for number in range(producers)
    )
    return replace(
        small,
        topics=made,
        replication=tuple(replace(mirror, topics=tuple(names)) for mirror in small.replication),
        producers=writers,
        consumers=(*consumers, *queries),
    )
