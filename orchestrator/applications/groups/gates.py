"""Where consumer groups have to stand at the place entered, what they read again, and the gates on both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orchestrator.applications.groups.places import places_along
from orchestrator.applications.groups.sharing import come_by_themselves, staying
from orchestrator.applications.translating import HOW_TO_PLACE, PLACED_LATER
from orchestrator.moves.gates.source import ages_at_s, loss_window
from orchestrator.moves.positions import TargetPosition, target_positions
from orchestrator.moves.prediction import RereadPrediction, predict_reread
from orchestrator.moves.situation import Situation
from orchestrator.moves.way import Leg
from orchestrator.ports.part import Part
from orchestrator.runs.gate import absent, gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.snapshot.partial_view import PartialView
from orchestrator.snapshot.samples import SampledPosition, SampleHistory
from orchestrator.snapshot.watcher_records import SET_CLOCKS, age_s
from orchestrator.topology.model import Consumer
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.wording import all_of, listed, plural


def recorded(s: Situation) -> Mapping[str, Mapping[TopicPartition, SampledPosition]]:
    """Where each group stands: its own word where its coordinator answers, else the watcher's."""
    left, is_whole = s.source.left.value, s.way.reach == "whole"
    said = s.source.committed.value if is_whole else {} if left is None else left.committed
    history, found = s.samples.value, {}
    for group in s.moving("group"):
        if said is not None and group.group_id in said:
            found[group.group_id] = {
                tp: SampledPosition(offset, s.seen.at_s) for tp, offset in said[group.group_id].items()
            }
        elif is_whole or history is None:
            found[group.group_id] = {}
        else:
            found[group.group_id] = dict(history.positions(group.group_id))
    return found


def positions(s: Situation) -> tuple[TargetPosition, ...]:
    """Where each group has to stand at the place entered; none where that cannot be told.

    On the way back they are placed once all stands still.
    """
    if s.case == "back" or any(part.value is None for part in _places(s)):
        return ()
    left, ends = s.source.left.value, s.source.log_ends.value
    if s.case == "planned":
        if ends is None or s.source.committed.value is None:
            return ()
    elif s.samples.value is not None:
        ends = {**s.samples.value.newest_ends(), **({} if left is None else left.logs)}
    return tuple(
        row
        for group in s.moving("group")
        for row in (
            _fed(s, group, ends or {}) if s.way.feed(group.name) is not None else _led(s, group, ends or {})
        )
    )


def _fed(s: Situation, group: Consumer, ends: Mapping[TopicPartition, LogEnd]) -> Iterable[TargetPosition]:
    """Through the map of the mirror that feeds the place entered."""
    history, offset_map = s.samples.value, s.copying.offset_map.value
    if history is None or offset_map is None:
        return ()
    return target_positions(
        s.topology,
        s.mirror,
        group,
        recorded=s.once(recorded)[group.group_id],
        sampled_ends=ends,
        offset_map=offset_map,
        recreated=history.recreated,
        by_time=(s.copying.by_time.value or {}).get(group.group_id, {}),
        target_logs=s.target.log_ends.value or {},
        lost_at_s=_unseen_at_s(s, group.group_id, history, s.source.left.value),
    )


def _led(s: Situation, group: Consumer, ends: Mapping[TopicPartition, LogEnd]) -> Iterable[TargetPosition]:
    """Along routes through maps of mirrors that go on."""
    known = s.once(recorded)[group.group_id]
    lost_at_s = s.seen.at_s if s.case == "planned" else ages_at_s(s, s.seen.at_s)
    maps = {leg.mirror: s.seen.mirror(leg.mirror).offset_map.value for leg in _legs(s)}
    places = places_along(
        s.topology,
        group,
        s.way.routes(group.name),
        s.left,
        s.entered,
        {tp: position.offset for tp, position in known.items()},
        {tp: log.start_offset for tp, log in ends.items()},
        {tp: age_s(lost_at_s, position.sampled_at_s) for tp, position in known.items()},
    )
    logs = s.target.log_ends.value or {}
    given = {mirror: found for mirror, found in maps.items() if found is not None}
    return [place.row(s.left, s.entered, given, {}, logs.get(place.there)) for place in places]


def _legs(s: Situation) -> list[Leg]:
    """Every map that a position of a group goes by that the mirror does not feed alone."""
    names = [name for name in s.way.named("group") if s.way.feed(name) is None]
    return list(dict.fromkeys(leg for name in names for route in s.way.routes(name) for leg in route))


def _unseen_at_s(s: Situation, group: str, history: SampleHistory, left: PartialView | None) -> float:
    """When a group's positions were lost: what it did afterwards nobody knows."""
    if s.case == "planned" or (left is not None and group in left.committed):
        return s.seen.at_s  # its own word, dated by this clock
    if s.case != "partial":
        return ages_at_s(s, s.seen.at_s)
    unseen_s = history.unseen_since_s(group)
    return ages_at_s(s, s.samples.at_s) if unseen_s is None else unseen_s


def groups_idle(s: Situation) -> GateResult:
    """Their offsets at the place entered can be written: nobody is in them but those that pause."""
    limit = f"no group that moves has members at {s.entered}"
    part = s.target.members
    if part.value is None:
        return absent("groups-idle", part, limit)
    called = {group.group_id: group.called for group in s.moving("group")}
    paused = set() if s.entered == s.way.home else {one.group_id for one in staying(s.way).values()}
    given = s.target.given
    if paused and given.value is None:
        return absent("groups-idle", given, limit)
    running = [
        f"{called[group]} ({count})"
        for group, count in sorted(part.value.items())
        if count and group not in paused
    ]
    read = given.value or {}
    if paused:
        by_themselves = come_by_themselves(s.way, read)
        running += [f"{one.called}, whose topics are read there already" for one in by_themselves]
    dividing = [group for group in sorted(paused) if read.get(group, frozenset()) is None]
    if dividing and not running:
        said = f"groups at {s.entered} divide their topics among members, so who reads is unknown: "
        hint = f"ask again in some seconds, or stop the consumers of these groups at {s.entered}"
        measured = f"{plural(len(dividing), 'group')} dividing"
        return gate_result("groups-idle", "unknown", measured, limit, said + listed(dividing), hint)
    return gate_result(
        "groups-idle",
        "refused" if running else "ok",
        measured=f"{plural(len(part.value), 'group')}, {len(running)} with members",
        limit=limit,
        reason=f"groups with members at {s.entered}: {listed(running)}"
        if running
        else f"no group has members at {s.entered}{' but those that pause' if paused else ''}: "
        "offsets can be written",
        hint=f"stop these consumers at {s.entered} first" if running else "",
    )


def _places(s: Situation) -> tuple[Part[Any], ...]:
    """What positions are made of: without any of these there is none, which says nothing about the groups."""
    samples = () if s.case == "planned" and not s.way.drains else (s.samples,)
    fed = (s.copying.offset_map,) if s.way.drains else ()
    led = tuple(s.seen.mirror(leg.mirror).offset_map for leg in _legs(s))
    return (*samples, *fed, *led, s.target.log_ends)


def positions_fresh(s: Situation) -> GateResult:
    """Ages are judged at the loss: sampling ended then, and time since costs nothing."""
    limit = f"each position was at most {s.age_limit_s:g} s old when {s.left} was lost"
    for part in _places(s):
        if part.value is None:
            return absent("positions-fresh", part, limit)
    rows = s.once(positions)
    ages = [p.position_age_s for p in rows if p.position_age_s is not None]
    known = [p for p in rows if p.source_offset is not None]
    unknown = [c.called for c in s.moving("group") if c.group_id not in {p.group for p in known}]
    undated = sorted({p.group for p in known if p.position_age_s is None})
    old = [f"{p.group} {p.topic}-{p.partition}" for p in rows if (p.position_age_s or 0) > s.age_limit_s]
    reason = f"{all_of(len(ages), 'position')} younger than {s.age_limit_s:g} s"
    if old:
        reason = f"recorded positions older than {s.age_limit_s:g} s: {listed(old)}"
    elif unknown:
        reason = f"the watcher has never recorded a position of {listed(unknown)}"
    elif undated:
        reason = (
            f"the age of the positions of {listed(undated)} is unknown: the clocks of their machines differ"
        )
    return gate_result(
        "positions-fresh",
        "refused" if old or unknown else "unknown" if undated else "ok",
        measured=f"{plural(len(ages), 'position')}, the oldest {max(ages, default=0.0):.1f} s",
        limit=limit,
        reason=reason,
        hint=_hint_of_positions(s, old, unknown) or (SET_CLOCKS if undated else ""),
    )


def _hint_of_positions(s: Situation, old: Sequence[str], unknown: Sequence[str]) -> str:
    accept = "a higher failover.max_position_age_s accepts that these groups read more again"
    hints = []
    if old and s.once(loss_window) is not None:
        hints.append(
            f"the watcher was slow when {s.left} was lost, as it is where its machine is busy; "
            f"no newer position can be had now: {accept}"
        )
    elif old:
        hints.append(
            "the watcher is slow: its machine, or the brokers that it asks, are busy; give them more CPU "
            f"or less to do, until dcctl status FILE shows rounds that are on time; or {accept}"
        )
    if unknown:
        hints.append(f"take {listed(unknown)} out of the file, and start it at {s.entered} by hand")
    return "; ".join(hints)


def _without_place(rows: Iterable[TargetPosition]) -> list[str]:
    return [f"{p.group} {p.topic}-{p.partition}: {p.reason}" for p in rows if p.target_offset is None]


def map_complete(s: Situation) -> GateResult:
    """No position is left to the consumers' auto.offset.reset."""
    limit = f"every position can be translated to {s.entered}, or its consumer says what to do otherwise"
    for part in _places(s):
        if part.value is None:
            return absent("map-complete", part, limit)
    rows = s.once(positions)
    without = _without_place(rows)
    exact = sum(p.exact for p in rows)
    return gate_result(
        "map-complete",
        "refused" if without else "ok",
        measured=f"{plural(len(rows), 'position')}, {exact} of them exact already",
        limit=limit,
        reason=f"positions that cannot be translated: {listed(without)}"
        if without
        else f"{all_of(len(rows), 'position')} translatable to {s.entered}",
        hint=(HOW_TO_PLACE if without else ""),
    )


def positions_known(s: Situation) -> GateResult:
    """What each group has committed is known, and has a place; on the way back it is placed later."""
    part, is_back = s.source.committed, s.case == "back"
    limit = f"what each group has committed at {s.left} is known" + (
        "" if is_back else f", and can be translated to {s.entered}"
    )
    needed: list[Part[Any]] = [part] if is_back else [part, s.source.log_ends, *_places(s)]
    for one in needed:
        if one.value is None:
            return absent("positions-known", one, limit)
    groups = plural(len(part.value or ()), "group")
    if is_back:
        return gate_result(
            "positions-known", "ok", groups, limit, f"the positions of {groups} {PLACED_LATER}"
        )
    placed = s.once(positions)
    without = _without_place(placed)
    return gate_result(
        "positions-known",
        "refused" if without else "ok",
        measured=f"{plural(len(placed), 'position')} of {groups}",
        limit=limit,
        reason=f"positions that cannot be translated: {listed(without)}"
        if without
        else f"{all_of(len(placed), 'position')} translatable to {s.entered}",
        hint="set on_untranslatable: earliest for the consumer, to read the topic again from its beginning"
        if without
        else "",
    )


def groups_reread(s: Situation) -> dict[str, dict[str, int | None]]:
    """Records that each group reads again: by the map, by the age of its position, and at most."""
    if s.way.reach == "whole":
        return {group.name: dict(NOTHING_AGAIN) for group in s.moving("group")}
    return {
        group.name: causes_of(found) | _if_sources_return(s, rows_of(s, group))
        for group in s.moving("group")
        if (found := s.once(rereads).get(group.name)) is not None
    }


def rereads(s: Situation) -> dict[str, RereadPrediction]:
    """What each group reads again of a place that is gone or partial, by name; none without samples."""
    known = s.once(recorded)
    found = {
        group.name: reread(
            s,
            group.group_id,
            {p.source_partition: known[group.group_id][p.source_partition] for p in rows},
            {p.source_partition: p.reread_at_most for p in rows},
        )
        for group in s.moving("group")
        for rows in [[p for p in rows_of(s, group) if p.source_offset is not None]]
    }
    return {name: one for name, one in found.items() if one is not None}


def rows_of(s: Situation, group: Consumer) -> tuple[TargetPosition, ...]:
    """Those of one group."""
    return s.once(_by_group).get(group.group_id, ())


def _by_group(s: Situation) -> dict[str, tuple[TargetPosition, ...]]:
    found: dict[str, list[TargetPosition]] = {}
    for position in s.once(positions):
        found.setdefault(position.group, []).append(position)
    return {group: tuple(rows) for group, rows in found.items()}


def _if_sources_return(s: Situation, rows: Iterable[TargetPosition]) -> dict[str, int | None]:
    """Read at the place left, and never come to the one entered: of sources that are gone as well."""
    return {"if_source_returns": sum(p.never_came for p in rows)} if s.way.pauses else {}


NOTHING_AGAIN: Mapping[str, int | None] = {"map": 0, "position_age": 0, "at_most": 0}


def reread(
    s: Situation,
    group: str,
    known: Mapping[TopicPartition, SampledPosition],
    by_map: Mapping[TopicPartition, int | None],
) -> RereadPrediction | None:
    """What a group, or a query by its name, reads again from `known` on; `by_map`: what translation costs."""
    history = s.samples.value
    if history is None:
        return None
    return predict_reread(history, group, known, by_map, until_s=ages_at_s(s, s.seen.at_s))


def causes_of(found: RereadPrediction) -> dict[str, int | None]:
    """As a plan has it."""
    return {"map": found.map, "position_age": found.position_age, "at_most": found.at_most}
