"""How `dcctl status` shows clusters whose consumers would go where no mirror leads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.wording import listed, plural, short_age

_LISTED = 5


def place_headline(place: Mapping[str, Any]) -> str:
    """One line for one of them."""
    left, entered = place["left"], place["entered"]
    name = f"{left} → {entered}"
    if place["problem"]:
        return f"{name}: {place['problem']}"
    if place["open_run"]:
        return f"{name}: {place['open_run']} is not done: dcctl resume {place['open_run']} FILE"
    if place["working_at"] == entered:
        return f"{name}: consumers of {left} work at {entered}; the way back: dcctl failback FILE --to {left}"
    again = [group["reread"].get("at_most") for group in place["groups"]]
    cost = "an unknown number of" if None in again else f"at most {sum(filter(None, again)):,}"
    could = "would be refused" if place["would_refuse"] else "could go on"
    groups = plural(len(place["groups"]), "group")
    return f"{name}: if {left} were lost now, {groups} {could} at {entered}, reading {cost} records again"


def consumer_called(group: Mapping[str, Any]) -> str:
    """A row of `groups`: its consumer's name, and its group id where that is another one."""
    name, group_id = group.get("consumer", group["group"]), group["group"]
    return str(name) if name == group_id else f"{name} (group {group_id})"


def place_lines(place: Mapping[str, Any]) -> Iterator[str]:
    """What is in the way, and what each group would go on from."""
    for gate in place["would_refuse"]:
        yield f"{gate['id']}: {gate['reason']}"
        if gate["hint"]:
            yield f"    {gate['hint']}"
    if place["problem"]:
        return
    if place["away"]:
        yield f"at {place['entered']} already: {listed(place['away'], _LISTED)}"
    age = place["watcher_round_age_s"]
    said = place["watcher_problem"] or ("no round yet" if age is None else f"last round {short_age(age)} ago")
    yield f"watcher at {place['entered']}: {said}"
    for group in place["groups"]:
        at_most = group["reread"].get("at_most")
        cost = "unknown" if at_most is None else f"{at_most:,}"
        yield (
            f"{consumer_called(group)}: {group['exact']} of {plural(group['partitions'], 'position')} exact, "
            f"read again at most {cost}"
        )
        if group["without_translation"]:
            yield f"    without a place: {listed(group['without_translation'], _LISTED)}"
