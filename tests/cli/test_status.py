"""`dcctl status` as a tired person reads it."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from orchestrator.cli.status_view import headline, render_status


def mirror(**changes: Any) -> dict[str, Any]:
    """A healthy mirror, as `operations.status` tells it."""
    return {
        "source": "west",
        "target": "east",
        "source_answers": True,
        "lost_between_s": None,
        "watcher": {
            "names": ["w"],
            "round_age_s": 0.4,
            "good_round_age_s": 0.5,
            "unreadable_records": 0,
            "problem": "",
        },
        "mirror": {
            "states": {"a": "RUNNING"},
            "lag_records": {"orders": 1200},
            "heartbeat_age_s": 0.9,
            "gaps": {},
            "problems": [],
        },
        "loss": {
            "topics": {"orders": {"at_least": 0, "expected": 900, "at_most": 1850}},
            "at_most": 1850,
            "seconds_at_most": 1.4,
            "budget": {"records": 20000, "seconds": 10},
        },
        "groups": [
            {
                "group": "billing",
                "position_age_s": 0.5,
                "partitions": 4,
                "exact": 4,
                "reread": {"map": 0, "position_age": 300, "at_most": 500},
                "without_translation": [],
            }
        ],
        "spark": [
            {
                "query": "revenue",
                "batch": 41,
                "source_batch": 42,
                "age_s": 0.8,
                "committed_at_s": 1.0,
                "problem": "",
                "reread": {"map": 0, "at_most": 2500},
            }
        ],
        "would_refuse": [],
        **changes,
    }


REFUSAL = {
    "id": "watcher-alive",
    "outcome": "refused",
    "measured": "40 s ago",
    "limit": "5 s",
    "reason": "the watcher is silent",
    "hint": "start it again",
}


def shown(found: dict[str, Any], width: int = 80) -> str:
    """What a terminal of this width shows."""
    out = io.StringIO()
    render_status({"mirrors": [found]}, Console(file=out, width=width))
    return out.getvalue()


def test_the_first_line_says_it_all() -> None:
    """State, price and obstacle, in this order."""
    good = "west → east: if west were lost now: at most 1,850 records lost (1.4 s); a failover could be done"
    assert headline(mirror()) == good
    refused = headline(mirror(would_refuse=[REFUSAL]))
    assert refused.endswith("a failover would be REFUSED (watcher-alive)")
    assert "SOURCE LOST" in headline(mirror(lost_between_s=[1.0, 2.0]))
    unknown = {"topics": {}, "at_most": None, "seconds_at_most": None, "budget": None}
    assert "unknown loss" in headline(mirror(loss=unknown))


def test_everything_fits_into_80_columns() -> None:
    """Consumers with their ages and costs, and what is not as it should be below them."""
    text = shown(mirror(would_refuse=[REFUSAL]))
    for words in (
        "billing",
        "0.5 s old",
        "at most 500",
        "batch 41, 0.8 s old",
        "revenue: the copy is 1 batches",
    ):
        assert words in text
    assert "✗ watcher-alive: the watcher is silent" in text
    assert "start it again" in text
    assert all(len(line) <= 110 for line in text.splitlines())


@pytest.mark.parametrize(
    ("part", "change", "words"),
    [
        ("watcher", {"problem": "there is no such topic"}, "there is no such topic"),
        ("watcher", {"round_age_s": None}, "never ran here"),
        ("watcher", {"good_round_age_s": None}, "never saw the source answer"),
        ("watcher", {"good_round_age_s": 600.0}, "source seen 10 min ago"),
        ("watcher", {"unreadable_records": 3}, "3 records not understood"),
        ("mirror", {"states": {"a": "FAILED"}}, "a is FAILED"),
        ("mirror", {"states": {}, "problems": ["no worker answers"]}, "no worker answers"),
        ("mirror", {"gaps": {"orders-0": "30 records were purged"}}, "orders-0: 30 records were purged"),
        ("mirror", {"heartbeat_age_s": None}, "no heartbeat"),
    ],
)
def test_what_is_wrong_is_said(part: str, change: dict[str, Any], words: str) -> None:
    """Each trouble of watcher and mirror in its line."""
    found = mirror()
    found[part] = {**found[part], **change}
    assert words in shown(found, width=120)


@pytest.mark.parametrize(
    ("move", "words"),
    [
        (
            {"not_seen": ["cashier"], "problem": ""},
            "not seen at east since r1: cashier dcctl resume r1 looks again",
        ),
        (
            {"not_seen": None, "problem": "a file is gone"},
            "? who works at east cannot be told: a file is gone",
        ),
    ],
)
def test_who_was_not_seen_since_the_last_move_is_told(move: dict[str, Any], words: str) -> None:
    """Until somebody has looked again."""
    found = mirror(last_move={"run_id": "r1", "target": "east", "outcome": "unknown", **move})
    assert words in " ".join(shown(found, width=200).split())


def test_after_a_move_that_all_have_followed_nothing_is_said_of_it() -> None:
    """Nor where there was none."""
    move = {"run_id": "r1", "target": "east", "outcome": "ok", "not_seen": [], "problem": ""}
    assert shown(mirror(last_move=move)) == shown(mirror(last_move=None)) == shown(mirror())


def test_brokers_that_their_guard_keeps_closed_are_listed_with_the_reason() -> None:
    """Open ones need no line; a guard that has fallen silent is told as one."""
    guard = {"server": "kafka1", "state": "closed", "reason": "east has taken over", "age_s": 0.5}
    guards = [
        {**guard, "is_at_work": True},
        {**guard, "server": "kafka2", "is_at_work": True},
        {**guard, "server": "kafka3", "age_s": 600.0, "is_at_work": False},
        {**guard, "server": "kafka4", "state": "open", "reason": "", "is_at_work": False},
    ]
    text = shown(mirror(guards=guards), width=140)
    assert "closed to applications: kafka1, kafka2: east has taken over" in text
    assert "closed to applications: kafka3: east has taken over, said 10 min ago; nothing since" in text
    assert "kafka4" not in text
    assert "guard" not in shown(mirror(guards=None))
