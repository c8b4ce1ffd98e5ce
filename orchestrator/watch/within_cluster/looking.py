"""One reading after the other of a real cluster: whom to ask, and what its servers' ports do.

One broker at a time tells of the whole cluster. In KRaft mode it is one that follows the quorum's log, in
ZooKeeper mode the active controller, as long as it answers: a broker that is cut off goes on telling what it
knew. A second one is asked where the first is late, so that a broker that hangs costs no round.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Protocol

from orchestrator.errors import DcctlError
from orchestrator.ports.admin_values import Quorum
from orchestrator.ports.hosts import Listening
from orchestrator.ports.servers import SiteOf
from orchestrator.ports.told_metadata import MetadataTold, Tells
from orchestrator.topology.kinds import Metadata
from orchestrator.values import TopicPartition
from orchestrator.watch.within_cluster.asking import Asking, in_time
from orchestrator.watch.within_cluster.reading import FETCHES_WITHIN_S, Reading, ServerSeen

PROBE_TIMEOUT_S = 0.3
ANSWER_WITHIN_S = 0.8
# To connect, and once more for the answer: a dead server is told of within the round, not cut off by it.
_MODE_TIMEOUT_S = 0.4
_ROUND_S = 1.0
_HEDGE_S = 0.3
_WARM_UP_STEP_S = 2.0
# Reading the answer of a cluster with very many partitions takes longer than a broker may take to give it.
_HEDGE_ANSWERS, _PATIENCE_ANSWERS = 2, 4
# A voter that has not fetched for so long is down, or cut off; a broker that has not tells what it knew.
_FETCHED_S = 2.0
_ENSEMBLE_EVERY_S = 60.0
_ENSEMBLE_AGAIN_S = 5.0
# A broker that is away and has no replicas: so long it may be down, then it was taken out of the cluster.
_FORGOTTEN_AFTER_S = 600.0
_YES: Listening = "yes"


class Servers(Protocol):
    """What is asked beside brokers."""

    def listening(self, addresses: Iterable[str], timeout_s: float) -> Mapping[str, Listening]:
        """For each `host:port`: does it take a connection?"""

    def zookeepers(self) -> Mapping[int, str]:
        """Voters of the ensemble that brokers name, by id, with addresses for clients (empty where unknown).

        Raises `DcctlError`.
        """

    def zookeeper_mode(self, address: str, timeout_s: float) -> str | None:
        """See `adapters.ensemble.server_mode`."""


@dataclass(slots=True)
class _Known:
    """What is remembered between readings: addresses and sites, and who told last.

    `ports`: None for one that was asked and has not answered in time, as where a name is not resolved.
    `answers_s`: how long brokers took of late to tell of the cluster, until that was read.
    """

    brokers: dict[int, str] = field(default_factory=dict)
    sites: dict[int, str] = field(default_factory=dict)
    voters: dict[int, str] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    ports: dict[str, Listening | None] = field(default_factory=dict)
    answers_s: deque[float] = field(default_factory=lambda: deque(maxlen=3))
    teller: str = ""
    fresh: frozenset[int] = frozenset()
    ensemble_due_s: float = 0.0
    elr_is_told: bool = True
    unused_since_s: dict[int, float] = field(default_factory=dict)


class Looking:
    """See above. `look` takes at most about a second, whatever answers; longer where answers are long.

    `site_of`: at which site the broker of a rack is; see `Cluster.site_of`. To be closed.
    """

    def __init__(
        self,
        tells: Tells,
        servers: Servers,
        bootstrap: Iterable[str],
        mode: Metadata,
        now_s: Callable[[], float] = time.time,
        *,
        site_of: SiteOf,
    ) -> None:
        self._tells, self._servers, self._mode, self._now_s = tells, servers, mode, now_s
        self._site_of = site_of
        self._bootstrap = tuple(bootstrap)
        self._known = _Known(ports=dict.fromkeys(self._bootstrap, _YES))
        # Names of servers beside brokers may take long to resolve: that keeps no broker from being asked.
        self._brokers_asked, self._asked = Asking("look-broker"), Asking("look")
        self._ensemble: Future[Mapping[int, str]] | None = None

    def remember(self, sites: Mapping[int, str]) -> None:
        """Sites of brokers that are down as the watcher begins, from who watched before."""
        self._known.sites |= sites

    def close(self) -> None:
        """Wait for nothing that is under way."""
        self._brokers_asked.close()
        self._asked.close()
        self._tells.close()

    def warm_up(self, within_s: float, is_stopped: Callable[[], bool] = lambda: False) -> bool:
        """Connect, so that the first reading is not taken for a silence. Whether a broker has answered.

        Nothing is raised.
        """
        until = time.monotonic() + within_s
        while (answer := self._told(min(within_s, _WARM_UP_STEP_S))[0]) is None:
            if is_stopped() or time.monotonic() > until:
                return False
            time.sleep(_HEDGE_S)
        # Once more over lines that are open: how long an answer takes.
        self._told(max(0.0, until - time.monotonic()))
        if self._mode == "kraft" and (quorum := self._question("quorum")) is not None:
            wait([quorum], timeout=max(0.0, until - time.monotonic()))
        return answer is not None

    def look(self) -> Reading:
        """One reading. Raises nothing: what is not told is not in it."""
        known, begun_at_s = self._known, self._now_s()
        addresses = {*known.brokers.values()}
        if self._mode == "kraft":
            addresses |= {address for address in known.voters.values() if address}
        patience_s = max(ANSWER_WITHIN_S, _PATIENCE_ANSWERS * self._answer_s())
        until = time.monotonic() + max(_ROUND_S, patience_s)
        ports = {at: self._asked.ask("port", at, self._port) for at in sorted(addresses)}
        quorum = self._question("quorum") if self._mode == "kraft" else None
        modes = self._zookeeper_modes() if self._mode == "zookeeper" else {}
        told, teller, problem = self._told(patience_s)
        answered: dict[str, Listening] = in_time(ports, until)
        known.ports = {**dict.fromkeys(self._bootstrap, _YES), **dict.fromkeys(addresses), **answered}
        if told is None:
            if self._mode == "zookeeper":
                voters = self._zookeepers(in_time(modes, until))
            else:
                voters = self._voters(None, begun_at_s)
            return Reading(
                begun_at_s=begun_at_s,
                ended_at_s=self._now_s(),
                problem=problem,
                brokers=self._brokers(),
                sites=dict(known.sites),
                voters=voters,
            )
        seen_at_s = self._now_s()
        known.brokers |= {number: broker.address for number, broker in told.brokers.items()}
        sites = {number: self._site_of(broker.rack) for number, broker in told.brokers.items()}
        known.sites |= {number: site for number, site in sites.items() if site}
        self._forget(told)
        ids = {broker.address: number for number, broker in told.brokers.items()}
        unasked: list[str] = []
        controller_at_s = seen_at_s
        if self._mode == "kraft":
            controller, epoch, voters = self._by_quorum(quorum, begun_at_s, unasked, until)
            controller_at_s = self._now_s()
        else:
            controller, epoch = self._zookeeper_controller(told), -1
            voters = self._zookeepers(in_time(modes, until))
        return Reading(
            begun_at_s=begun_at_s,
            ended_at_s=seen_at_s,
            controller_at_s=controller_at_s,
            told_by=ids.get(teller, -1),
            cluster_id=told.cluster_id,
            registered=frozenset(told.brokers),
            brokers=self._brokers(),
            sites=dict(known.sites),
            voters=voters,
            controller=controller,
            controller_epoch=epoch,
            partitions=told.partitions,
            eligible=self._eligible(teller, told, unasked, until),
            unasked=tuple(unasked),
        )

    def _forget(self, told: MetadataTold) -> None:
        """Brokers that belong to the cluster no more."""
        used = told.brokers.keys() | {n for one in told.partitions.values() for n in one.replicas}
        since, now_s = self._known.unused_since_s, time.monotonic()
        for number in used & since.keys():
            del since[number]
        for number in self._known.brokers.keys() - used:
            if now_s - since.setdefault(number, now_s) > _FORGOTTEN_AFTER_S:
                del self._known.brokers[number], since[number]

    def _by_quorum(
        self, asked: Future[Quorum] | None, begun_at_s: float, unasked: list[str], until: float
    ) -> tuple[str, int, dict[str, ServerSeen]]:
        """The active controller, its epoch, and the voters."""
        nothing: tuple[Quorum | None, str] = None, "earlier questions are not answered yet"
        found, why = nothing if asked is None else self._late(asked, until)
        if found is None or found.leader_id < 0:
            unasked.append(f"metadata quorum: {why or 'knows no leader'}")
            return "", -1, self._voters(None, begun_at_s)
        self._known.voters |= {voter.node_id: "" for voter in found.voters} | dict(found.addresses)
        return f"controller {found.leader_id}", found.leader_epoch, self._voters(found, begun_at_s)

    def _order(self) -> list[str]:
        """Whom to ask, the best first: who told last, if it still may; then all that take connections."""
        known = self._known
        ids = {address: number for number, address in known.brokers.items()}
        first = [known.teller] if known.teller else []
        every = dict.fromkeys([*first, *known.brokers.values(), *self._bootstrap])

        def rank(address: str) -> tuple[bool, bool]:
            is_stale = bool(known.fresh) and ids.get(address, -1) not in known.fresh
            return known.ports.get(address, "yes") != "yes", is_stale

        return sorted(every, key=rank)

    def _answer_s(self) -> float:
        """How long it takes a broker to tell of the cluster, and this to be read; 0 where none has yet."""
        return min(self._known.answers_s, default=0.0)

    def _metadata(self, address: str) -> MetadataTold:
        """What the broker tells; how long that took counts also where it is late."""
        begun = time.monotonic()
        told = self._tells.metadata(address)
        self._known.answers_s.append(time.monotonic() - begun)
        return told

    def _port(self, address: str) -> Listening:
        return self._servers.listening((address,), PROBE_TIMEOUT_S)[address]

    def _mode_of(self, address: str) -> str | None:
        return self._servers.zookeeper_mode(address, _MODE_TIMEOUT_S)

    def _told(self, within_s: float) -> tuple[MetadataTold | None, str, str]:
        """Metadata, who told it, or why nobody did."""
        until = time.monotonic() + within_s
        asked: dict[Future[MetadataTold], str] = {}
        late = problem = f"no broker has answered within {within_s:.2g} s"
        order, hedge_s = self._order(), max(_HEDGE_S, _HEDGE_ANSWERS * self._answer_s())
        while True:
            left_s = until - time.monotonic()
            if left_s <= 0 or not (order or asked):
                return None, "", late if asked else problem
            if order and (future := self._brokers_asked.ask("metadata", order[0], self._metadata)):
                asked[future] = order[0]
            order = order[1:]
            done, _ = wait(
                asked, timeout=min(hedge_s if order else left_s, left_s), return_when="FIRST_COMPLETED"
            )
            for future in done:
                address = asked.pop(future)
                try:
                    told = future.result()
                except DcctlError as error:
                    problem = f"{error.subject}: {error.problem}"
                    continue
                self._known.teller = self._next_teller(address, told)
                return told, address, ""

    def _next_teller(self, address: str, told: MetadataTold) -> str:
        """In ZooKeeper mode the active controller: it knows first what it decides."""
        if self._mode == "zookeeper" and told.controller in told.brokers:
            return told.brokers[told.controller].address
        return address

    def _question(self, kind: str) -> Future[Quorum] | None:
        for address in self._order()[:3]:
            if future := self._brokers_asked.ask(kind, address, self._tells.quorum):
                return future
        return None

    @staticmethod
    def _late(future: Future[Quorum], until: float) -> tuple[Quorum | None, str]:
        try:
            return future.result(max(0.0, until - time.monotonic())), ""
        except TimeoutError:
            return None, "no answer in time"
        except DcctlError as error:
            return None, error.problem

    def _brokers(self) -> dict[int, ServerSeen]:
        return {number: ServerSeen(self._takes(address)) for number, address in self._known.brokers.items()}

    def _takes(self, address: str) -> bool | None:
        found = self._known.ports.get(address)
        return None if found is None else found == "yes"

    def _voters(self, quorum: Quorum | None, now_s: float) -> dict[str, ServerSeen]:
        """KRaft voters: by their ports where these have ever been reached, and by when they fetched last."""
        known = self._known
        fetched: dict[int, float | None] = {}
        if quorum is not None:
            members = (*quorum.voters, *quorum.observers)
            known.fresh = frozenset(v.node_id for v in members if quorum.is_heard(v, _FETCHED_S))
            fetched = {v.node_id: quorum.age_s(v) for v in quorum.voters}
            for number in known.voters.keys() - fetched.keys():
                del known.voters[number]
        found: dict[str, ServerSeen] = {}
        for number, address in sorted(known.voters.items()):
            takes, age_s = self._takes(address), fetched.get(number)
            if takes:
                known.answered.add(address)
            if address in known.answered and takes is not None and (not takes or age_s is None):
                found[f"controller {number}"] = ServerSeen(takes)
            elif age_s is None:
                found[f"controller {number}"] = ServerSeen(None)
            else:
                since_s = now_s - age_s
                down_since = (since_s, since_s + FETCHES_WITHIN_S) if age_s > _FETCHED_S else None
                found[f"controller {number}"] = ServerSeen(age_s <= _FETCHED_S, down_since)
        return found

    def _zookeeper_modes(self) -> dict[int, Future[str | None] | None]:
        """Each server is asked; who belongs to the ensemble is looked up now and then."""
        known = self._known
        if self._ensemble is not None and self._ensemble.done():
            found = in_time({"": self._ensemble}, 0.0).get("", {})
            # Brokers that are down do not tell which servers of the ensemble they know.
            before = known.voters
            known.voters = {n: at or before.get(n, "") for n, at in found.items()} or before
            known.ensemble_due_s = time.monotonic() + (_ENSEMBLE_EVERY_S if found else _ENSEMBLE_AGAIN_S)
            self._ensemble = None
        if self._ensemble is None and time.monotonic() >= known.ensemble_due_s:
            self._ensemble = self._asked.ask("ensemble", "", lambda _: self._servers.zookeepers())
        return {
            number: self._asked.ask("mode", address, self._mode_of)
            for number, address in known.voters.items()
            if address
        }

    def _zookeepers(self, modes: Mapping[int, str | None]) -> dict[str, ServerSeen]:
        """Up is who answers, also where it serves nobody for want of a quorum; not all are known.

        `modes`: what was answered in time, or told within that time to be no answer.
        """
        return {
            f"zookeeper {number}": ServerSeen(modes[number] is not None if number in modes else None)
            for number in sorted(self._known.voters)
        }

    def _zookeeper_controller(self, told: MetadataTold) -> str:
        """Empty where it is down: nobody else is it before the ensemble has said so."""
        if told.controller not in told.brokers or self._takes(told.brokers[told.controller].address) is False:
            return ""
        return f"broker {told.controller}"

    def _eligible(
        self, teller: str, told: MetadataTold, unasked: list[str], until: float
    ) -> dict[TopicPartition, tuple[int, ...]]:
        """Of topics with a replica that is not in sync: others have none."""
        topics = {tp.topic for tp, one in told.partitions.items() if len(one.isr) < len(one.replicas)}
        if not topics or self._mode != "kraft" or not self._known.elr_is_told:
            return {}
        future = self._brokers_asked.ask(
            "eligible", teller, lambda address: self._tells.eligible(address, topics)
        )
        if future is None:
            unasked.append("eligible leader replicas: an earlier question is not answered yet")
            return {}
        try:
            return future.result(max(0.0, until - time.monotonic()))
        except TimeoutError:
            unasked.append("eligible leader replicas: no answer in time")
        except DcctlError as error:
            self._known.elr_is_told = "UnsupportedVersion" not in (getattr(error, "code", ""))
            unasked.append(f"eligible leader replicas: {error.problem}")
        return {}
