"""What closes the gates of moves beside applications at work: of two active sites, and of a centre's sources."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from orchestrator.estate.live.connections import connect_cluster
from tests.gates import breaking as b
from tests.gates import files
from tests.gates.case import NO_INVENTORY, NO_WORKER, OF_A_MOVE, Case, Said, no_ensemble
from tests.gates.world import Asked, World

HOME = ("--to", "west", "--acknowledge", "test: there and back at once")
_READER = ("--to", "east", "--applications", "reporting")


@contextmanager
def mirror_home_stopped(world: World) -> Iterator[Asked]:
    """Somebody has stopped the mirror that brings home what is written where applications are away."""
    connect, name = connect_cluster(world.simulation.topology, "west"), "east-to-west-source"
    connect.stop(name)
    b.await_(lambda: connect.connectors()[name].state == "STOPPED")
    try:
        yield Asked(instead={"failback": HOME})
    finally:
        connect.resume(name)
        b.await_(lambda: connect.connectors()[name].state == "RUNNING")


@contextmanager
def worker_at_home_stopped(world: World) -> Iterator[Asked]:
    """Connect does not run where applications come home to."""
    connect = connect_cluster(world.simulation.topology, "west")
    world.simulation.site("west").stop(["connect-1"])
    try:
        yield Asked(instead={"failback": HOME})
    finally:
        world.simulation.site("west").start(["connect-1"])
        b.await_(lambda: all(one.state == "RUNNING" for one in connect.connectors().values()))


def without_ensemble(verb: str, *words: str) -> b.Breaking:
    """It does not run, and the verb is asked in these words."""

    @contextmanager
    def broken(world: World) -> Iterator[Asked]:
        with b.ensemble_stopped(world):
            yield Asked(instead={verb: words})

    return broken


def _silent_ensemble(*gates: str, but: Collection[str] = ()) -> Mapping[str, Said]:
    """Who reads alone makes nothing primary: `but`."""
    return no_ensemble(*(gate for gate in OF_A_MOVE if gate not in but), *gates)


SITES = (
    Case(
        name="a part moves and the ensemble is stopped",
        state="beside",
        breaks=without_ensemble("switchover", *_READER),
        unknown={"switchover": _silent_ensemble("other-site", "selection", but={"source-primary"})},
    ),
    Case(
        name="one group id would serve two readers of a topic",
        state="beside",
        breaks=b.file_says(files.both_read_copies),
        refused={
            "switchover": {"groups-apart": ("read west.orders as group packing", "a `group` of its own")}
        },
    ),
    Case(
        name="who stays cannot be stopped",
        state="beside",
        breaks=b.file_says(files.no_inventory_file),
        unknown={
            "switchover": {
                "groups-apart": ("packing-east (group packing) cannot be stopped", NO_INVENTORY[1]),
                "clients-startable": NO_INVENTORY,
            }
        },
    ),
)
"""Of two active sites, each with its applications at home."""

AWAY = (
    Case(
        name="the other site's applications would go as well",
        state="away",
        breaks=b.asked(instead={"switchover": ("--to", "west", "--acknowledge", "test: both")}),
        refused={
            "switchover": {
                "other-site": ("applications of west work at east since run", "dcctl failback FILE --to west")
            }
        },
    ),
    Case(
        name="who would come home reads what stays away",
        state="away",
        breaks=b.asked(instead={"failback": (*HOME, "--applications", "reporting")}),
        refused={
            "failback": {"selection": ("reporting reads orders, which is primary at east", "--topics orders")}
        },
    ),
    Case(
        name="nobody knows what the other site's applications do",
        state="away",
        breaks=without_ensemble("switchover", "--to", "west"),
        unknown={"switchover": _silent_ensemble("other-site")},
    ),
    Case(
        name="the mirror home is stopped",
        state="away",
        breaks=mirror_home_stopped,
        refused={"failback": {"routes-usable": ("east-to-west-source is STOPPED", "dcctl apply FILE")}},
    ),
    Case(
        name="no worker runs at home",
        state="away",
        breaks=worker_at_home_stopped,
        unknown={"failback": {"routes-usable": NO_WORKER}},
    ),
)
"""Of two active sites, when west's applications are at east."""

INTO_CENTRE = ("--from", "dc1", "--to", "centre")
CENTRE = (
    Case(
        name="who reads copies at the centre reads nothing else",
        state="beside",
        breaks=b.file_says(files.audit_reads_copies_alone, instead={"switchover": INTO_CENTRE}),
        refused={
            "switchover": {
                "landing-read": (
                    "audit reads copies of dc1 at centre and not orders there",
                    "--accept-unread audit",
                )
            }
        },
    ),
    Case(
        name="nobody knows who is at the centre",
        state="beside",
        breaks=without_ensemble("switchover", *INTO_CENTRE),
        unknown={"switchover": _silent_ensemble("landing-alone", "landing-read")},
    ),
)
"""Of a centre, each source's applications at home."""

SECOND_SOURCE = Case(
    name="another source's applications are at the centre",
    state="away",
    breaks=b.asked(instead={"switchover": INTO_CENTRE}),
    refused={
        "switchover": {
            "landing-alone": (
                "applications of dc2 write orders at centre since run",
                "dcctl failback FILE --to dc2",
            )
        }
    },
)
"""Of a centre to which one source's applications have gone."""
