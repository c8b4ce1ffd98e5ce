"""Topics that an application shares once it has moved: its producers write there, and others do too. Pure.

Under the default policy a producer that has moved writes the topic of the same name there: the landing
topic. A consumer that has moved reads the copy of what was written at its home, and the landing topic. Where
others write the landing topic, their records stand there as well.
"""

from __future__ import annotations

from orchestrator.topology.flows import Consumer
from orchestrator.topology.model import Topology
from orchestrator.topology.standby import standby_of

_ONE_SIDE_WRITES = frozenset({"active-passive"})


def shared_landings(topology: Topology, consumer: Consumer) -> tuple[str, ...]:
    """Landing topics of a consumer, once it has moved, with records of others that it does not read at home.

    Of these the file has to say whose the new records are (`landing`). None are where it reads the others'
    records at its home already, as a copy: it reads each record once, wherever it works.
    """
    entered = standby_of(topology, consumer)
    if entered is None or topology.is_laid_out(_ONE_SIDE_WRITES):
        return ()
    read = frozenset(topology.topics_read(consumer))
    return tuple(
        name
        for name in topology.topics_read(consumer)
        if _is_copied(topology, name, consumer.cluster, entered)
        and topology.topic(name, entered) is not None
        and _is_written_there(topology, name, consumer.cluster, entered)
        and copy_at_home(topology, name, consumer.cluster, entered) not in read
    )


def copy_at_home(topology: Topology, name: str, home: str, entered: str) -> str | None:
    """What the topic of this name at the other cluster is called at home; None where no mirror copies it."""
    back = topology.mirror(entered, home)
    return None if back is None or name not in back.topics else back.mirrored_topic(name)


def _is_copied(topology: Topology, name: str, home: str, entered: str) -> bool:
    """Whether a topic that is produced at home has a copy there, under another name."""
    forward = topology.mirror(home, entered)
    return (
        topology.topic(name, home) is not None
        and forward is not None
        and name in forward.topics
        and forward.mirrored_topic(name) != name
    )


def _is_written_there(topology: Topology, name: str, home: str, entered: str) -> bool:
    """Whether a topic's producers go to the same cluster; a file that names none does not know them."""
    producers = [producer for producer in topology.producers_of(home) if name in producer.topics]
    return not producers or any(standby_of(topology, producer) == entered for producer in producers)
