"""Services of servers at a lost site: stopped and disabled where hosts answer, and as they were again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic.dataclasses import dataclass

from orchestrator.ports.services import ServiceHosts, ServicesSeen, ServiceState
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Nothing,
    Outcome,
    Partial,
    Reversible,
    Running,
    Unknown,
)
from orchestrator.runs.facts_within_clusters import QuorumForced, ServicesStarted, ServicesStopped
from orchestrator.runs.ports import EstateRecord
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.wording import listed, plural


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class StopServices(
    Reversible,
    Effect[Nothing],
    name="stop-services",
    phase="fence",
    expected_s=3.0,
    timeout_s=120.0,
):
    """Stop and disable what hosts of lost sites still run, once it is recorded how each service was.

    A host that does not answer is named, and is as it was attested to be: down.
    """

    cluster: str
    sites: tuple[str, ...]

    @property
    def title(self) -> str:
        """See `Effect`."""
        where = listed(self.sites)
        return f"Stop and disable services of {self.cluster} at those hosts of {where} that answer"

    def perform(self, run: Running) -> Outcome[Nothing]:
        """Look first: what runs no more, and is disabled, is not touched; what was recorded stays so."""
        record, hosts = run.port(EstateRecord), run.port(ServiceHosts)
        seen = hosts.look(self.sites, name=f"look-{run.step_id}")
        known = record.find(ServicesStopped, like=self._fact({}))
        before = {**seen.services, **(known.before if known else {})}
        if before:
            record.write(self._fact(before))
        at_work = {server: its for server, its in seen.services.items() if not its.is_off}
        after = hosts.stop(at_work, name=run.step_id) if at_work else ServicesSeen({}, {})
        still = sorted(server for server, its in after.services.items() if not its.is_off)
        unclear = sorted(at_work.keys() - after.services.keys())
        if still:
            told = silent_in_words(after, seen, taken_for=_ATTESTED)
            return Partial(f"not stopped and disabled: {listed(still)}{told}; stop them there")
        if unclear:
            told = silent_in_words(after, seen, taken_for=_ATTESTED)
            return Unknown(f"whether they were stopped is not known: {listed(unclear)}{told}")
        return Done(Nothing(), _said(before, at_work) + silent_in_words(seen, taken_for=_ATTESTED))

    def undo(self, run: Running) -> Outcome[Nothing]:
        """Before the site is let on. Where a change of the quorum stands, failback ends both."""
        record = run.port(EstateRecord)
        known = record.find(ServicesStopped, like=self._fact({}))
        if known is None:
            return Done(Nothing(), "no service was stopped")
        if record.find(QuorumForced) is not None:
            return Done(Nothing(), f"they stay stopped: the change of the quorum of {self.cluster} stands")
        after, wrong = as_before(run, known.before, f"undo-{run.step_id}")
        leaving = self._fact({server: known.before[server] for server in wrong}) if wrong else None
        record.withdraw(ServicesStopped, like=self._fact({}), leaving=leaving)
        done = sorted(known.before.keys() - set(wrong))
        if not wrong:
            return Done(Nothing(), f"as before: {listed(done)}")
        said = f"as before: {listed(done) or 'none'}; still stopped: {listed(wrong)}, until the next failback"
        return Done(Nothing(), said + silent_in_words(after))

    def _fact(self, before: Mapping[str, ServiceState]) -> ServicesStopped:
        return ServicesStopped(cluster=self.cluster, before=before)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class StartServices(
    Effect[Nothing],
    name="start-services",
    phase="redirect",
    expected_s=3.0,
    timeout_s=120.0,
    stays="they are servers of a cluster that goes on",
):
    """Services are enabled and run again, if they were and did before a run stopped them.

    One whose host cannot be reached, or that does not start, stays recorded for the next failback: it keeps
    none of the others away.
    """

    cluster: str
    services: dict[str, ServiceState]

    @property
    def title(self) -> str:
        """See `Effect`."""
        return f"Enable and start services of {self.cluster} as they were: {listed(sorted(self.services))}"

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        after, wrong = as_before(run, self.services, run.step_id)
        run.port(EstateRecord).write(ServicesStarted(cluster=self.cluster, but_for=tuple(wrong)))
        done = sorted(self.services.keys() - set(wrong))
        said = f"as before: {listed(done)}" if done else "no host answers"
        said += f"; still stopped: {listed(wrong)}, until the next failback" if wrong else ""
        return Done(Nothing(), said + silent_in_words(after))


def as_before(
    run: Running, services: Mapping[str, ServiceState], name: str
) -> tuple[ServicesSeen, list[str]]:
    """What was seen then, and what is not as it was. What was off before is left alone."""
    wanted = {server: its for server, its in services.items() if not its.is_off}
    after = run.port(ServiceHosts).start(wanted, name=name) if wanted else ServicesSeen({}, {})
    return after, sorted(
        server for server, its in wanted.items() if not _is_like(after.services.get(server), its)
    )


def _is_like(now: ServiceState | None, before: ServiceState) -> bool:
    if now is None:
        return False
    return now.is_running >= before.is_running and bool(now.is_enabled) >= bool(before.is_enabled)


def _said(before: Mapping[str, ServiceState], stopped: Mapping[str, ServiceState]) -> str:
    if not before:
        return "no host tells of a service"
    if not stopped:
        return f"off already: {listed(sorted(before))}"
    said = f"{plural(len(stopped), 'service')} stopped and disabled: {listed(sorted(stopped))}"
    if kept := sorted(server for server, its in stopped.items() if its.is_enabled is None):
        said += f"; {listed(kept)} cannot be disabled there: their guards keep them off"
    return said


_ATTESTED = "attested to be down"


def silent_in_words(*seen: ServicesSeen, taken_for: str = "") -> str:
    """Who does not tell, and why: as a part of a sentence. `taken_for`: what holds of it in any case."""
    problems = {host: problem for one in reversed(seen) for host, problem in one.problems.items()}
    unreachable = {host for one in seen for host in one.unreachable}
    known = f": {taken_for}" if taken_for else ""
    rows = []
    for host, problem in sorted(problems.items()):
        what = "does not answer" if host in unreachable else "does not tell of services"
        rows.append(f"; {host} {what}{known} ({problem})")
    return "".join(rows)


def servers_at(seen: Snapshot, sites: Sequence[str]) -> tuple[str, ...]:
    """The servers that hosts at these sites have, by the inventory."""
    hosts = [host for host in seen.inventory.value or () if host.dc in sites]
    return tuple(sorted({server for host in hosts for server in host.servers}))


def why_nobody_is_asked(seen: Snapshot, sites: Sequence[str]) -> str:
    """Why no host is to stop services; empty where some are asked."""
    if servers_at(seen, sites):
        return ""
    if seen.inventory.value is None:
        return f"the hosts of {listed(sites)} are not known ({seen.inventory.problem})"
    return f"the inventory names no servers at {listed(sites)}"


def stopped_of(seen: Snapshot, cluster: str) -> Mapping[str, ServiceState]:
    """Services that a run has stopped, and that nobody has started since: how each was before."""
    return seen.coordination.value.services_stopped.get(cluster, {}) if seen.coordination.value else {}


def startable(seen: Snapshot, cluster: str) -> dict[str, ServiceState]:
    """All of these, if a host of one answers; none where nobody would start anything."""
    stopped, told = stopped_of(seen, cluster), seen.cluster(cluster).services.value
    return dict(stopped) if told is not None and stopped.keys() & told.services.keys() else {}


def returned_sites(seen: Snapshot, cluster: str) -> frozenset[str]:
    """Sites where a host answers that has such a service, or where a run has started them."""
    stopped, told = stopped_of(seen, cluster), seen.cluster(cluster).services.value
    answering = stopped.keys() & (told.services.keys() if told else set())
    started = seen.coordination.value.services_started.get(cluster, ()) if seen.coordination.value else ()
    return frozenset([*(stopped[server].site for server in answering), *started])
