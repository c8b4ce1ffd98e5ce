"""A site is gone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tests.golden.play import Situation
from tests.golden.stories.estates import (
    BACK,
    FILES,
    LEAVE,
    LOST,
    OVER,
    REFUSED,
    ROAM,
    SWITCH,
    WORK,
    Named,
    all_files,
)
from tests.golden.stories.states import states


def failover_by_file() -> Iterator[tuple[str, Named]]:
    yield "failover, by file", all_files(*LOST, OVER)
    silent = (WORK, "lose west silently", "wait 15", OVER, "wait 4")
    picked = ("small", "query", "itself", "shared", "three brokers", "no loss")
    yield "failover, silent, by file", {name: Situation(FILES[name], silent) for name in picked}
    commands = (OVER, LEAVE, SWITCH, BACK, "$ fence --cluster west")
    yield (
        "not to be moved",
        {
            f"{feature}, {command[2:]}": Situation((feature,), (WORK, command))
            for feature, command in product(REFUSED, commands)
        },
    )


def failover_by_state() -> Iterator[tuple[str, Named]]:
    found = {
        name: Situation((), (*story, "lose west", "wait 5", OVER, "wait 4"))
        for name, story in states().items()
    }
    yield "failover, by state", found
    picked = (
        "a group lags",
        "the mirror lags",
        "the mirror stands",
        "no samples topic",
        "Connect is gone",
        "nothing written yet",
    )
    yield (
        "failover, by state, a query",
        {
            name: Situation(("query",), (*states()[name], "lose west", "wait 5", OVER, "wait 4"))
            for name in picked
        },
    )
    for way in ("earliest", "timestamp"):
        yield (
            f"failover, untranslatable, {way}",
            {
                name: Situation((way,), (*states()[name], "lose west", "wait 5", OVER, "wait 4"))
                for name in (
                    "a group older than the mirror",
                    "a group has never committed",
                    "no offset syncs",
                    "a group forgot one topic",
                )
            },
        )


def failover_by_word() -> Iterator[tuple[str, Named]]:
    """What a person says on the command line."""
    lag = ("mirror lags 2", *LOST)
    told: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
        "not attested": ((), (*LOST, "$ failover --to east")),
        "attested, and answers": ((), (WORK, OVER)),
        "another site attested": ((), (*LOST, "$ failover --attest-down east --to east")),
        "a site nobody knows": ((), (*LOST, "$ failover --attest-down north --to east")),
        "to nowhere": ((), (*LOST, "$ failover --attest-down west --to north")),
        "without a target named": ((), (*LOST, "$ failover --attest-down west")),
        "down and sick": ((), (*LOST, "$ failover --attest-down west --attest-sick west")),
        "budget exceeded": (("little loss",), (*lag, OVER)),
        "no loss allowed": (("no loss",), (*lag, OVER)),
        "loss accepted": (("no loss",), (*lag, f"{OVER} --accept-loss 1000", "wait 4")),
        "too little accepted": (("no loss",), (*lag, f"{OVER} --accept-loss 2")),
        "accepted below the budget": ((), (*lag, f"{OVER} --accept-loss 0")),
        "a samples topic that is old": (
            (),
            (
                WORK,
                "watcher stops",
                "wait 20",
                "lose west",
                "wait 5",
                f"{OVER} --accept-loss 100000",
                "wait 4",
            ),
        ),
        "twice": ((), (*LOST, OVER, "wait 5", OVER)),
        "soon after another move": (
            ("quiet",),
            (WORK, SWITCH, "wait 5", BACK, "wait 5", "lose west", "wait 5", OVER),
        ),
        "soon after another move, acknowledged": (
            ("quiet",),
            (
                WORK,
                SWITCH,
                "wait 5",
                f'{BACK} --acknowledge "eve: agreed"',
                "wait 5",
                "lose west",
                "wait 5",
                f'{OVER} --acknowledge "eve: agreed"',
                "wait 4",
            ),
        ),
        "the target is another cluster, accepted": (
            (),
            (
                *LOST,
                "$ fence --cluster east",
                "east is another cluster",
                f"{OVER} --accept-cluster east=another-east",
                "wait 4",
            ),
        ),
        "without coordination": (
            (),
            (
                WORK,
                "ensemble gone",
                "lose west",
                "wait 5",
                f"{OVER} --without-coordination --reason gone",
                "wait 4",
            ),
        ),
        "without coordination, though it is there": (
            (),
            (*LOST, f"{OVER} --without-coordination --reason gone", "wait 4"),
        ),
        "without coordination, a query": (
            ("query",),
            (
                WORK,
                "ensemble gone",
                "lose west",
                "wait 5",
                f"{OVER} --without-coordination --reason gone",
                "wait 4",
            ),
        ),
        "without coordination, then with it": (
            (),
            (
                WORK,
                "ensemble gone",
                "lose west",
                "wait 5",
                f"{OVER} --without-coordination --reason gone",
                "wait 5",
                "ensemble up",
                "west returns",
                "wait 5",
                BACK,
            ),
        ),
        "without coordination, killed and resumed": (
            (),
            (
                WORK,
                "ensemble gone",
                "lose west",
                "wait 5",
                "stop connector east: west-to-east-source dies after",
                f"{OVER} --without-coordination --reason gone",
                "all is well",
                "$ resume",
                "wait 4",
            ),
        ),
        "without coordination, killed and taken back": (
            (),
            (
                WORK,
                "ensemble gone",
                "lose west",
                "wait 5",
                "commit offset east: billing dies after",
                f"{OVER} --without-coordination --reason gone",
                "all is well",
                "$ abort",
                "wait 4",
            ),
        ),
        "part of the site answers": (("three brokers",), (WORK, "brokers 1, 2 at west gone", "wait 5", OVER)),
        "the site answers again on the way": ((), (*LOST, "west returns", "wait 1", OVER)),
    }
    yield "failover, by word", {name: Situation(file, story) for name, (file, story) in told.items()}


def self_redirecting() -> Iterator[tuple[str, Named]]:
    """Producers that move themselves: they turn up at the target when they like."""
    found = {}
    for file, when in product(("itself", "shared, itself"), ("before", "after", "never")):
        turn_up = {
            "before": (ROAM, "wait 2", OVER),
            "after": (OVER, ROAM, "wait 2", "$ resume"),
            "never": (OVER,),
        }[when]
        found[f"{file}, turns up {when}"] = Situation(FILES[file], (*LOST, *turn_up, "wait 4"))
    found["attested to write"] = Situation(
        ("itself", "shared, unmarked"),
        (*LOST, OVER, ROAM, "wait 2", "$ resume --attest-writing checkout --reason seen", "wait 4"),
    )
    yield "failover, roaming", found
