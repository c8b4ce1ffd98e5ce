"""What taking dead voters out of a living quorum gains, by layout."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.moves.within_cluster.margin import members_of, voters_by_site
from orchestrator.moves.within_cluster.quorum.dead_voters import dead_voters, voters_droppable
from orchestrator.moves.within_cluster.quorum.membership import DropVoters
from orchestrator.ports.part import Part
from orchestrator.ports.voter_sets import Member, VoterSet, VoterSets
from orchestrator.ports.voters import Voter, VotersSeen
from orchestrator.runs.effect import Failed
from orchestrator.runs.estate_record import Body, Fact
from orchestrator.runs.facts_within_clusters import VotersAdded, VotersDropped
from orchestrator.runs.plan import GateResult
from orchestrator.runs.within_clusters import Quorum, quorums
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Cluster, Nodes

ROOT = Path(__file__).parents[2]
DROPPED = VotersDropped(cluster="main", sites=("dc1",), voters=(Member(number=1),), lines=("a",))


def cluster(mode: str, counts: dict[str, int], quorum: str = "majority") -> Cluster:
    """With so many dynamic voters at each site."""
    name = "stretched-3dc-kraft" if mode == "kraft" else "stretched-3dc"
    main = load_topology(ROOT / "topologies" / f"{name}.yaml").clusters["main"]
    key = "controllers" if mode == "kraft" else "zookeepers"
    rows = tuple(Nodes(dc=dc, **{key: count}) for dc, count in counts.items())
    return replace(main, nodes=rows, voters="dynamic", quorum=quorum)  # type: ignore[arg-type]


def seen(described: Cluster, lost: str, stopped: int = 0) -> tuple[VoterSet, VotersSeen]:
    """All voters in the quorum, and those told of that are elsewhere; `stopped` of these do not run."""
    sites = [row.dc for row in described.nodes for _ in range(row.controllers + row.zookeepers)]
    members = dict(enumerate(sites, 1))
    left = [number for number, dc in members.items() if dc != lost]
    told = {
        f"voter-{number}": Voter(
            server=f"voter-{number}",
            site=members[number],
            kind=described.metadata,
            number=number,
            is_broker=False,
            file="f",
            sha256="",
            lines=(),
            epoch=1,
            end=1,
            runs=number not in left[:stopped],
            leads=None,
            is_dynamic=True,
        )
        for number in left
    }
    voters = VoterSet(
        voters=tuple(Member(number=number) for number in members), heard=frozenset(left), leader=left[-1]
    )
    return voters, VotersSeen(told, {})


def judged(described: Cluster, lost: str, stopped: int = 0, quorum: Quorum = Quorum()) -> GateResult:  # noqa: B008 - it is frozen
    """The gate."""
    voters, told = seen(described, lost, stopped)
    parts = Part("the quorum", 0.0, voters), Part("hosts", 0.0, told)
    return voters_droppable(*parts, "main", described, [lost], quorum, is_quorum_lost=False)


@pytest.mark.parametrize(
    ("mode", "counts", "quorum", "lost", "says"),
    [
        ("kraft", (2, 2, 1), "majority", "dc1", "0 further failures with them, 1 without"),
        ("kraft", (3, 3, 1), "majority", "dc1", "0 further failures with them, 1 without"),
        ("kraft", (2, 2, 2), "majority", "dc2", "0 further failures with them, 1 without"),
        ("kraft", (3, 3, 3), "majority", "dc3", "1 further failure with them, 2 without"),
        ("kraft", (1, 1, 1), "majority", "dc1", ""),
        ("kraft", (2, 2, 1), "majority", "dc3", ""),
        ("zookeeper", (2, 2, 1), "majority", "dc1", "0 further failures with them, 1 without"),
        ("zookeeper", (3, 3, 3), "hierarchical", "dc1", "1 further failure with them, 2 without"),
        ("zookeeper", (2, 2, 2), "hierarchical", "dc1", "0 further failures with them, 1 without"),
        ("zookeeper", (1, 1, 1), "hierarchical", "dc1", ""),
    ],
)
def test_it_is_done_where_one_more_may_fail_then(
    mode: str, counts: tuple[int, ...], quorum: str, lost: str, says: str
) -> None:
    """Empty: it gains nothing, and is refused."""
    gate = judged(cluster(mode, dict(zip(("dc1", "dc2", "dc3"), counts, strict=True)), quorum), lost)
    assert gate.outcome == ("ok" if says else "refused")
    assert says in gate.reason if says else "gains main nothing" in gate.reason


def test_a_voter_elsewhere_that_is_down_counts_as_one_that_failed() -> None:
    """Of 3 + 3 + 3 without three, and without one more, five are left: nothing to spare, then one."""
    described = cluster("kraft", {"dc1": 3, "dc2": 3, "dc3": 3})
    assert "0 further failures with them, 1 without" in judged(described, "dc1", stopped=1).reason


def test_servers_with_weights_are_refused() -> None:
    """A majority has none."""
    described = cluster("zookeeper", {"dc1": 3, "dc2": 3, "dc3": 3}, "hierarchical")
    rows = tuple(replace(row, zookeeper_weight=2) for row in described.nodes)
    gate = judged(replace(described, nodes=rows), "dc1")
    assert (gate.outcome, gate.hint) == ("refused", "leave --drop-dead-voters out")
    assert "have weights" in gate.reason


def test_hosts_and_quorum_that_tell_of_different_voters_are_refused() -> None:
    """Fewer at the lost site than the file has: one of the others would be taken for dead."""
    described = cluster("kraft", {"dc1": 2, "dc2": 2, "dc3": 1})
    voters, told = seen(described, "dc1")
    short = VotersSeen({name: one for name, one in told.voters.items() if one.number != 5}, {})
    assert dead_voters(voters, short, described, ["dc1"], Quorum()) == ()
    parts = Part("the quorum", 0.0, voters), Part("hosts", 0.0, short)
    gate = voters_droppable(*parts, "main", described, ["dc1"], Quorum(), is_quorum_lost=False)
    assert "no host outside dc1 tells of 3 voters of main (1, 2, 5); by the file dc1 has 2" in gate.reason


_KRAFT = cluster("kraft", {"dc1": 2, "dc2": 2, "dc3": 1})


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"leader": None, "heard": frozenset()}, "no voter of main says that it leads"),
        (
            {"heard": frozenset({3, 5})},
            "are not heard by its quorum, so which others are dead is not known: 4",
        ),
        ({"unasked": frozenset({1})}, "names no address for clients of voters 1"),
    ],
)
def test_who_is_not_heard_is_not_taken_for_dead_where_others_that_live_are_not_heard_either(
    wrong: dict[str, Any], says: str
) -> None:
    """Nor where nobody can ask it."""
    voters, told = seen(_KRAFT, "dc1")
    parts = Part("the quorum", 0.0, replace(voters, **wrong)), Part("hosts", 0.0, told)
    gate = voters_droppable(*parts, "main", _KRAFT, ["dc1"], Quorum(), is_quorum_lost=False)
    assert gate.outcome == "unknown"
    assert says in gate.reason


class _Sets:
    """Voters as they are told, which nobody may change."""

    timeout_s, step_id, run_id = 1.0, "drop-voters", "r"

    def __init__(self, voters: VoterSet) -> None:
        self.voters = voters

    def port(self, kind: type[Any]) -> Any:
        return self if kind is VoterSets else None

    def read(self) -> VoterSet:
        return self.voters


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"leader": None}, "no voter of main says that it leads"),
        ({"heard": frozenset({3, 5})}, "is not known: 4"),
    ],
)
def test_the_step_looks_once_more_before_it_takes_out_anybody(wrong: dict[str, Any], says: str) -> None:
    """What was heard as it was planned may be heard no more."""
    voters, _ = seen(_KRAFT, "dc1")
    drop = DropVoters(cluster="main", sites=("dc1",), voters=voters.voters[:2], living=(3, 4, 5))
    run: Any = _Sets(replace(voters, **wrong))
    outcome = drop.perform(run)
    assert isinstance(outcome, Failed)
    assert says in outcome.message


def test_what_was_begun_is_gone_on_with() -> None:
    """One of two is out already, as it is recorded: the other one goes as well."""
    described = cluster("kraft", {"dc1": 2, "dc2": 2, "dc3": 1})
    voters, told = seen(described, "dc1")
    left = replace(voters, voters=voters.voters[1:])
    known = Quorum(dropped=replace(DROPPED, voters=(Member(number=1), Member(number=2))))
    assert [one.number for one in dead_voters(left, told, described, ["dc1"], known)] == [2]
    assert dead_voters(left, told, described, ["dc1"], Quorum()) == ()


def _facts(*bodies: Body, runs: str = "rst") -> list[Fact]:
    return [Fact(number=n, run_id=runs[n], at_s=0.0, body=body) for n, body in enumerate(bodies)]


def test_what_is_recorded_of_voters_that_were_taken_out() -> None:
    """Those of a second site join them; of the whole configuration the first is kept; then all vote again."""
    second = VotersDropped(cluster="main", sites=("dc2",), voters=(Member(number=2),), lines=("b",))
    known = quorums(_facts(DROPPED, second))["main"]
    assert known.without == ("dc1", "dc2")
    assert known.dropped is not None
    assert ([one.number for one in known.dropped.voters], known.dropped.lines) == ([1, 2], ("a",))
    assert quorums(_facts(DROPPED, second, VotersAdded(cluster="main")))["main"] == Quorum()
    assert quorums(_facts(DROPPED, second, runs="rr"))["main"].dropped == second


def test_a_site_of_which_some_voters_are_out_has_the_others() -> None:
    """KRaft takes out one at a time. Those of a site that is out whole are not counted among them."""
    described = cluster("kraft", {"dc1": 2, "dc2": 3, "dc3": 1})
    three = tuple(Member(number=number) for number in (1, 2, 3))
    partly = replace(DROPPED, voters=three[:1], sites=(), partly=("dc1",))
    assert voters_by_site(members_of(described, Quorum(dropped=partly))) == {"dc1": 1, "dc2": 3, "dc3": 1}
    second = replace(DROPPED, voters=three, partly=("dc2",))
    assert voters_by_site(members_of(described, Quorum(dropped=second))) == {"dc2": 2, "dc3": 1}
