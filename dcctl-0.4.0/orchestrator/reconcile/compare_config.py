"""Settings of a topic: what the file says, what is set, and what setting it would destroy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from orchestrator.estate.desired_topics import DesiredTopic
from orchestrator.estate.observed import ObservedTopic
from orchestrator.reconcile.applied import cause_of
from orchestrator.reconcile.comparison import Comparison
from orchestrator.reconcile.difference import CONFIG, Cause, Difference, Finding
from orchestrator.reconcile.topics import SetConfig, SettingsWanted
from orchestrator.topology.kinds import DestructiveChange
from orchestrator.topology.topic_settings import Meaning, meaning, says_the_same

_MADE_BY_OTHERS = frozenset({"connect", "kafka", "mirror", "watcher"})


def compare_config(side: Comparison, topic: DesiredTopic, found: ObservedTopic) -> Iterator[Finding]:
    """Every setting that is not as the file says; and those that it does not name.

    A setting that somebody gave to the source of a mirrored topic is missing at its copy.
    """
    known = side.applied.topics.get(topic.name) if side.applied else None
    last = known.config if known is not None else None
    for key, wanted in sorted(topic.config.items()):
        entry = _Entry(key, wanted, found.config.get(key), side.observed.topic_defaults.get(key))
        # Not set, but in force all the same: there is nothing to do.
        if not says_the_same(key, wanted, entry.in_force):
            yield _setting(side, topic, entry, last)
    source = side.source_of(topic)
    for key in sorted(found.config.keys() - topic.config.keys()):
        # Whoever makes a topic of its own gives it settings of its own.
        if topic.role not in _MADE_BY_OTHERS:
            is_like_source = source is not None and source.config.get(key) == found.config[key]
            default = side.observed.topic_defaults.get(key)
            finding = _extra(side, topic, _Entry(key, None, found.config[key], default), last)
            yield _also_at_source(finding) if is_like_source else finding
    if source is not None and topic.role == "mirrored":
        for key in sorted(source.config.keys() - topic.config.keys() - found.config.keys()):
            yield _unlike_source(side.desired.name, topic, key, source.config[key])


def destruction(key: str, in_force: str | None, comes: str | None) -> DestructiveChange | None:
    """Which kind of destruction it is when `comes` takes the place of what is `in_force`.

    None is a value that is not known; then the worse is assumed. Without a topic's own setting the brokers'
    is in force. Where `remote.storage.enable` is taken away, Kafka 3.9 and later demand
    `remote.log.delete.on.disable` and delete all remote records of the topic (KIP-950).
    """
    old, new = (None if text is None else meaning(key, text) for text in (in_force, comes))
    if key not in _DESTROYS or (old == new and old is not None):
        return None
    kind, is_destroyed = _DESTROYS[key]
    return kind if is_destroyed(new, old) else None


class _Entry(NamedTuple):
    """One setting: what it shall be (None: the brokers' own), what is set, and the brokers' own if known."""

    key: str
    wanted: str | None
    has: str | None
    default: str | None

    @property
    def in_force(self) -> str | None:
        """Its own setting, else the brokers'."""
        return self.has if self.has is not None else self.default

    @property
    def comes(self) -> str | None:
        """What will be in force."""
        return self.wanted if self.wanted is not None else self.default


def _setting(side: Comparison, topic: DesiredTopic, entry: _Entry, last: Mapping[str, str] | None) -> Finding:
    needs = destruction(entry.key, entry.in_force, entry.comes)
    is_allowed = needs is None or needs in side.allow
    difference = Difference(
        cluster=side.desired.name,
        subject=f"topic {topic.name}",
        aspect=f"{CONFIG} {entry.key}",
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
    needs: DestructiveChange = "reset-config"
    destroys = destruction(entry.key, entry.in_force, entry.comes)
    if needs in side.allow and destroys is not None:
        needs = destroys
    difference = Difference(
        cluster=side.desired.name,
        subject=f"topic {topic.name}",
        aspect=f"{CONFIG} {entry.key}",
        wanted="",
        found=entry.has or "",
        cause=_cause(entry, last),
        mend="planned" if needs in side.allow else "not-allowed",
        reason="the file does not name it",
        needs=needs,
        irreversible=destroys == "delete-records",
    )
    return Finding(difference, _work(difference, topic, entry) if needs in side.allow else None)


def _cause(entry: _Entry, last: Mapping[str, str] | None) -> Cause:
    before, wanted, has = (
        None if text is None else meaning(entry.key, text)
        for text in (last.get(entry.key) if last is not None else None, entry.wanted, entry.has)
    )
    return cause_of(before, wanted, has, is_known=last is not None)


def _also_at_source(finding: Finding) -> Finding:
    said = finding.difference
    return replace(finding, difference=replace(said, reason=f"{said.reason}; its source has the same"))


def _unlike_source(cluster: str, topic: DesiredTopic, key: str, at_source: str) -> Finding:
    origin = topic.origin or ("", "")
    return Finding(
        Difference(
            cluster=cluster,
            subject=f"topic {topic.name}",
            aspect=f"{CONFIG} {key}",
            wanted="",
            found="",
            cause="drift",
            mend="kept",
            reason=f"{origin[1]} at {origin[0]} has {at_source}, its mirror has not: add it to the file",
        )
    )


def _work(difference: Difference, topic: DesiredTopic, entry: _Entry) -> SetConfig:
    wanted: SettingsWanted = {
        "set": {entry.key: entry.wanted},
        "was": {entry.key: entry.has},
        "irreversible": difference.irreversible,
    }
    return SetConfig(cluster=difference.cluster, topics={topic.name: wanted})


def _why(last: Mapping[str, str] | None, entry: _Entry) -> str:
    before = last.get(entry.key) if last is not None else None
    if before is None:
        if entry.has is not None:
            return "the file says so"
        return "it is not set" + (f"; the brokers' default is {entry.default}" if entry.default else "")
    if says_the_same(entry.key, before, entry.wanted):
        return "somebody reset it" if entry.has is None else "somebody changed it"
    if says_the_same(entry.key, before, entry.has):
        return f"the file said {before}"
    return f"somebody changed it from {before}, and the file says otherwise now"


def _is_less(new: Meaning | None, old: Meaning | None) -> bool:
    """Whether a limit becomes smaller; -1 is none at all. What is not known is taken for smaller.

    So is a limit below -1, which only says that another setting holds (-2 of `local.retention.ms`).
    """
    if new == -1:
        return False
    if not isinstance(new, int) or not isinstance(old, int) or old < 0:
        return True
    return new < old


_Destroys: TypeAlias = Callable[[Meaning | None, Meaning | None], bool]
# Given what comes and what was in force. Without a setting of the topic's own the two of remote storage are
# off: no broker has one for them.
_DESTROYS: Mapping[str, tuple[DestructiveChange, _Destroys]] = {
    "retention.ms": ("delete-records", _is_less),
    "retention.bytes": ("delete-records", _is_less),
    "local.retention.ms": ("delete-records", _is_less),
    "local.retention.bytes": ("delete-records", _is_less),
    "cleanup.policy": ("delete-records", lambda _new, _old: True),
    "remote.storage.enable": ("delete-records", lambda _new, old: old is True),
    "remote.log.delete.on.disable": ("delete-records", lambda new, _old: new is True),
    "min.insync.replicas": ("reduce-durability", _is_less),
    "unclean.leader.election.enable": ("reduce-durability", lambda new, _old: new is not False),
}
