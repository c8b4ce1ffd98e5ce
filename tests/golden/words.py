"""What a story says happens to the estate, sentence by sentence.

`lose west`, `mirror lags 5`, `client east producer-checkout runs`: each sentence is of one form, found by its
regular expression in `SENTENCES`. The forms speak of sites, brokers, logs, groups and clients; how the estate
in memory is told so stands in their functions, and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from orchestrator.runs.live.holds import HOLDS_PATH
from orchestrator.values import Acl, TopicPartition
from tests.twin.connect import Connector
from tests.twin.estate import TwinEstate
from tests.twin.record import Entry

Told = Callable[..., None]
SENTENCES: list[tuple[re.Pattern[str], Told]] = []
_FOREVER_S = 1e9


def tell(estate: TwinEstate, sentence: str) -> None:
    """Let happen what a sentence says. Raises `ValueError` for one of no known form."""
    for form, told in SENTENCES:
        match = form.fullmatch(sentence)
        if match is not None:
            told(estate, *match.groups())
            return
    raise ValueError(f"no sentence of a story: {sentence}")


def _says(form: str) -> Callable[[Told], Told]:
    def add(told: Told) -> Told:
        SENTENCES.append((re.compile(form), told))
        return told

    return add


@_says(r"(?:work|wait) ([\d.]+)")
def _wait(estate: TwinEstate, seconds: str) -> None:
    estate.live(float(seconds))


@_says(r"lose (\w+)( silently)?")
def _lose(estate: TwinEstate, dc: str, silently: str | None) -> None:
    estate.lose(dc, "silent" if silently else "gone")


@_says(r"(\w+) returns(, its applications off)?")
def _return(estate: TwinEstate, dc: str, are_off: str | None) -> None:
    estate.bring_back(dc, applications=are_off is None)


@_says(r"guards stand beside (\w+)")
def _guards(estate: TwinEstate, cluster: str) -> None:
    estate.guard(cluster)


@_says(r"(\w+) loses the last (\d+) records of (\S+)-(\d+)")
def _cut(estate: TwinEstate, cluster: str, count: str, topic: str, partition: str) -> None:
    tp = TopicPartition(topic, int(partition))
    log = estate.clusters[cluster].log(tp)
    assert log is not None
    estate.clusters[cluster].cut(tp, log.end - int(count))


@_says(r"(\w+) purges (\S+)-(\d+) up to (\d+)")
def _purge(estate: TwinEstate, cluster: str, topic: str, partition: str, start: str) -> None:
    log = estate.clusters[cluster].log(TopicPartition(topic, int(partition)))
    assert log is not None
    assert log.end >= int(start)
    log.start = int(start)


@_says(r"brokers? ([\d, ]+) at (\w+) (gone|silent|up)")
def _brokers(estate: TwinEstate, numbers: str, cluster: str, state: str) -> None:
    estate.clusters[cluster].set_brokers(state, *_numbers(numbers))  # type: ignore[arg-type]


@_says(r"controllers? ([\d, ]+) at (\w+) (gone|silent|up)")
def _controllers(estate: TwinEstate, numbers: str, cluster: str, state: str) -> None:
    estate.clusters[cluster].set_controllers(state, *(100 + n for n in _numbers(numbers)))  # type: ignore[arg-type]


@_says(r"Connect (gone|silent|up)")
def _connect(estate: TwinEstate, state: str) -> None:
    for workers in estate.workers.values():
        workers.state = state  # type: ignore[assignment]


@_says(r"mirror lags ([\d.]+)")
def _lag(estate: TwinEstate, seconds: str) -> None:
    for workers in estate.workers.values():
        workers.lag_s = float(seconds)


@_says(r"mirror (stands|is stopped|goes on|in transactions)")
def _mirror(estate: TwinEstate, what: str) -> None:
    for workers in estate.workers.values():
        workers.in_transactions |= what == "in transactions"
        for connector in workers.connectors.values():
            _set(connector, what)


def _set(connector: Connector, what: str) -> None:
    if connector.plugin == "MirrorSourceConnector":
        connector.failed_task = what == "stands"
        connector.state = "STOPPED" if what == "is stopped" else "RUNNING"


@_says(r"connector (\S+) is gone")
def _no_connector(estate: TwinEstate, name: str) -> None:
    for workers in estate.workers.values():
        workers.connectors.pop(name, None)


@_says(r"ensemble (gone|up)")
def _ensemble(estate: TwinEstate, state: str) -> None:
    estate.ensemble.is_gone = state == "gone"


@_says(r"another holds the lock")
def _locked(estate: TwinEstate) -> None:
    estate.ensemble.acquire(f"/dcctl/{estate.topology.name}/lock", {"who": "bob", "host": "elsewhere"})


@_says(r"the lock is lost")
def _lock_lost(estate: TwinEstate) -> None:
    estate.ensemble.lose_locks()


@_says(r"eve holds (\S+)")
def _held(estate: TwinEstate, scope: str) -> None:
    estate.hold(scope, "a fair")


@_says(r"eve releases (\S+)")
def _released(estate: TwinEstate, scope: str) -> None:
    del estate.ensemble.nodes[f"{HOLDS_PATH}/{scope}"]


@_says(r"watcher (stops|goes on|sees no writers)")
def _watcher(estate: TwinEstate, what: str) -> None:
    for watcher in estate.watchers:
        watcher.is_running = what != "stops"
        watcher.is_looking_at_writers = what != "sees no writers"


@_says(r"(\w+) has no topic (\S+)")
def _no_topic(estate: TwinEstate, cluster: str, topic: str) -> None:
    del estate.clusters[cluster].topics[topic]


@_says(r"(\w+) makes topic (\S+) anew")
def _anew(estate: TwinEstate, cluster: str, topic: str) -> None:
    place = estate.clusters[cluster]
    old = place.topics.pop(topic)
    place.create_topic(topic, len(old.logs), len(old.logs[0].replicas), old.config)
    # With a topic go the positions in it.
    for group in place.groups.values():
        group.offsets = {tp: at for tp, at in group.offsets.items() if tp.topic != topic}
    for client in estate.applications.clients.values():
        client.positions = {tp: at for tp, at in client.positions.items() if tp.topic != topic}


@_says(r"client (\w+) (\S+) (runs|stops|at [\d.]+/s|at any speed)")
def _client(estate: TwinEstate, dc: str, name: str, what: str) -> None:
    client = estate.applications.clients[dc, name]
    if what in ("runs", "stops"):
        estate.applications.set_running(client, what == "runs", estate.crew.now_s)
    else:
        client.rate_per_s = None if what == "at any speed" else float(what[3:-2])


@_says(r"hosts of (\w+) (gone|up)")
def _hosts(estate: TwinEstate, dc: str, state: str) -> None:
    estate.applications.reach[dc] = state  # type: ignore[assignment]


@_says(r"group (\S+) at (\w+) forgets (\S+)")
def _forget(estate: TwinEstate, group: str, cluster: str, topic: str) -> None:
    known = estate.clusters[cluster].group(group)
    known.offsets = {tp: at for tp, at in known.offsets.items() if topic not in (tp.topic, "everything")}


@_says(r"group (\S+) at (\w+) has a member")
def _member(estate: TwinEstate, group: str, cluster: str) -> None:
    estate.clusters[cluster].group(group).members["stranger"] = ()


@_says(r"(\w+) (denies|allows) (\S+) to (\w+) (topic|group) (\S+)")
def _rule(  # noqa: PLR0917 - the words of the sentence
    estate: TwinEstate, cluster: str, permission: str, principal: str, operation: str, kind: str, name: str
) -> None:
    denial: Any = "DENY" if permission == "denies" else "ALLOW"
    what: Any = kind.upper()
    estate.clusters[cluster].acls.add(Acl(principal, operation.upper(), denial, what, name))


@_says(r"(\w+) has no authorizer")
def _open(estate: TwinEstate, cluster: str) -> None:
    estate.clusters[cluster].authorizer = ""


@_says(r"(\S+) is a super user at (\w+)")
def _super(estate: TwinEstate, principal: str, cluster: str) -> None:
    estate.clusters[cluster].super_users |= {principal}


@_says(r"(\w+) is another cluster")
def _another(estate: TwinEstate, cluster: str) -> None:
    estate.clusters[cluster].cluster_id = f"another-{cluster}"


@_says(r"dcctl dies after record (\d+)")
def _dies_at(estate: TwinEstate, number: str) -> None:
    left = int(number)

    def is_it(entry: Entry) -> bool:
        nonlocal left
        left -= entry.kind == "journal"
        return left == 0

    estate.record.harm_where(is_it, "dies after")


@_says(r"(.+) (dies before|dies after|fails|is lost|is done unheard)")
def _harm(estate: TwinEstate, doing: str, harm: Any) -> None:
    """Every doing to come whose words begin so: `deny west`, `start client east producer checkout fails`."""

    def is_it(entry: Entry) -> bool:
        said = f"{entry.verb} {entry.object}: {entry.value}"
        return entry.kind == "do" and said.startswith(doing)

    estate.record.harm_where(is_it, harm)


@_says(r"all is well")
def _heal(estate: TwinEstate) -> None:
    estate.record.heal()


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.replace(",", " ").split()]
