"""Files with something wrong: the exact words, with line and column, of every rule there is."""

from __future__ import annotations

import copy
import json
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.topology.consumer_kinds import all_rules
from orchestrator.topology.loading import check_text

HERE = Path(__file__).parent
CASES: list[Mapping[str, Any]] = yaml.safe_load((HERE / "broken.yaml").read_text(encoding="utf-8"))


def base(name: str) -> str:
    """A file that is valid."""
    return (HERE / "bases" / f"{name}.yaml").read_text(encoding="utf-8")


def broken(case: Mapping[str, Any]) -> str:
    """The text of one broken file; every edit must really apply."""
    text = base(case["file"])
    for edit in case["edits"]:
        assert edit["old"] in text, f"{case['what']}: {edit['old']!r} is not in {case['file']}"
        text = text.replace(edit["old"], edit["new"], 1)
    return text


def said(text: str) -> list[str]:
    """Every problem as `validate` shows it, without the file's name."""
    problems = check_text(text, "f").problems
    return [f"{problem.severity} {problem.text('f').removeprefix('f:')}" for problem in problems]


@pytest.mark.parametrize("case", CASES, ids=[case["what"] for case in CASES])
def test_a_broken_file_is_told_in_these_words(case: Mapping[str, Any]) -> None:
    """Place, what is wrong, the rule, and what to do instead."""
    assert said(broken(case)) == case["says"]


def test_every_rule_has_a_file_that_breaks_it() -> None:
    """No rule that was never seen at work, and no word of a rule that is not one."""
    told = {
        match
        for case in CASES
        for line in case["says"]
        for match in re.findall(r" \[([a-z][a-z0-9-]+)\]$", line, re.MULTILINE)
    }
    assert told == {rule.id for rule in all_rules()}
    assert sum(any(line.startswith("error") for line in case["says"]) for case in CASES) >= 40


def test_no_secret_is_ever_shown() -> None:
    """Not of a literal one, not of one with the wrong type or beside a misspelt key."""
    secret = "hunter2"
    places = [
        "client: {sasl.password: %s}",
        "client: {sasl.pasword: %s}",
        "client: {ssl.key.password: {a: %s}}",
        "client: {sasl.jaas.config: 'x required password=\"%s\";'}",
        "client: 'sasl.password=%s'",
        "connect_client: {username: a, password: [%s]}",
        "connect_client: {usrname: a, pasword: %s}",
        "connect: ['http://a:%s@b:1']",
        "mirror_client: {ssl.keystore.key: '%s'}",
        "schema_registry: 'http://a:%s@b:1'",
        "password: %s",
    ]
    for place in places:
        text = base("active-passive").replace(
            "    kafka: 4.3.1\n", f"    kafka: 4.3.1\n    {place % secret}\n", 1
        )
        checked = check_text(text, "f")
        assert checked.topology is None, place
        assert secret not in "".join(said(text)), place
        assert not any(secret in str(problem.as_json()) for problem in checked.problems), place


def test_five_errors_of_every_kind_show_five() -> None:
    """A misspelt key, a wrong type, a broken reference, a rule of numbers, and a secret."""
    text = base("active-passive")
    for old, new in [
        ("partitions: 4", "partitons: 4"),
        ("brokers: 3, controllers: 3}", "brokers: 2, controllers: 3}"),
        ("source: west", "source: wst"),
        ("    kafka: 4.3.1\n", "    kafka: 4.3.1\n    client: {sasl.password: hunter2}\n"),
        ("acks: all", "acks: most"),
    ]:
        assert old in text
        text = text.replace(old, new, 1)
    assert [line for line in said(text) if line.startswith("error")] == [
        "error 9:29: a literal secret in clusters.west.client.sasl.password [secret-literal]\n"
        "    write sasl.password: ${env:NAME} or ${file:PATH}",
        "error 21:5: topics[0] lacks `partitions`\n    add it",
        "error 21:35: unknown key `partitons` in topics[0]\n    did you mean `partitions`?",
        "error 21:59: `orders` has 3 replicas; cluster `west` has 2 brokers [replicas-fit]\n"
        "    add brokers or lower replicas",
        "error 22:62: `payments` has 3 replicas; cluster `west` has 2 brokers [replicas-fit]\n"
        "    add brokers or lower replicas",
        "error 26:14: there is no cluster `wst` [clusters-exist]\n    did you mean `west`?",
        'error 29:61: producers[0].acks is "most"; expected one of all, 1, 0',
    ]


def test_nothing_is_said_of_what_depends_on_a_part_that_cannot_be_read() -> None:
    """A row without a readable number of brokers makes no topic too tall."""
    text = base("active-passive").replace("brokers: 3", "brokers: many", 1)
    assert said(text) == ['error 11:29: clusters.west.nodes[0].brokers is "many"; expected a whole number']


@pytest.mark.parametrize("name", ["active-active", "aggregation", "aggregation-two-centres", "stretched-3dc"])
def test_no_part_that_is_missing_or_unreadable_makes_another_part_wrong(name: str) -> None:
    """Whatever single part is refused: of an otherwise sound file nothing else is said."""
    sound = yaml.safe_load(base(name))
    refused = 0
    for path in list(paths(sound)):
        for change in (REMOVED, [[1]]):
            problems = check_text(json.dumps(changed(sound, path, change)), "f").problems
            if any(not problem.rule for problem in problems):
                refused += 1
                assert [problem.text("f") for problem in problems if problem.rule] == [], (path, change)
    assert refused > 100


REMOVED = object()


def paths(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every path in plain data."""
    parts = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in parts:
        yield (*path, key)
        yield from paths(value, (*path, key))


def changed(data: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """A copy with one part replaced or removed."""
    copied = copy.deepcopy(data)
    parent = copied
    for part in path[:-1]:
        parent = parent[part]
    if value is REMOVED:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return copied


def test_a_file_is_checked_in_less_than_a_second() -> None:
    """The whole of it: reading, rules, and the analysis behind some of them."""
    text = base("stretched-2dc")
    started = time.process_time()
    check_text(text)
    assert time.process_time() - started < 1.0
