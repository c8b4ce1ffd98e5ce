"""How an estate may stand when a move begins."""

from __future__ import annotations

from collections.abc import Mapping

from tests.golden.stories.estates import ROAM, WORK


def states() -> Mapping[str, tuple[str, ...]]:
    """How groups, mirror, watcher and what surrounds them stand when the site goes away."""
    return {
        "a group lags": ("client west consumer-billing at 5/s", WORK),
        "a group has never committed": (
            WORK,
            "client west consumer-billing stops",
            "group billing at west forgets everything",
            "wait 3",
        ),
        "a group forgot one topic": (
            WORK,
            "client west consumer-fraud stops",
            "group fraud at west forgets orders",
            "wait 3",
        ),
        "a group older than the mirror": (
            "client west consumer-billing stops",
            "mirror is stopped",
            "work 10",
            "west purges orders-0 up to 50",
            "mirror goes on",
            "work 6",
        ),
        "a group stopped long ago": (WORK, "client west consumer-billing stops", "work 10"),
        "a member at the target": (WORK, "group billing at east has a member"),
        "consumers run at the target already": (WORK, "client east consumer-billing runs", "wait 2"),
        "the mirror lags": ("mirror lags 3", WORK),
        "the mirror stands": (WORK, "mirror stands", "wait 4"),
        "the mirror was stopped by hand": (WORK, "mirror is stopped", "wait 4"),
        "the mirror is gone": (WORK, "connector west-to-east-source is gone", "wait 2"),
        "the group sync is gone": (WORK, "connector west-to-east-checkpoint is gone", "wait 2"),
        "the mirror writes in transactions": ("mirror in transactions", WORK),
        "the watcher stands": (WORK, "watcher stops", "wait 3"),
        "the watcher has stood for long": (WORK, "watcher stops", "wait 120"),
        "the watcher never ran": ("watcher stops", WORK),
        "the watcher sees no writers": ("watcher sees no writers", WORK),
        "no samples topic": (WORK, "watcher stops", "east has no topic dcctl-samples.west.internal"),
        "no offset syncs": (WORK, "east has no topic mm2-offset-syncs.west.internal"),
        "a topic made anew at the source": (WORK, "west makes topic orders anew", "work 10"),
        "records purged before they were copied": (
            WORK,
            "mirror is stopped",
            "work 5",
            "west purges orders-0 up to 130",
            "mirror goes on",
            "wait 3",
        ),
        "nothing written yet": (
            "client west producer-checkout stops",
            "client west producer-settlement stops",
            WORK,
        ),
        "producers stopped long ago": (
            WORK,
            "client west producer-checkout stops",
            "client west producer-settlement stops",
            "work 10",
        ),
        "a slow producer": ("client west producer-checkout at 0.5/s", WORK),
        "denials of somebody else": (
            WORK,
            "east denies User:checkout to write topic *",
            "west denies User:checkout to write topic payments",
        ),
        "rights of somebody else": (
            WORK,
            "east allows User:eve to read topic orders",
            "west allows User:eve to read topic orders",
        ),
        "no authorizer": ("east has no authorizer", "west has no authorizer", WORK),
        "a super user": (
            "User:checkout is a super user at west",
            "User:settlement is a super user at east",
            WORK,
        ),
        "another holds the lock": (WORK, "another holds the lock"),
        "a hold on everything": (WORK, "eve holds all"),
        "a hold on the site that is left": (WORK, "eve holds dc:west"),
        "a hold on the target": (WORK, "eve holds dc:east"),
        "a hold on another file": (WORK, "eve holds topology:another"),
        "the ensemble is gone": (WORK, "ensemble gone"),
        "Connect is gone": (WORK, "Connect gone"),
        "Connect is silent": (WORK, "Connect silent"),
        "the target's hosts do not answer": (WORK, "hosts of east gone"),
        "landing topics hold records": (
            WORK,
            "east allows User:checkout to write topic orders",
            ROAM,
            "wait 2",
            "client east producer-checkout stops",
        ),
        "guards stand beside the source": ("guards stand beside west", WORK),
        "no landing topic": (WORK, "east has no topic orders"),
        "the target is another cluster": (
            WORK,
            "$ fence --cluster east",
            "$ unfence --cluster east",
            "east is another cluster",
        ),
    }
