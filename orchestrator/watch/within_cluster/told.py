"""What the watchers of a cluster have told, for `status` and `history`: words with ages, events once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.errors import DcctlError
from orchestrator.runs.live.servers import Servers
from orchestrator.snapshot.watcher_records import age_s
from orchestrator.topology.model import Topology
from orchestrator.verbs.live.real_servers import REAL_SERVERS
from orchestrator.watch.within_cluster.said import (
    WatcherSaid,
    decode,
    event_as_json,
    events_path,
    in_words,
    main_sites,
    said_path,
)
from orchestrator.watch.within_cluster.story import Event

OLD_S = 5.0
"""A watcher says something each two seconds at least: what is older is not what holds now."""
# Watchers at several sites see the same thing in different rounds.
_SAME_S = 3.0
_EVENTS = 20


class Seen(NamedTuple):
    """One event, and at which sites watchers have told of it."""

    event: Event
    sites: tuple[str, ...]
    as_of_s: float

    def as_json(self, now_s: float) -> dict[str, Any]:
        """As `status --json` and `history --json` print it. `seconds`: up to the newest word on it.

        `goes_on` is null where that word is too old to tell, or was dated by a clock that is ahead.
        """
        word_s = age_s(now_s, self.as_of_s)
        is_old = word_s is None or word_s > OLD_S
        return {
            **event_as_json(self.event),
            "goes_on": False if self.event.ended else None if is_old else True,
            "seconds": self.event.seconds(self.as_of_s),
            "said": in_words(self.event, self.as_of_s),
            "seen_from": list(self.sites),
        }


def words_of(coordination: Coordination, topology: str, cluster: str) -> dict[str, WatcherSaid | None]:
    """The newest word of the watcher at each site; None for one that this version cannot read."""
    place = said_path(topology, cluster)
    return {
        site: decode(value, coordination.read(events_path(f"{place}/{site}")) or b"")
        for site, value in coordination.read_children(place).items()
    }


def merged(words: Iterable[WatcherSaid]) -> list[Seen]:
    """The events of all watchers, each once, in the order in which they began."""
    found: list[Seen] = []
    rows = [(event, said) for said in words for event in (*said.ended, *said.going_on)]
    for event, said in sorted(rows, key=lambda row: row[0].begun.by_s):
        at = next((at for at, seen in enumerate(found) if _is_same(seen, event, said.site)), None)
        as_of_s = said.seen.at_s
        if at is None:
            found.append(Seen(event, (said.site,), as_of_s))
            continue
        known = found[at]
        # Who has seen the end knows more than who has not, as one that was lost itself.
        kept = event if known.event.ended is None and event.ended is not None else known.event
        kept = replace(kept, begun=known.event.begun)
        found[at] = Seen(kept, (*known.sites, said.site), max(known.as_of_s, as_of_s))
    return found


def _is_same(seen: Seen, event: Event, site: str) -> bool:
    is_near = abs(seen.event.begun.by_s - event.begun.by_s) <= _SAME_S
    return seen.event.key == event.key and site not in seen.sites and is_near


def watchers_told(
    topology: Topology, cluster: str, words: Mapping[str, WatcherSaid | None], now_s: float
) -> list[dict[str, Any]]:
    """One row for each site that has brokers. `problem`: why what its watcher says does not hold now."""
    rows = []
    for site in main_sites(topology, cluster):
        said = words.get(site)
        at_s = None if said is None else age_s(now_s, said.seen.at_s)
        row: dict[str, Any] = {"site": site, "age_s": at_s, "problem": "", "unasked": []}
        if said is None:
            known = site in words
            row["problem"] = "another version has written it" if known else "none has ever run"
        elif at_s is None:
            row["problem"] = "its clock is ahead of this machine's"
        elif at_s > OLD_S:
            row["problem"] = "it is silent"
        elif said.seen.told_by is None:
            row["problem"] = f"no broker tells it anything: {said.seen.problem}"
        if said is not None:
            row |= {"host": said.host, "watcher": said.watcher, "told_by": said.seen.told_by}
            row |= {"controller": said.seen.controller, "unasked": list(said.seen.unasked)}
            row["down"] = [f"broker {n}" for n, is_up in said.seen.brokers.items() if is_up is False]
            row["down"] += [name for name, is_up in said.seen.voters.items() if is_up is False]
        rows.append(row)
    return rows


def told_of(topology: Topology, cluster: str, *, servers: Servers = REAL_SERVERS) -> dict[str, Any]:
    """`watchers` and `events` (the newest, the last one last); null where the ensemble does not answer."""
    try:
        words = _read(topology, cluster, servers)
    except DcctlError as error:
        return {"watchers": None, "events": None, "watchers_problem": f"{error.subject}: {error.problem}"}
    now_s, events = servers.clock.now_s(), merged(said for said in words.values() if said is not None)
    return {
        "watchers": watchers_told(topology, cluster, words, now_s),
        "events": [seen.as_json(now_s) for seen in events[-_EVENTS:]],
        "watchers_problem": "",
    }


def watched_rows(topology: Topology, *, servers: Servers = REAL_SERVERS) -> list[dict[str, Any]]:
    """Every event that watchers still know of, for `history`; none of a file that has mirrors."""
    if not topology.is_one_cluster:
        return []
    (cluster,) = topology.clusters
    words = _read(topology, cluster, servers)
    events = merged(said for said in words.values() if said is not None)
    now_s = servers.clock.now_s()
    return [
        {"at_s": seen.event.begun.by_s, "cluster": cluster, "watched": seen.as_json(now_s)} for seen in events
    ]


def _read(topology: Topology, cluster: str, servers: Servers) -> dict[str, WatcherSaid | None]:
    coordination = servers.coordination(topology)
    coordination.open()
    try:
        return words_of(coordination, topology.name, cluster)
    finally:
        coordination.close()
