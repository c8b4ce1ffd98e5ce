"""Which moves one failover is when several sites are lost: who goes, who waits, and who goes later."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import UsageError
from orchestrator.moves.request import FailoverRequest
from orchestrator.moves.several import Failovers, failovers_of
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology
from orchestrator.verbs.registration import participants_of

EXAMPLES = Path(__file__).parents[2] / "topologies"


def asked(example: str, standby: dict[str, str], *lost: str, **more: Any) -> Failovers:
    """A failover of an example with these standbys, all of these sites being lost."""
    topology = apart(load_topology(EXAMPLES / f"{example}.yaml"), standby)
    return failovers_of(topology, FailoverRequest(attested=lost, **more), participants_of(topology))


def apart(file: Topology, standby: dict[str, str]) -> Topology:
    """The topics of dc2 get another name, so that both sources may go to one place."""
    clusters = {
        name: replace(one, standby=standby.get(name, one.standby)) for name, one in file.clusters.items()
    }
    named = {"dc2": ("returns",)}
    return replace(
        file,
        clusters=clusters,
        topics=tuple(replace(t, name="returns") if t.cluster == "dc2" else t for t in file.topics),
        replication=tuple(replace(m, topics=named.get(m.source, m.topics)) for m in file.replication),
        producers=tuple(replace(p, topics=named.get(p.cluster, p.topics)) for p in file.producers),
        consumers=tuple(replace(c, topics=named.get(c.cluster, c.topics)) for c in file.consumers),
    )


ONE, TWO = "aggregation", "aggregation-two-centres"


@pytest.mark.parametrize(
    ("example", "standby", "lost", "moves", "waiting", "later"),
    [
        (ONE, {"dc1": "centre", "dc2": "centre"}, ["dc1", "dc2"], [["dc1"], ["dc2"]], (), ()),
        (ONE, {"dc1": "centre", "dc2": "centre"}, ["dc2"], [["dc2"]], (), ()),
        (ONE, {"dc1": "centre"}, ["dc1", "dc2"], [["dc1"]], ("dc2",), ()),
        (TWO, {"dc1": "reserve", "dc2": "centre"}, ["dc1", "dc2"], [["dc1"], ["dc2"]], (), ()),
        (TWO, {}, ["dc1", "centre"], [["dc1", "centre"]], ("dc1",), ()),
        (TWO, {"dc1": "reserve"}, ["dc1", "centre"], [["dc1", "centre"]], (), ("dc1",)),
        (TWO, {"dc1": "centre"}, ["dc1", "centre"], [["dc1", "centre"]], ("dc1",), ()),
        (
            TWO,
            {"dc1": "centre", "dc2": "reserve"},
            ["dc1", "dc2", "reserve"],
            [["dc1"]],
            ("dc2",),
            (),
        ),
    ],
)
def test_each_lost_source_has_a_move_of_its_own(  # noqa: PLR0917 - pytest passes them by name
    example: str,
    standby: dict[str, str],
    lost: list[str],
    moves: list[list[str]],
    waiting: tuple[str, ...],
    later: tuple[str, ...],
) -> None:
    """A centre that is lost with its sources goes first, alone; who has no place to go waits."""
    found = asked(example, standby, *lost)
    assert [list(one.attested) for one in found.requests] == moves
    assert (tuple(found.waiting), tuple(found.later)) == (waiting, later)


def test_where_nobody_can_go_that_is_said() -> None:
    """Not which mirror is meant: none of them is."""
    with pytest.raises(UsageError, match="clusters dc1, dc2: are lost together, and the file sends"):
        asked(ONE, {}, "dc1", "dc2")
    with pytest.raises(UsageError, match="clusters dc1, centre: are lost together"):
        asked(ONE, {"dc1": "centre"}, "dc1", "centre")
    with pytest.raises(UsageError, match="clusters west, east: are lost together"):
        asked("active-active", {}, "west", "east")


def test_a_place_that_is_named_takes_those_alone_who_go_there() -> None:
    """`--to` chooses among several."""
    found = asked(TWO, {"dc1": "reserve", "dc2": "centre"}, "dc1", "dc2", to="reserve")
    assert [(one.attested, one.to) for one in found.requests] == [(("dc1",), "reserve")]
    assert found.waiting == {}
    assert found.later == {"dc2": "applications of dc2 go to centre, which --to leaves out"}
    found = asked(TWO, {"dc1": "reserve", "dc2": "centre"}, "dc1", "dc2", left_out=("dc2",))
    assert [(one.attested, one.left_out) for one in found.requests] == [(("dc1",), ())]
    assert found.later == found.waiting == {}
