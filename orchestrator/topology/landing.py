"""Topics that an application shares once it has moved: its producers write there, and others do too. Pure.

Under the default policy a producer that has moved writes the topic of the same name there: the landing
topic. A consumer that has moved reads the copy of what was written at its home, and the landing topic. Where
others write the landing topic, their records stand there as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from orchestrator.topology.counterparts import counterparts_read
from orchestrator.topology.flows import Consumer
from orchestrator.topology.model import Topology
from orchestrator.topology.standby import READ, standby_of

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
        for name in _landings(topology, consumer, entered)
        if topology.topic(name, entered) is not None
        and copy_at_home(topology, name, consumer.cluster, entered) not in read
    )


def topics_there(topology: Topology, consumer: Consumer) -> tuple[str, ...]:
    """What a consumer reads where it goes: counterparts, and landing topics that it shares with nobody or all
    of whose records it takes. Empty where it goes nowhere.
    """
    entered = standby_of(topology, consumer)
    if entered is None:
        return ()
    left = () if consumer.landing in (None, READ) else shared_landings(topology, consumer)
    landings = frozenset(_landings(topology, consumer, entered)).difference(left)
    found: dict[str, None] = {}
    for name, counterpart in counterparts_read(topology, consumer, entered):
        if counterpart is not None:
            found[counterpart.entered] = None
        if name in landings:
            found[name] = None
    return tuple(found)


def reads_landing(consumer: Consumer, name: str) -> bool:
    """Whether a consumer reads a topic of this name at its own cluster, once producers come there with it.

    The file has no such topic there, so a pattern is held against the name itself.
    """
    if name in consumer.topics:
        return True
    return consumer.pattern is not None and re.fullmatch(consumer.pattern, name) is not None


def landings_read(topology: Topology, consumer: Consumer) -> tuple[str, ...]:
    """Landing topics that a consumer of a centre reads there: producers come there with them, by the file."""
    if not topology.is_laid_out({"aggregation"}):
        return ()
    coming = (p for p in topology.producers if standby_of(topology, p) == consumer.cluster)
    names = dict.fromkeys(name for producer in coming for name in producer.topics)
    return tuple(
        name
        for name in names
        if topology.topic(name, consumer.cluster) is None and reads_landing(consumer, name)
    )


def copy_at_home(topology: Topology, name: str, home: str, entered: str) -> str | None:
    """What the topic of this name at the other cluster is called at home; None where no mirror copies it."""
    back = topology.mirror(entered, home)
    return back.mirrored_topic(name) if back and topology.is_mirrored(name, entered, home) else None


def _landings(topology: Topology, consumer: Consumer, entered: str) -> Iterator[str]:
    """Topics of its home that have a copy there under another name, and whose producers go there as well.

    A file that names no producer of a topic does not know where they go: there as well, it is taken.
    """
    home = consumer.cluster
    forward, goes = topology.mirror(home, entered), dict[str, bool]()
    for producer in topology.producers_of(home):
        is_going = standby_of(topology, producer) == entered
        goes |= {topic: is_going or goes.get(topic, False) for topic in producer.topics}
    if forward is None:
        return
    for name in topology.topics_read(consumer):
        is_copied = topology.topic(name, home) is not None and topology.is_mirrored(name, home, entered)
        if is_copied and forward.mirrored_topic(name) != name and goes.get(name, True):
            yield name
