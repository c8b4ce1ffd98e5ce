"""The cases that a rehearsal can be asked for by name: what is done, and what has to come of it.

Each is declared once, from what it is made of: a verb, the faults that a rehearsal of it does, a sabotage,
and the verdict to be expected. `dcctl drill FILE --list` shows them, `--scenario` takes their names, and a
long test runs each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Literal

from orchestrator.errors import UsageError
from orchestrator.moves.support import unsupported
from orchestrator.simulation.backend import FaultKind
from orchestrator.simulation.sabotage import KINDS, NONE, Sabotage
from orchestrator.simulation.workload.scenario import SCENARIOS, TINY, Scenario
from orchestrator.topology.durability.analysis import explain_topology
from orchestrator.topology.durability.losses import loss_of
from orchestrator.topology.durability.values import ControlPlane
from orchestrator.topology.flows import transactional_topics
from orchestrator.topology.instances import serving_sites
from orchestrator.topology.model import MaxLoss, Topology
from orchestrator.topology.standby import standbys_of
from orchestrator.topology.verbs import MOVING_VERBS, MovingVerb

DrillVerb = MovingVerb | Literal["return"]
"""What a rehearsal does: one of the moves, or a loss and a return in which nothing is moved."""
DRILL_VERBS: tuple[DrillVerb, ...] = (*MOVING_VERBS, "return")

Expected = Literal["valid", "invalid", "unknown", "refused"]
"""What a rehearsal ends with: a verdict, or a gate that refuses the move, so that nothing is done."""

EXIT_STATUS: Mapping[Expected, int] = {"valid": 0, "invalid": 1, "unknown": 7, "refused": 4}

_SAID_OF_FAULT: Mapping[FaultKind, str] = {
    "kill": "site lost",
    "pause": "mirror stalls",
    "partition": "link cut",
}
_MOVES: Mapping[DrillVerb, str] = {
    "failover": "a failover",
    "switchover": "a planned move",
    "failback": "a failover, the site's return and a failback",
    "return": "nothing is moved, and the site returns",
}
SEVERAL_AT_WORK = frozenset({"active-active", "aggregation"})
"""Layouts in which several clusters are at work, so that one of them has to be named."""
_ACCEPTED_REREAD, _ACCEPTED_IN_TRANSACTIONS = 20_000, 1_000_000
# Records that are written beforehand, copied, read and audited in a second, on two cores.
_RECORDS_PER_S = 1_500.0


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of a whole rehearsal; `is_measured`: on two cores, of the example in `docs/rehearsing.md`."""

    seconds: int
    is_measured: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One rehearsal that has a name.

    `budget_records` takes the place of the file's `failover.max_loss`. `accept_loss` is given with the
    command, unless somebody says otherwise. `measured_s`: how long it took under a load, where that was
    measured. `leaves`: the cluster that applications leave, or the site of a cluster over several; the first
    mirror's source where it is empty. `waits`: nobody gives a word for topics that prefer consistency.
    `moves`: what is rehearsed, where the verb does not say it; `about_s`: how long it takes under the
    smallest load, as far as that can be told for any file.
    """

    name: str
    verb: DrillVerb
    expected: Expected
    sabotage: Sabotage = NONE
    budget_records: int | None = None
    accept_loss: int | None = None
    measured_s: Mapping[str, int] = field(default_factory=dict)
    leaves: str = ""
    waits: bool = False
    powers_off: bool = False
    moves: str = ""
    about_s: int = 0

    @property
    def says(self) -> str:
        """What is rehearsed, in words."""
        if self.moves:
            return f"{self.moves}: {self.broken}" if self.broken else self.moves
        how = "lost" if self.verb == "return" else "left"
        said = f"{_MOVES[self.verb]}{f', {self.leaves} is {how}' if self.leaves else ''}"
        return f"{said}: {self.broken}" if self.broken else said

    @property
    def broken(self) -> str:
        """What is as it should not be, in words; empty where nothing is."""
        if self.budget_records is not None:
            return f"a loss budget of {self.budget_records} records"
        return self.sabotage.says

    def fault(self, load: Scenario) -> str:
        """What is done to the sites, in words."""
        load = replace(load, mirror_stall_s=0.0) if self.moves else load
        return ", ".join(_SAID_OF_FAULT[kind] for kind in faults_of(self.verb, load)) or "none"

    def took(self, load: Scenario) -> Took:
        """How long it takes under a load: as measured, or by what more there is to do than what was."""
        if load.name in self.measured_s:
            return Took(self.measured_s[load.name], is_measured=True)
        of_verb = next(case for case in _EVERY if (case.verb, case.expected) == (self.verb, "valid"))
        base = self.about_s or self.measured_s.get(TINY.name, of_verb.measured_s[TINY.name])
        legs = 2 if self.verb == "failback" else 1
        longer = load.steady_s - TINY.steady_s + legs * (load.after_s - TINY.after_s)
        more = (load.records_before - TINY.records_before) / _RECORDS_PER_S
        return Took(round(base + longer + more), is_measured=False)

    def lacks(self, topology: Topology) -> str:
        """Why a file's applications cannot show it, in words; empty where they can."""
        if reasons := unsupported(topology, "drill"):
            return f"`dcctl drill FILE` cannot rehearse it yet: {'; '.join(reasons)}"
        if is_stretched(topology):
            return "" if topology.producers else "no producer of the file works there"
        if not topology.replication:
            return "the file has no mirror"
        leaves = self.leaves or topology.replication[0].source
        if len(topology.clusters[leaves].datacenters) > 1:
            return f"{leaves} stands at several sites: the loss of one of them moves nothing"
        return self.sabotage.lacks(topology, leaves)

    def applied_to(self, topology: Topology) -> Topology:
        """The topology that is rehearsed."""
        if self.budget_records is None:
            return topology
        budget = MaxLoss(records=self.budget_records)
        return replace(topology, failover=replace(topology.failover, max_loss=budget))


def faults_of(verb: DrillVerb, load: Scenario) -> tuple[FaultKind, ...]:
    """The faults that a rehearsal does: none for a planned move."""
    if verb == "switchover":
        return ()
    return ("kill", "pause") if load.mirror_stall_s and verb != "return" else ("kill",)


def accepted_reread(topology: Topology, sabotage: Sabotage) -> int:
    """Records that groups may read again in a planned move or a failback; none where positions are exact.

    They are not all exact where records are lost on purpose, or written in transactions. What is stated is
    held against what is read again, however much is accepted.
    """
    if transactional_topics(topology.producers):
        return _ACCEPTED_IN_TRANSACTIONS
    return _ACCEPTED_REREAD if sabotage.connector_overrides else 0


def _declared() -> Iterable[Case]:
    # Under `tiny` on two busy cores, with the smallest estate that has a way back.
    measured = {"failover": 100, "switchover": 75, "failback": 260, "return": 90}
    for verb in DRILL_VERBS:
        yield Case(name=verb, verb=verb, expected="valid", measured_s={TINY.name: measured[verb]})
    yield Case(name="over-budget", verb="failover", expected="refused", budget_records=0)
    for verb in DRILL_VERBS:
        for sabotage in (one for one in KINDS.values() if one.is_of_moves):
            # Where the engine had no time for a first sync, the plan sees what the mirror dropped.
            accepted = 20_000 if sabotage.connector_overrides and verb == "failover" else None
            yield Case(
                name=f"{verb}-{sabotage.kind}",
                verb=verb,
                expected=sabotage.expected,
                sabotage=sabotage,
                accept_loss=accepted,
            )


_EVERY: tuple[Case, ...] = tuple(_declared())
CASES: tuple[Case, ...] = tuple(case for case in _EVERY if case.verb != "return")
"""Those of a file with one mirror and one place to go to."""
_RETURNS: tuple[Case, ...] = tuple(case for case in _EVERY if case.verb == "return")


def cases_of(topology: Topology) -> tuple[Case, ...]:
    """The cases of a file: each of them once, or where several clusters are at work, once for each of these.

    A cluster whose applications have nowhere to go can be lost, and return. Where nobody writes, nothing can
    be lost, and no producer's right be withdrawn.
    """
    if is_stretched(topology):
        return tuple(_within_cluster(topology))
    if not topology.is_laid_out(SEVERAL_AT_WORK):
        return CASES
    return tuple(
        replace(case, name=f"{case.name}-{cluster}", leaves=cluster, measured_s={})
        for cluster in topology.clusters
        for case in (CASES if standbys_of(topology, cluster) else _RETURNS)
        if topology.producers_of(cluster) or not (case.budget_records == 0 or case.sabotage.withdraws_a_right)
        if not (case.verb == "return" and (case.sabotage.offset_shift or case.sabotage.withdraws_a_right))
    )


def is_stretched(topology: Topology) -> bool:
    """Whether a file has one cluster, over several sites."""
    return topology.is_one_cluster and len(next(iter(topology.clusters.values())).datacenters) > 1


def _within_cluster(topology: Topology) -> Iterable[Case]:
    """Each site of the one cluster is lost, and where it has brokers left by plan; all return."""
    (cluster,) = topology.clusters
    serving = serving_sites(topology, cluster)
    for number, site in enumerate(topology.clusters[cluster].datacenters):
        lost = Case(
            name=f"site-lost-{site}",
            verb="failback",
            expected="valid",
            leaves=site,
            moves=f"{site} is lost, the others go on, it returns and all is as before",
            about_s=120,
        )
        yield lost
        if site not in serving:
            continue
        waits = f"{site} is lost, and topics that prefer consistency wait until it is back"
        yield replace(lost, name=f"waits-{site}", waits=True, moves=waits)
        left = f"applications and leaders leave {site}, and come back"
        leaves = replace(lost, name=f"evacuated-{site}", verb="switchover", moves=left, about_s=80)
        yield leaves
        if "lost" not in _control_planes(topology, site):
            off = f"applications and leaders leave {site}, its servers are stopped, and all come back"
            name = f"powered-off-{site}"
            yield replace(leaves, name=name, powers_off=True, moves=off, about_s=120)
        for sabotage in KINDS.values() if number == 0 else ():
            # Where the quorum goes on nobody forms another one.
            if sabotage.is_within_cluster and (not sabotage.turns_order or _forms_quorum(topology, site)):
                name = f"site-lost-{site}-{sabotage.kind}"
                yield replace(lost, name=name, expected=sabotage.expected, sabotage=sabotage)


def _forms_quorum(topology: Topology, site: str) -> bool:
    """Whether survivors become the quorum without the site, and one of them may have more than the others."""
    if any(cluster.quorum == "hierarchical" for cluster in topology.clusters.values()):
        return False  # whatever is decided is on two of three voters of each site
    return "needs-procedure" in _control_planes(topology, site)


def _control_planes(topology: Topology, site: str) -> set[ControlPlane]:
    """What the loss of the site means for metadata quorums."""
    found = explain_topology(topology, [loss_of(topology, [site])], with_margin=False)
    return {fate.control_plane for fate in found.losses[0].clusters.values()}


def cases_at(lose: str | None, topology: Topology) -> tuple[Case, ...]:
    """The cases of a file in which a cluster, or the one at a site, is left or lost; all without `lose`.

    Raises `UsageError` where none is.
    """
    cases = cases_of(topology)
    if lose is None:
        return cases
    if is_stretched(topology):
        here = tuple(case for case in cases if case.leaves == lose)
        if not here:
            raise _unknown("--lose", lose, sorted({case.leaves for case in cases}))
        return here
    leaves = {case.leaves or topology.replication[0].source for case in cases if topology.replication}
    found = [name for name in topology.clusters if lose == name]
    found = found or [name for name, one in topology.clusters.items() if lose in one.datacenters]
    chosen = tuple(case for case in cases if (case.leaves or topology.replication[0].source) in found)
    if not chosen:
        raise _unknown("--lose", lose, sorted(leaves))
    return chosen


def case_named(name: str, cases: Sequence[Case] = CASES) -> Case:
    """The case of that name. Raises `UsageError`, with the nearest one."""
    for case in cases:
        if case.name == name:
            return case
    raise _unknown("--scenario", name, [*(case.name for case in cases), *SCENARIOS])


def load_named(name: str) -> Scenario:
    """The load of that name. Raises `UsageError`, with the nearest one."""
    if name in SCENARIOS:
        return SCENARIOS[name]
    raise _unknown("--load", name, list(SCENARIOS))


def case_of(verb: DrillVerb | None, sabotage: Sabotage, cases: Sequence[Case] = CASES) -> Case:
    """The first case that `--verb` and `--sabotage` describe; without a verb a failover, if there is one."""
    if verb is None:
        verb = next((case.verb for case in cases if case.verb == "failover"), cases[0].verb)
    described = (verb, sabotage, None)
    for case in cases:
        if (case.verb, case.sabotage, case.budget_records) == described:
            return case
    raise UsageError(
        f"--sabotage {sabotage.kind}",
        f"does not go with a {verb} of this file",
        "dcctl drill FILE --list shows which cases there are",
    )


def asked_for(
    scenario: str | None,
    load: str | None,
    verb: str | None,
    sabotage: Sabotage,
    cases: Sequence[Case] = CASES,
) -> tuple[Case, Scenario]:
    """The case and the load that a command line asks for; what is not said is a failover, and `default`.

    `scenario` is a case, or a load as in earlier versions; `cases`: those of the file. Raises `UsageError`
    for a name that there is not, and for words that contradict each other.
    """
    if scenario in SCENARIOS:
        if load not in (None, scenario):
            raise UsageError(
                f"--scenario {scenario}", f"is a load, and --load says {load}", "give one of them"
            )
        scenario, load = None, scenario
    chosen = load_named(load or SCENARIOS["default"].name)
    if verb is not None and verb not in DRILL_VERBS:
        raise _unknown("--verb", verb, list(DRILL_VERBS))
    if scenario is None:
        return case_of(verb, sabotage, cases), chosen
    case = case_named(scenario, cases)
    if verb not in (None, case.verb):
        problem = f"rehearses a {case.verb}, and --verb says {verb}"
        raise UsageError(f"--scenario {case.name}", problem, "leave --verb out")
    if sabotage is not NONE and sabotage != case.sabotage:
        broken = case.sabotage.kind if case.sabotage is not NONE else "nothing"
        problem = f"breaks {broken}, and --sabotage says {sabotage.kind}"
        raise UsageError(f"--scenario {case.name}", problem, "leave --sabotage out")
    return case, chosen


def _unknown(option: str, name: str, valid: list[str]) -> UsageError:
    near = get_close_matches(name, valid, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return UsageError(f"{option} {name}", "there is no such name", f"{hint}there are: {', '.join(valid)}")
