"""Which survivors are enough for a quorum of their own: held against every set that may have decided something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.moves.within_cluster.quorum.gates import voters_present
from orchestrator.moves.within_cluster.quorum.standing import StoppedVoter, beginning
from orchestrator.moves.within_cluster.quorum.steps import needed_together
from orchestrator.moves.within_cluster.quorum.taking_part import TakingPart, coming_back, going_on
from orchestrator.ports.part import Part
from orchestrator.ports.voter_lines import groups_in
from orchestrator.ports.voters import Voter, VotersSeen
from orchestrator.runs.facts_within_clusters import QuorumForced
from orchestrator.runs.within_clusters import Quorum
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Cluster, Nodes

MAIN = load_topology(Path(__file__).parents[2] / "topologies" / "stretched-2dc.yaml").clusters["main"]
Weights = Mapping[str, tuple[int, ...]]
"""By site the weight of each of its voters, which are numbered from 1 on."""


def sites_of(weights: Weights) -> dict[int, tuple[str, int]]:
    """By id the site and the weight."""
    rows = [(site, weight) for site, own in weights.items() for weight in own]
    return dict(enumerate(rows, 1))


def described(weights: Weights) -> Cluster:
    """As the topology file has it; weights count by the voters' files alone."""
    return replace(MAIN, nodes=tuple(Nodes(dc=site, zookeepers=len(own)) for site, own in weights.items()))


def told(weights: Weights, numbers: Iterable[int]) -> dict[str, Voter]:
    """These voters, as their hosts tell."""
    every = sites_of(weights)
    lines = [f"server.{n}=h:{n}:1" for n in every] + [f"weight.{n}={every[n][1]}" for n in every]
    for at, site in enumerate(weights, 1):
        lines.append(f"group.{at}=" + ":".join(str(n) for n, (own, _) in every.items() if own == site))
    return {
        f"zookeeper-{number}": Voter(
            server=f"zookeeper-{number}",
            site=every[number][0],
            kind="zookeeper",
            number=number,
            is_broker=False,
            file="zoo.cfg",
            sha256="",
            lines=tuple(enumerate(lines, 1)),
            epoch=1,
            end=number,
            runs=True,
            leads=None,
        )
        for number in numbers
    }


def is_quorum(weights: Weights, present: Iterable[int]) -> bool:
    """As ZooKeeper has it."""
    every, here = sites_of(weights), set(present)
    counted = [site for site, own in weights.items() if sum(own)]
    won = [
        site
        for site in counted
        if 2 * sum(weight for n, (own, weight) in every.items() if own == site and n in here)
        > sum(weights[site])
    ]
    return 2 * len(won) > len(counted)


def sets(numbers: Iterable[int], least: int = 1) -> Iterator[frozenset[int]]:
    """All of them that have so many."""
    numbers = sorted(numbers)
    for size in range(least, len(numbers) + 1):
        yield from map(frozenset, combinations(numbers, size))


def part_of(weights: Weights, here: Iterable[int]) -> TakingPart:
    """Where the first site is lost, and hosts elsewhere tell of these; of another one a host says why not."""
    left = [site for site in weights if site != "dc1"]
    seen = VotersSeen(told(weights, here), {"a host": "no route to host"})
    return going_on(seen, described(weights), left, Quorum())


TWO_SITES = st.fixed_dictionaries(
    {
        "dc1": st.lists(st.integers(0, 2), min_size=1, max_size=3).map(tuple),
        "dc2": st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple),
    }
)


@given(weights=TWO_SITES, data=st.data())
def test_who_goes_on_has_all_that_was_decided_and_nobody_else_decides(
    weights: Weights, data: st.DataObject
) -> None:
    """Whichever set of voters had decided, and whichever of the others come back by themselves."""
    every = sites_of(weights)
    survivors = [number for number, (site, _) in every.items() if site == "dc2"]
    here = frozenset(data.draw(st.sets(st.sampled_from(survivors), min_size=1)))
    part, others = part_of(weights, here), every.keys() - here
    own = sum(every[number][1] for number in here)
    is_enough = (
        2 * own > sum(weights["dc2"]) and not is_quorum(weights, here) and not is_quorum(weights, others)
    )
    is_left_out = bool(part.ids)
    assert is_left_out == (is_enough and len(here) < len(survivors))
    if is_left_out:
        assert part.ids == set(survivors) - here
        assert all(decided & here for decided in sets(every) if is_quorum(weights, decided))
        assert not any(is_quorum(weights, some) for some in sets(others))


@pytest.mark.parametrize("counts", [(3, 3), (3, 5), (5, 5), (1, 3)])
def test_who_begins_on_the_way_back_has_all_that_was_decided_since(counts: tuple[int, int]) -> None:
    """Every quorum of those that begin has one of each majority of the survivors; or a silent one is waited for."""
    weights = {"dc1": (1,) * counts[0], "dc2": (1,) * counts[1]}
    every, file = sites_of(weights), described(weights)
    survivors = [number for number, (site, _) in every.items() if site == "dc2"]
    for here in sets(survivors):
        part = part_of(weights, here)
        if not part.ids:
            continue
        kept = {name: voter.number for name, voter in part.voters.voters.items()}
        forced = QuorumForced(
            cluster="main",
            sites=("dc1",),
            generation=1,
            kept=kept,
            files={},
            left_out={"dc2": tuple(part.ids)},
        )
        for heard in [frozenset[int](), *sets(part.ids)]:
            seen = VotersSeen(told(weights, every.keys() - part.ids | heard), {"a host": "no route to host"})
            back = coming_back(seen, file, Quorum(1, forced))
            away = part.ids - heard
            assert back.ids in (away, frozenset()), heard
            decided = list(sets(here, len(here) // 2 + 1))
            if back.ids == away:
                first = begun(file, back, kept, part.ids)
                assert is_quorum(weights, first)
                may = [some for some in sets(first | away) if is_quorum(weights, some)]
                assert all(some & before for some in may for before in decided)


def begun(file: Cluster, back: TakingPart, kept: Mapping[str, int], out: frozenset[int]) -> frozenset[int]:
    """The ids of those that begin, as `restore_quorum` has it: who was left out has the most, and comes last."""
    voters = back.voters.voters
    returned = len(voters) - len(kept) - sum(one.number in out for one in voters.values())
    stopped = [
        StoppedVoter(server=name, site=one.site, epoch=9 if one.number in out else 1, end=1)
        for name, one in voters.items()
    ]
    last = [name for name, one in voters.items() if one.number in out]
    first = beginning(stopped, needed_together(file, len(kept), returned), tuple(kept), last).first
    return frozenset(voters[name].number for name in first)


TWO_OF_THREE = {"dc1": (1, 1, 1), "dc2": (1, 1, 1)}


def judged(file: Cluster, seen: VotersSeen) -> tuple[str, str]:
    """Outcome and reason of the gate."""
    part = going_on(seen, file, ["dc2"], Quorum())
    found = voters_present(Part("hosts", 0.0, seen), "main", file, ["dc2"], part)
    return found.outcome, found.reason


def test_a_voter_that_the_inventory_does_not_have_is_not_left_out() -> None:
    """No host has failed: the inventory is wrong."""
    outcome, reason = judged(described(TWO_OF_THREE), VotersSeen(told(TWO_OF_THREE, [4, 5]), {}))
    assert (outcome, "2 at dc2, where the file has 3" in reason) == ("refused", True)


def test_a_voter_that_two_hosts_have_holds_everything() -> None:
    """Which of them it is is not known."""
    problems = {"zookeeper-4": "two hosts have it", "host-6": "no route to host"}
    assert judged(described(TWO_OF_THREE), VotersSeen(told(TWO_OF_THREE, [4, 5]), problems))[0] == "unknown"


@pytest.mark.parametrize("runs", [True, None])
def test_a_voter_of_which_nobody_knows_whether_it_runs_is_left_out(runs: bool | None) -> None:
    """It cannot be seen to stop, and need not be."""
    voters = told(TWO_OF_THREE, [4, 5, 6])
    voters["zookeeper-6"] = replace(voters["zookeeper-6"], runs=runs)
    outcome, reason = judged(described(TWO_OF_THREE), VotersSeen(voters, {}))
    assert outcome == "ok"
    assert ("but for voter 6 of dc2 (whether zookeeper-6 runs is not known)" in reason) is (runs is None)


@pytest.mark.parametrize("change", [{"quorum": "majority"}, {"voters": "dynamic"}])
def test_without_groups_or_with_a_list_that_changes_all_take_part(change: dict[str, str]) -> None:
    """A plain majority has no reserve; a list that can change by itself was not tried."""
    file = replace(described(TWO_OF_THREE), **change)  # type: ignore[arg-type]
    assert judged(file, VotersSeen(told(TWO_OF_THREE, [4, 5]), {"h": "no route to host"})) == (
        "unknown",
        "h: no route to host",
    )


def test_groups_and_weights_are_read_as_zookeeper_reads_them() -> None:
    """A weight is 1 unless given; what is commented out is nothing."""
    lines = ["group.1=1:2", " group.2 = 3 ", "weight.2=4", "#weight.1=7", "server.1=a:1:2"]
    assert groups_in(lines) == {1: (1, 1), 2: (1, 4), 3: (2, 1)}
