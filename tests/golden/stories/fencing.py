"""Fences; and the file's own playbooks around every verb."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tests.golden.play import Situation
from tests.golden.stories.estates import BACK, FILES, LEAVE, OVER, SWITCH, WORK, Named


def fencing() -> Iterator[tuple[str, Named]]:
    fence, unfence = "$ fence --cluster west", "$ unfence --cluster west"
    found: Named = {}
    for file, cluster, consumers in product(
        ("small", "shared", "all themselves"), ("west", "east"), ("", " --consumers")
    ):
        story = (
            WORK,
            f"$ fence --cluster {cluster}{consumers}",
            "wait 2",
            f"$ unfence --cluster {cluster}",
            "wait 2",
        )
        found[f"{file}, {cluster}{consumers}"] = Situation(FILES[file], story)
    odd: dict[str, tuple[str, ...]] = {
        "one of them": (
            f"{fence} --principal User:checkout",
            "wait 2",
            f"{unfence} --principal User:checkout",
        ),
        "one of them let in": (fence, f"{unfence} --principal User:checkout"),
        "a principal nobody has": (f"{fence} --principal User:eve",),
        "twice": (fence, fence, unfence, unfence),
        "nothing to lift": (unfence,),
        "denied by somebody else before": ("west denies User:checkout to write topic *", fence, unfence),
        "no authorizer": ("west has no authorizer", fence, unfence),
        "a super user": ("User:checkout is a super user at west", fence, unfence),
        "the cluster is gone": ("lose west", "wait 5", fence, unfence),
        "the cluster hangs": ("lose west silently", "wait 5", fence),
        "the ensemble is gone": ("ensemble gone", fence),
        "the lock is held": ("another holds the lock", fence, unfence),
        "a hold": ("eve holds dc:west", fence, "eve releases dc:west", fence),
        "a hold elsewhere": ("eve holds dc:east", fence, unfence),
        "another cluster": (
            fence,
            unfence,
            "west is another cluster",
            fence,
            f"{fence} --accept-cluster west=another-west",
        ),
        "nobody writes": (
            "client west producer-checkout stops",
            "client west producer-settlement stops",
            fence,
        ),
        "unfenced where another is primary": (
            SWITCH,
            "wait 5",
            unfence,
            f"{unfence} --acknowledge 'eve: agreed'",
        ),
        "the standby fenced, then a switchover": ("$ fence --cluster east", SWITCH, "wait 4"),
        "the standby fenced for all, then a switchover": (
            "$ fence --cluster east --consumers",
            SWITCH,
            "wait 4",
        ),
        "the standby fenced, then a failover": (
            "$ fence --cluster east --consumers",
            "lose west",
            "wait 5",
            OVER,
            "wait 4",
        ),
        "fenced, then a switchover": (fence, SWITCH, "wait 5", BACK, "wait 4"),
    }
    found |= {name: Situation((), (WORK, *story)) for name, story in odd.items()}
    three = {
        "a broker gone": ("brokers 1 at west gone", "wait 5", fence, unfence),
        "a broker hangs": ("brokers 1 at west silent", "wait 12", fence, unfence),
        "a broker hangs since just now": ("brokers 1 at west silent", "wait 1", fence),
        "no quorum": ("controllers 1, 2 at west gone", "wait 2", fence),
    }
    found |= {name: Situation(("three brokers",), (WORK, *story)) for name, story in three.items()}
    yield "fence", found


def hooked() -> Iterator[tuple[str, Named]]:
    verbs: dict[str, tuple[str, ...]] = {
        "failover": ("lose west", "wait 5", OVER),
        "leaving a sick site": ("brokers 1 at west gone", "wait 5", LEAVE),
        "switchover": (SWITCH,),
        "failback": (SWITCH, "wait 6", BACK),
        "fence": ("$ fence --cluster west",),
        "unfence": ("$ fence --cluster west", "$ unfence --cluster west"),
    }
    ways: dict[str, tuple[str, ...]] = {
        "well": (),
        "the first fails": ("run playbook hosts: pre.yaml fails",),
        "the last fails": ("run playbook hosts: post.yaml fails",),
    }
    yield (
        "hooks",
        {
            f"{verb}, {way}": Situation(("three brokers", "hooks"), (WORK, *before, *story, "wait 4"))
            for (verb, story), (way, before) in product(verbs.items(), ways.items())
        },
    )
