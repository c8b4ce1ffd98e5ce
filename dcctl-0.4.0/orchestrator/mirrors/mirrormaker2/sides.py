"""The gate that topics and their copies agree, and the mirror with both: it copies every record, and nothing
is deleted sooner.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from orchestrator.mirrors.mirrormaker2.connectors import connector_names
from orchestrator.moves.situation import Situation
from orchestrator.ports.part import Part
from orchestrator.replication.engine import MirrorSettings
from orchestrator.runs.gate import absent, gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.snapshot.observation import TopicState
from orchestrator.snapshot.snapshot import MirrorView
from orchestrator.topology.agreement import disagreements, largest_record, request_size, too_small_to_send
from orchestrator.topology.model import Replication
from orchestrator.wording import listed, plural

_LIMIT = "a copy takes each record of its source, and keeps it no shorter; so does the mirror between them"


class _Pair(NamedTuple):
    """A topic and its copy, with the mirror that copies the one into the other."""

    mirror: Replication
    topic: str
    source: TopicState
    copy: TopicState


def sides_agree(s: Situation) -> GateResult:
    """Of each pair that there is: a topic without its copy is for `target-topics`.

    On the way back the mirror of the file brings what had not been copied, and the other one what was written
    at the standby: both are judged, and of one that has to be made yet nothing.
    """
    parts = s.source.topics, s.target.topics
    unread = next((part for part in parts if part.value is None), None)
    if unread is not None:
        return absent("sides-agree", unread, _LIMIT)
    pairs = list(_pairs(s))
    wrong = [text for pair in pairs for text in _unlike(pair)]
    hints = [_SETTINGS] if wrong else []
    silent: Part[MirrorSettings] | None = None
    for mirror, seen in _mirrors(s):
        if seen.settings.value is None:
            silent = seen.settings
            continue
        found = _not_sent(mirror, seen.settings.value, pairs)
        wrong += found
        hints += [_REQUESTS] if found else []
    if silent is not None and not wrong:
        return absent("sides-agree", silent, _LIMIT)
    return gate_result(
        "sides-agree",
        "refused" if wrong else "ok",
        measured=f"{plural(len(pairs), 'mirrored topic')}, each with its copy",
        limit=_LIMIT,
        reason=listed(wrong)
        if wrong
        else f"copies at {s.entered if s.case != 'back' else s.left} take and keep all that their sources do",
        hint="; ".join(dict.fromkeys(hints)),
    )


_SETTINGS = (
    "dcctl drift FILE names each setting that differs; correct the copy, or add the setting to the topic in "
    "the file, and dcctl apply FILE"
)
_REQUESTS = (
    "add max.message.bytes to the topic's config in the file: dcctl apply FILE gives the mirror what it needs"
)


def _mirrors(s: Situation) -> Iterator[tuple[Replication, MirrorView]]:
    yield s.own_mirror, s.own_copying
    # One that is on the way back is looked at once it has been made.
    settings = s.copying.settings.value
    if s.case == "back" and s.way.drains and (settings is None or settings.config):
        yield s.mirror, s.copying


def _pairs(s: Situation) -> Iterator[_Pair]:
    at = {s.left: s.source.topics.value or {}, s.entered: s.target.topics.value or {}}
    for mirror in (s.own_mirror, s.mirror) if s.case == "back" else (s.own_mirror,):
        for name in mirror.topics:
            source, copy = at[mirror.source].get(name), at[mirror.target].get(mirror.mirrored_topic(name))
            if source is not None and copy is not None:
                yield _Pair(mirror, name, source, copy)


def _unlike(pair: _Pair) -> Iterator[str]:
    mirror = pair.mirror
    copy = f"{mirror.mirrored_topic(pair.topic)} at {mirror.target}"
    source = f"{pair.topic} at {mirror.source}"
    if len(pair.copy.leaders) < len(pair.source.leaders):
        yield (
            f"{copy} has {plural(len(pair.copy.leaders), 'partition')}, {source} has "
            f"{len(pair.source.leaders)}: the records of the others have no copy"
        )
    for one in disagreements(pair.source.config, pair.copy.config):
        yield f"{copy} has {one.key} {one.at_copy}, {source} has {one.at_source}: {one.effect}"


def _not_sent(mirror: Replication, settings: MirrorSettings, pairs: list[_Pair]) -> list[str]:
    own = {pair.topic: largest_record(pair.source.config) for pair in pairs if pair.mirror is mirror}
    largest = max(own, key=lambda name: own[name], default=None)
    if largest is None or (small := too_small_to_send(settings.config, own[largest])) is None:
        return []
    return [
        f"{connector_names(mirror).source} has {small[0]} {small[1]}, and {largest} at {mirror.source} takes "
        f"records of {own[largest]} bytes: such a record stops the mirror, which needs "
        f"{request_size(own.values())}"
    ]
