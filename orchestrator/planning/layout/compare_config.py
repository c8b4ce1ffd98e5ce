"""Settings of a topic: what the file says, what is set, and what setting it would destroy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from orchestrator.planning.layout.applied import cause_of
from orchestrator.planning.layout.comparison import Comparison
from orchestrator.planning.layout.desired_topics import DesiredTopic
from orchestrator.planning.layout.difference import Cause, Difference, Finding, Work
from orchestrator.planning.layout.observed import ObservedTopic
from orchestrator.topology.kinds import DestructiveChange

_LISTS = frozenset({"cleanup.policy"})
_RETENTION = frozenset({"retention.ms", "retention.bytes", "local.retention.ms", "local.retention.bytes"})
_MADE_BY_OTHERS = frozenset({"connect", "kafka", "mirror"})


def compare_config(side: Comparison, topic: DesiredTopic, found: ObservedTopic) -> Iterator[Finding]:
    """Every setting that is not as the file says; and those that it does not name.

    A setting that somebody gave to the source of a mirrored topic is missing at its copy.
    """
    known = side.applied.topics.get(topic.name) if side.applied else None
    last = known.config if known is not None else None
    for key, wanted in sorted(topic.config.items()):
        has = found.config.get(key)
        # Not set, but in force all the same: there is nothing to do.
        in_force = has if has is not None else side.observed.topic_defaults.get(key)
        if not _is_same(key, wanted, in_force):
            yield _setting(side, topic, _Entry(key, wanted, has), last)
    source = side.source_of(topic)
    for key in sorted(found.config.keys() - topic.config.keys()):
        # Whoever makes a topic of its own gives it settings of its own.
        if topic.role not in _MADE_BY_OTHERS:
            is_like_source = source is not None and source.config.get(key) == found.config[key]
            finding = _extra(side, topic, _Entry(key, None, found.config[key]), last)
            yield _also_at_source(finding) if is_like_source else finding
    if source is not None and topic.role == "mirrored":
        for key in sorted(source.config.keys() - topic.config.keys() - found.config.keys()):
            yield _unlike_source(side.desired.name, topic, key, source.config[key])


def destruction(key: str, old: str | None, new: str | None) -> DestructiveChange | None:
    """Which kind of destruction it is to set `key` from `old` to `new` (None: the broker's own setting)."""
    if key in _RETENTION and new != "-1" and (old is None or new is None or _is_less(new, old)):
        return "delete-records"
    if key == "cleanup.policy":
        return "delete-records"
    if key == "min.insync.replicas" and old is not None and (new is None or _is_less(new, old)):
        return "reduce-durability"
    if key == "unclean.leader.election.enable" and new == "true":
        return "reduce-durability"
    return None


class _Entry(NamedTuple):
    """One setting: what it shall be (None: the broker's own), and what it is."""

    key: str
    wanted: str | None
    has: str | None


def _setting(side: Comparison, topic: DesiredTopic, entry: _Entry, last: Mapping[str, str] | None) -> Finding:
    needs = destruction(entry.key, entry.has, entry.wanted)
    is_allowed = needs is None or needs in side.allow
    difference = Difference(
        cluster=side.desired.name,
        subject=f"topic {topic.name}",
        aspect=f"config {entry.key}",
        wanted=entry.wanted or "",
        found=entry.has or "",
        cause=_cause(entry, last),
        mend="planned" if is_allowed else "not-allowed",
        reason=_why(last, entry),
        needs=needs,
        irreversible=needs == "delete-records",
    )
    return Finding(difference, _work(difference, topic, entry) if is_allowed else None)


def _extra(side: Comparison, topic: DesiredTopic, entry: _Entry, last: Mapping[str, str] | None) -> Finding:
    was_ours = last is not None and entry.key in last
    needs: DestructiveChange = "reset-config"
    destroys = destruction(entry.key, entry.has, None)
    if needs in side.allow and destroys is not None:
        needs = destroys
    difference = Difference(
        cluster=side.desired.name,
        subject=f"topic {topic.name}",
        aspect=f"config {entry.key}",
        wanted="",
        found=entry.has or "",
        cause=_cause(entry, last),
        mend="planned" if needs in side.allow else "not-allowed",
        reason="the file names it no more" if was_ours else "the file does not name it",
        needs=needs,
        irreversible=destroys == "delete-records",
    )
    return Finding(difference, _work(difference, topic, entry) if needs in side.allow else None)


def _cause(entry: _Entry, last: Mapping[str, str] | None) -> Cause:
    before = last.get(entry.key) if last is not None else None
    return cause_of(before, entry.wanted, entry.has, is_known=last is not None)


def _also_at_source(finding: Finding) -> Finding:
    said = finding.difference
    return replace(finding, difference=replace(said, reason=f"{said.reason}; its source has the same"))


def _unlike_source(cluster: str, topic: DesiredTopic, key: str, at_source: str) -> Finding:
    origin = topic.origin or ("", "")
    return Finding(
        Difference(
            cluster=cluster,
            subject=f"topic {topic.name}",
            aspect=f"config {key}",
            wanted="",
            found="",
            cause="drift",
            mend="kept",
            reason=f"{origin[1]} at {origin[0]} has {at_source}, its mirror has not: write it in the file",
        )
    )


def _work(difference: Difference, topic: DesiredTopic, entry: _Entry) -> Work:
    return Work(
        action="set-config",
        cluster=difference.cluster,
        name=topic.name,
        arguments={
            "set": {entry.key: entry.wanted},
            "was": {entry.key: entry.has},
            "irreversible": difference.irreversible,
        },
    )


def _why(last: Mapping[str, str] | None, entry: _Entry) -> str:
    before = last.get(entry.key) if last is not None else None
    if before is None:
        return "it is not set" if entry.has is None else "the file says so"
    if before == entry.wanted:
        return "somebody reset it" if entry.has is None else "somebody changed it"
    if before == entry.has:
        return f"the file said {before}"
    return f"somebody changed it from {before}, and the file says otherwise now"


def _is_same(key: str, wanted: str, has: str | None) -> bool:
    if has is None or key not in _LISTS:
        return wanted == has
    return sorted(part.strip() for part in wanted.split(",")) == sorted(
        part.strip() for part in has.split(",")
    )


def _is_less(new: str, old: str) -> bool:
    """Whether a limit becomes smaller; -1 is none at all. What is no number is taken for smaller."""
    try:
        low, high = int(new), int(old)
    except ValueError:
        return True
    if high == -1:
        return low != -1
    return low != -1 and low < high
