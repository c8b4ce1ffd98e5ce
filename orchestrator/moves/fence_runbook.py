"""`fence` and `unfence`: their runbooks, and the plans made of them."""

from __future__ import annotations

from orchestrator.moves.cluster_plan import plan_of_cluster
from orchestrator.moves.fence import STANDSTILL_S, Fenced, FenceRequest, fenced
from orchestrator.moves.fence_gates import fence_gates, unfence_gates
from orchestrator.moves.fencing import DenyRules, LiftRules, RecordRules
from orchestrator.moves.standstill import AwaitNoWrites
from orchestrator.runs.hooks import HOOK_EFFECTS, hooks_around
from orchestrator.runs.plan import GateResult, Plan
from orchestrator.runs.registry import Registry
from orchestrator.runs.runbook import Runbook, behind
from orchestrator.runs.writers import denied_topics, opened_topics, writers_at
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Topology
from orchestrator.wording import listed

FENCE_EFFECTS = HOOK_EFFECTS | Registry(RecordRules, DenyRules, AwaitNoWrites, LiftRules)
"""Every effect that a plan of these verbs may name."""


def plan_fence(topology: Topology, seen: Snapshot, request: FenceRequest) -> Plan:
    """What fencing would do now, and which gates allow it: deny, and see that nothing is written any more."""
    cluster = request.cluster
    who = fenced(topology, cluster, principals=request.principals, with_consumers=request.consumers)
    book = Runbook()
    with hooks_around(book, topology, "fence", cluster, ""), book.section("fence", on_failure="undo"):
        found = book.add(RecordRules(cluster=cluster, rules=who.rules))
        kept_off = denied_topics(topology, cluster, who.rules)
        deny = DenyRules(cluster=cluster, rules=who.rules, recorded_by=found, topics=kept_off)
        silenced, shared = _topics_of(topology, request, who)
        also = f"; others write {listed(shared)} as well: there only the rules are verified" if shared else ""
        denied = book.add(deny, title=deny.title + also)
        if silenced:
            of = f"no log of {listed(silenced)} at {cluster}"
            title = f"Verify that {of} grows for {STANDSTILL_S:g} s, and that its replicas are in sync"
            book.add(
                AwaitNoWrites(cluster=cluster, topics=silenced),
                id="stands-still",
                title=title if request.principals else "",
                after=[behind(denied, because="a producer that is denied writes nothing more")],
            )
    gates = fence_gates(topology, seen, cluster, who.principals, request.accept_cluster)
    return _plan(topology, seen, request, "fence", who, book, gates)


def plan_unfence(topology: Topology, seen: Snapshot, request: FenceRequest) -> Plan:
    """What lifting a fence would do now, whoever brought it in. What is lifted in part stays so."""
    cluster = request.cluster
    who = fenced(topology, cluster, principals=request.principals, with_consumers=True)
    book = Runbook()
    with hooks_around(book, topology, "unfence", cluster, ""), book.section("unfence", on_failure="stop"):
        found = book.add(RecordRules(cluster=cluster, rules=who.rules))
        opened = opened_topics(topology, cluster, who.rules)
        book.add(LiftRules(cluster=cluster, rules=who.rules, recorded_by=found, topics=opened), id="lift")
    gates = unfence_gates(topology, seen, cluster, request.acknowledge, request.accept_cluster)
    return _plan(topology, seen, request, "unfence", who, book, gates)


def _topics_of(
    topology: Topology, request: FenceRequest, who: Fenced
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Topics of which no log may grow any more, and those that others go on to write beside who is fenced.

    Where everybody is fenced that is every topic: a writer whom the file does not name shows there. A record
    does not tell whose principal wrote it: where others write, growth says nothing of who is fenced.
    """
    topics = _topics_written_at(topology, request.cluster)
    if not request.principals:
        return topics, ()
    writers: dict[str, set[str]] = {name: set() for name in topics}
    for (_, name), its in writers_at(topology, request.cluster).items():
        writers.setdefault(name, set()).update(its)
    written = [name for name in topics if writers[name] & who.writers.keys()]
    silenced = tuple(name for name in written if writers[name] <= who.writers.keys())
    return silenced, tuple(name for name in written if name not in silenced)


def _topics_written_at(topology: Topology, cluster: str) -> tuple[str, ...]:
    """Topics that live there, and those that applications write there after a move."""
    here = sorted(topic.name for topic in topology.topics if topic.cluster == cluster)
    landing = sorted(
        name
        for mirror in topology.replication
        if mirror.target == cluster
        for name in mirror.topics
        if name not in here and not mirror.keeps_names
    )
    return (*here, *landing)


def _plan(  # noqa: PLR0917 - what a plan is made of
    topology: Topology,
    seen: Snapshot,
    request: FenceRequest,
    verb: str,
    who: Fenced,
    book: Runbook,
    gates: tuple[GateResult, ...],
) -> Plan:
    facts = {
        "denied_writing": {name: list(apps) for name, apps in who.writers.items()},
        "denied_reading": {name: list(apps) for name, apps in who.readers.items()},
    }
    return plan_of_cluster(topology, seen, request.cluster, verb, request.as_json(), book, gates, facts)
