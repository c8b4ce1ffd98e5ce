"""`dcctl status` as a tired person reads it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from orchestrator.cli.main import run
from orchestrator.cli.output import console, speak_of, speak_of_no_file
from orchestrator.cli.status_headline import headline
from orchestrator.cli.status_view import render_status

FILE = str(Path(__file__).parents[2] / "topologies" / "active-passive.yaml")


def mirror(**changes: Any) -> dict[str, Any]:
    """A healthy mirror, as `watch.status` tells it."""
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
    "reason": "the watcher has been silent",
    "hint": "start it again",
}


UNMEASURED = [
    {
        "id": name,
        "outcome": "unknown",
        "measured": "not measured",
        "limit": "none",
        "reason": "coordination: no answer",
        "hint": "bring coordination back",
    }
    for name in ("needed", "not-held")
]


def shown(found: dict[str, Any], width: int = 80) -> str:
    """What a terminal of this width shows."""
    out = io.StringIO()
    render_status({"places": [], "mirrors": [found]}, Console(file=out, width=width))
    return out.getvalue()


@pytest.mark.parametrize(
    ("file", "command"), [(None, "dcctl failback\n"), (Path("my estate.yaml"), "failback 'my estate.yaml'\n")]
)
def test_commands_name_the_file_as_everywhere(
    file: Path | None, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it can be pasted; of the simulation that runs they need none."""
    speak_of(file)
    render_status({"places": [], "mirrors": [moved()]}, console)
    speak_of_no_file()
    assert command in capsys.readouterr().out


def test_the_first_line_says_it_all() -> None:
    """State, price and obstacle, in this order."""
    good = "west → east: if west were lost now: at most 1,850 records lost (1.4 s); a failover could be done"
    assert headline(mirror()) == good
    refused = headline(mirror(would_refuse=[REFUSAL]))
    assert refused.endswith("a failover would be REFUSED (watcher-alive)")
    both = headline(mirror(would_refuse=[REFUSAL, *UNMEASURED]))
    assert both.endswith("REFUSED (watcher-alive); cannot be measured: needed, not-held")
    unmeasured = headline(mirror(would_refuse=UNMEASURED))
    assert unmeasured.endswith("a failover would not begin (cannot be measured: needed, not-held)")
    assert "SOURCE LOST" in headline(mirror(lost_between_s=[1.0, 2.0]))
    unknown = {"topics": {}, "at_most": None, "seconds_at_most": None, "budget": None}
    assert "unknown loss" in headline(mirror(loss=unknown))


def test_what_could_not_be_measured_is_no_refusal() -> None:
    """It has a list of its own, and one cause of many is told once."""
    text = shown(mirror(would_refuse=UNMEASURED))
    assert ("✗" in text, "refused" in text.lower()) == (False, False)
    assert "? needed, not-held: coordination: no answer (not measured)" in text
    assert text.count("bring coordination back") == 1
    both = shown(mirror(would_refuse=[*UNMEASURED, REFUSAL]))
    refused, unmeasured = both.index("✗ watcher-alive"), both.index("? needed")
    assert refused < both.index("these could not be measured") < unmeasured


def test_everything_fits_into_80_columns() -> None:
    """Consumers with their ages and costs, and what is not as it should be below them."""
    text = shown(mirror(would_refuse=[REFUSAL]))
    for words in (
        "billing",
        "0.5 s old",
        "500",
        "batch 41, 0.8 s old",
        "revenue: the copy is 1 batch behind",
    ):
        assert words in text
    assert "✗ watcher-alive: the watcher has been silent" in text
    assert "start it again" in text
    assert (
        text.index("watcher-alive: ")
        < text.index("records lost, by topic")
        < text.index("records read again")
    )
    assert all(len(line) <= 110 for line in text.splitlines())


@pytest.mark.parametrize(
    ("part", "change", "words"),
    [
        ("watcher", {"problem": "there is no such topic"}, "there is no such topic"),
        ("watcher", {"round_age_s": None}, "never ran here"),
        (
            "watcher",
            {"round_age_s": None, "clock_ahead_s": 3600.0},
            "its clock is 60 min ahead of this machine's",
        ),
        ("watcher", {"good_round_age_s": None}, "never saw the source answer"),
        ("watcher", {"good_round_age_s": 600.0}, "source seen 10 min ago"),
        ("watcher", {"unreadable_records": 3}, "3 records not understood"),
        ("mirror", {"states": {"a": "FAILED"}}, "a is FAILED"),
        ("mirror", {"states": {"a": "UNKNOWN"}, "problems": ["no worker answers"]}, "no worker answers"),
        ("mirror", {"lag_records": {}}, "lag not known"),
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
            "not seen at east since r1: cashier dcctl resume r1 FILE looks again",
        ),
        (
            {"not_seen": None, "problem": "a file is gone"},
            "? who works at east is unknown: a file is gone",
        ),
    ],
)
def test_who_was_not_seen_since_the_last_move_is_told(move: dict[str, Any], words: str) -> None:
    """Until somebody has looked again."""
    found = mirror(last_move={"run_id": "r1", "target": "east", "outcome": "unknown", **move})
    assert words in " ".join(shown(found, width=200).split())


def test_what_a_move_that_is_not_done_holds_is_told() -> None:
    """In the words of the run itself."""
    move = {"run_id": "r1", "target": "east", "outcome": "incomplete", "not_seen": [], "problem": ""}
    held = "Recorded as primary: west; held: producer-checkout stopped"
    words = " ".join(shown(mirror(last_move={**move, "where_now": held}), width=200).split())
    assert f"move r1 is not done. {held}" in words
    assert "is not done" not in shown(mirror(last_move={**move, "where_now": ""}))


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


def test_the_word_of_a_guard_from_the_future_has_no_age() -> None:
    """It is of another clock: that it was said just now is not known."""
    word = {"server": "kafka1", "state": "closed", "reason": "east has taken over", "age_s": None}
    text = shown(mirror(guards=[{**word, "is_at_work": False}]), width=200)
    assert (
        "closed to applications: kafka1: east has taken over, said at an unknown time, for its clock" in text
    )
    text = shown(mirror(guards=[{**word, "state": "opening", "is_at_work": False}]), width=200)
    assert "starts, open to applications: kafka1, said at an unknown time, for its clock" in text


def test_an_open_fence_is_told_before_the_mirrors() -> None:
    """Who is denied what at which cluster, since when, and the command that lifts it."""
    fence = {"cluster": "west", "run_id": "r1-fence", "since_s": 1_800_000_000.0, "surely": True}
    fence |= {"problem": "", "not_in_file": [], "writing": ["User:checkout", "User:returns"], "reading": []}
    half = {**fence, "surely": False, "writing": [], "reading": ["User:billing"]}
    out = io.StringIO()
    gone = {**fence, "not_in_file": ["User:returns"]}
    unread = {**fence, "problem": "node 7: is no JSON", "since_s": None, "writing": None, "reading": None}
    found = {"fences": [fence, half, gone, unread], "fences_problem": "", "places": [], "mirrors": [mirror()]}
    render_status(found, Console(file=out, width=300))
    first, second, third, fourth, *_ = out.getvalue().splitlines()
    assert first == (
        "FENCED west since 2027-01-15 08:00:00 UTC by r1-fence: denied writing: User:checkout, User:returns. "
        "dcctl unfence FILE --cluster west"
    )
    assert third == (f"{first}, with a file that names User:returns: this one has nothing of theirs there")
    assert fourth == "FENCED maybe at west by r1-fence, whose journal cannot be read: node 7: is no JSON"
    assert "maybe denied reading: User:billing" in second
    out = io.StringIO()
    unread = {"fences": None, "fences_problem": "coordination: no answer", "mirrors": []}
    render_status(unread, Console(file=out, width=300))
    assert out.getvalue() == "? whether a fence stands: coordination: no answer\n"


def test_a_broker_that_is_open_beside_the_primary_is_named() -> None:
    """It was at work when the other side took over, and nobody has stopped it."""
    opened = {"server": "kafka1", "state": "open", "reason": "", "age_s": 9.0, "is_at_work": False}
    wrong = {**opened, "server": "kafka2", "beside": "east has taken over (run r1)"}
    starting = {**opened, "server": "kafka3", "state": "opening"}
    text = shown(mirror(guards=[{**opened, "beside": ""}, wrong, starting]), width=200)
    assert "open to applications, and should be closed: kafka2: east has taken over (run r1)" in text
    assert "starts, open to applications: kafka3" in text
    assert "kafka1" not in text
    told = headline({**moved(), "source_answers": True, "guards": [opened, wrong]})
    assert "west is up, and only access rules can keep applications off kafka2; the way back" in told


def moved(**changes: Any) -> dict[str, Any]:
    """After a good failover: east is primary, west is lost, and the loss of west is of no interest any more."""
    side = {
        "kind": "moved",
        "primary": "east",
        "since_s": 1_000.0,
        "run_id": "r1",
        "open_run": None,
        "holder": "",
    }
    return mirror(
        source_answers=False,
        lost_between_s=[1.0, 2.0],
        would_refuse=[{**REFUSAL, "id": "groups-idle", "hint": "stop these consumers at east first"}],
        working_side={**side, **changes},
    )


OPEN_RUN = {
    "run_id": "r2",
    "verb": "failback",
    "source": "east",
    "target": "west",
    "outcome": "incomplete",
    "ended_at_s": 2_000.0,
    "only_looks": False,
    "no_way_back": [],
}


def test_after_a_good_failover_the_first_line_says_who_is_primary() -> None:
    """Nothing of a loss that is over, and no advice to stop what is production now."""
    assert headline(moved()) == (
        "west → east: east is primary since 1970-01-01 00:16:40 UTC by r1; applications work there; "
        "west does not answer; when it is back: dcctl failback FILE"
    )
    text = shown(moved(), width=200)
    for wrong in ("SOURCE LOST", "REFUSED", "stop these consumers", "would be lost", "would read again"):
        assert wrong not in text


def test_the_side_that_was_left_may_be_back() -> None:
    """Closed by all of its guards, by some, or open."""
    closed = {"server": "k1", "state": "closed", "reason": "east", "age_s": 0.5, "is_at_work": True}
    opened = {**closed, "server": "k2", "state": "open", "is_at_work": False}
    silent = {**closed, "is_at_work": False}
    assert "west is back, kept closed by its guard; the way back: dcctl failback" in headline(
        {**moved(), "guards": [closed]}
    )
    assert "1 of 2 brokers kept closed" in headline({**moved(), "guards": [closed, opened]})
    assert "west does not answer; when it is back" in headline({**moved(), "guards": [silent]})
    assert "west answers; the way back" in headline({**moved(), "source_answers": True})
    assert "west could not be asked" in headline({**moved(), "source_answers": None})


@pytest.mark.parametrize(
    ("closed", "status"),
    [([], 0), ([REFUSAL], 4), (UNMEASURED, 7), ([*UNMEASURED, REFUSAL], 4)],
)
def test_a_check_tells_by_its_status_whether_a_failover_could_be_done(
    closed: list[dict[str, Any]],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One mirror is enough to refuse; without `--check` the status only says that it could be told."""
    found = {
        "topology": "t",
        "places": [],
        "clusters": [],
        "mirrors": [mirror(), mirror(would_refuse=closed)],
    }
    monkeypatch.setattr("orchestrator.watch.status.topology_status", lambda *_: found)
    for options, expected in (([], 0), (["--check"], status), (["--check", "--json"], status)):
        assert run(["status", FILE, *options]) == expected
        assert capsys.readouterr().out


def test_a_move_that_is_not_done_comes_before_any_price() -> None:
    """With both ways out, and who is recorded as primary; under a lock neither is advised."""
    found = moved(kind="unfinished", open_run=OPEN_RUN)
    assert headline(found) == (
        "west → east: failback r2 is incomplete since 1970-01-01 00:33:20 UTC: "
        "dcctl resume r2 FILE, or dcctl abort r2 FILE; recorded as primary: east"
    )
    assert "records lost" not in shown(found, width=200)
    stands = {
        "step": "start",
        "title": "Start the producers at east",
        "since_s": 1_990.0,
        "because": "",
        "surely": True,
    }
    forward = headline(moved(kind="unfinished", open_run={**OPEN_RUN, "no_way_back": [stands]}))
    assert "dcctl abort" not in forward
    assert (
        "dcctl resume r2 FILE; the run can only go forward: since 1970-01-01 00:33:10 UTC steps were "
        "done that cannot be undone: Start the producers at east; recorded as primary: east"
    ) in forward
    unknown = moved(kind="unfinished", open_run={**OPEN_RUN, "outcome": "unknown"})
    assert "failback r2 is of unknown outcome since" in headline(unknown)
    busy = headline(moved(kind="under-way", open_run=OPEN_RUN, holder="ada on h"))
    assert "the lock is held by ada on h" in busy
    assert "abort" not in busy
    looks = headline(moved(open_run={**OPEN_RUN, "run_id": "r1", "only_looks": True}))
    assert looks.endswith("r1 was not seen to its end: dcctl resume r1 FILE looks again")


def test_a_part_of_the_source_that_does_not_answer_is_named() -> None:
    """With what a person can do about it; not where all are silent, nor where it has been left."""
    sick = mirror(source_silent=["k2:9092"], source_datacenters=["west"])
    text = shown(sick, width=140)
    assert "part of west does not answer: k2:9092" in text
    assert "dcctl failover FILE --attest-degraded west" in text
    for other in ({**sick, "source_answers": False}, {**sick, **moved(), "source_answers": True}):
        assert "--attest-sick" not in shown(other, width=140)


def test_a_slow_watcher_is_called_slow() -> None:
    """While the source answers; of a longer silence only its length is told."""
    found = mirror()
    found["watcher"] |= {"round_age_s": 6.7, "aim_s": 0.5}
    assert "the watcher is slow: last round 6.7 s ago, aim 0.5 s" in shown(found, width=140)
    assert "is slow" not in shown({**found, "source_answers": False}, width=140)
    found["watcher"]["round_age_s"] = 300.0
    assert "last round 5 min ago" in shown(found, width=140)
