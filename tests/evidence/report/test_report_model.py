"""report.json: reads back as written, and takes nothing that it does not know."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from orchestrator.errors import AuditError
from orchestrator.evidence.report import dump_report, parse_report, report_schema
from orchestrator.evidence.report.summary import consumer_rows, is_refused, phase_spans, topic_rows, totals
from tests.evidence.report.report_samples import FAULT_S, SAMPLES, minimal_report, valid_report


@pytest.mark.parametrize("name", SAMPLES)
def test_reads_back_what_it_wrote(name: str) -> None:
    """A report survives JSON without a change, whatever its verdict."""
    report = parse_report(SAMPLES[name]())

    assert parse_report(json.dumps(dump_report(report))) == report


def test_says_what_it_was_given() -> None:
    """Nothing of a report is dropped or altered on its way into the file."""
    given = valid_report()
    written = dump_report(parse_report(given))

    for key in ("clusters", "gates", "steps", "rto", "series", "timeline", "spark", "phases", "plan"):
        assert _without_defaults(written[key], given[key]) == given[key], key
    assert written["consumers"][3] == {"reason": ""} | given["consumers"][3]
    assert next(iter(written)) == "format_version"


def test_times_are_utc_text() -> None:
    """The fault's time may be given as epoch seconds; the file says it as text that ends in Z."""
    assert dump_report(parse_report(valid_report()))["fault"]["started_at"] == "2026-03-01T03:12:45.400000Z"


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"verdict": "good"}, "verdict"),
        ({"surprise": 1}, "surprise"),
        ({"reasons": "none"}, "reasons"),
        ({"seed": "42"}, "seed"),
        ({"started_at": "yesterday"}, "started_at"),
        ({"started_at": "2026-03-01T03:11:20"}, "started_at"),
        ({"rto": {"seconds": -1.0}}, "rto.seconds"),
        (
            {"clusters": {"west": {"topics": {"orders": {"acked": "many"}}}}},
            "clusters.west.topics.orders.acked",
        ),
        ({"timeline": [{"at_s": 3.5, "name": "x", "kind": "event"}]}, "timeline.0.at_s"),
        ({"series": {"producers": [{"name": "p", "t_s": [1.0], "acked_per_s": []}]}}, "series.producers.0"),
        (
            {"series": {"producers": [{"name": "p", "t_s": [2.0, 1.0], "acked_per_s": [0.0, 0.0]}]}},
            "must increase",
        ),
    ],
)
def test_refuses_what_does_not_fit_and_names_it(change: dict[str, Any], place: str) -> None:
    """An unknown key, a wrong type, a time on the wrong clock: refused, with the path of the field."""
    with pytest.raises(AuditError) as caught:
        parse_report({**minimal_report(), **change})

    assert place in caught.value.problem


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_refuses_what_json_cannot_say(value: object) -> None:
    """NaN would be written as something that other languages cannot read."""
    with pytest.raises(AuditError, match="is not JSON"):
        parse_report({**minimal_report(), "environment": {"load": value}})


def test_valid_is_never_beside_a_hole() -> None:
    """The rules of the verdict are kept here once more, whatever the judge said."""
    holed, empty, unverified = (valid_report() for _ in range(3))
    holed["clusters"]["west"]["topics"]["orders"]["lost"]["hole"] = 1
    empty["clusters"] = {}
    unverified["fault"]["verified"] = None

    for report, reason in (
        (holed, "hole"),
        (empty, "nothing was acknowledged"),
        (unverified, "not verified"),
    ):
        with pytest.raises(AuditError, match=reason):
            parse_report(report)
        assert parse_report({**report, "verdict": "invalid"}).verdict == "invalid"


def test_schema_describes_every_sample() -> None:
    """The published schema names each top-level key, and forbids others."""
    schema = report_schema()

    assert set(dump_report(parse_report(valid_report()))) == set(schema["properties"])
    assert schema["additionalProperties"] is False


def test_totals_equal_the_rows() -> None:
    """The sums that the page shows are those of its tables."""
    report = parse_report(valid_report())
    figures = totals(report)

    assert (figures.tail, figures.hole, figures.expected, figures.at_most) == (
        731 + 581,
        0,
        655 + 610,
        1420 + 1385,
    )
    assert figures.acked == sum(row.evidence.acked or 0 for row in topic_rows(report))
    assert figures.reread == sum(row.reread.total or 0 for row in consumer_rows(report))
    assert figures.comparison is not None
    assert figures.comparison.engine == 176 + 310 + 6_343 + 49_979 + 449 + 24_077
    assert figures.comparison.consumers == 6


def test_an_unknown_part_makes_the_sum_unknown() -> None:
    """A report never shows less than the truth."""
    figures = totals(parse_report(SAMPLES["unknown"]()))

    assert (figures.tail, figures.present, figures.reread, figures.skipped) == (None, None, None, None)
    assert totals(parse_report(minimal_report())).tail is None


def test_landing_topics_hide_no_figure() -> None:
    """A partition without a position at the source has no figure of MirrorMaker's; the consumer still has."""
    rows = {row.name: row for row in consumer_rows(parse_report(valid_report()))}

    assert rows["fraud"].engine == 6_343
    assert rows["fraud"].topics == ("orders", "payments")
    assert rows["revenue"].engine is None


def test_lag_at_the_fault_comes_from_the_series_where_rows_do_not_say() -> None:
    """How far a consumer was behind is shown even if only the plots know it."""
    data = valid_report()
    for row in data["consumers"]:
        row.pop("behind")
    rows = {row.name: row for row in consumer_rows(parse_report(data))}

    assert rows["reporting"].behind == pytest.approx(50_000, abs=50)


@pytest.mark.parametrize(
    ("tail", "expected"), [(401, False), (402, True), (1420, True), (1421, False), (None, None)]
)
def test_tail_is_held_against_both_bounds(tail: int | None, expected: bool | None) -> None:
    """The bounds themselves belong to what was stated."""
    data = SAMPLES["unknown"]()
    data["clusters"]["west"]["topics"]["orders"]["lost"]["tail"] = tail

    assert topic_rows(parse_report(data))[0].is_as_predicted is expected


def test_phases_follow_each_other_where_they_have_no_start() -> None:
    """Phases without a start of their own are laid end to end after the fault."""
    data = copy.deepcopy(valid_report())
    with_starts = phase_spans(parse_report(data))
    for phase in data["phases"]:
        phase.pop("started_at_s")
    without = phase_spans(parse_report(data))

    assert [span.start_s for span in without] == pytest.approx(
        [span.start_s for span in with_starts], abs=0.01
    )
    assert with_starts[0].start_s == pytest.approx(0.0, abs=0.01)
    assert FAULT_S > 1e9


def test_refused_means_that_no_step_was_run() -> None:
    """A gate that refused stops a run; one that was overridden does not make it refused."""
    assert is_refused(parse_report(SAMPLES["refused"]()))
    assert not is_refused(parse_report(valid_report()))


def _without_defaults(written: Any, given: Any) -> Any:
    """`written` without the keys that `given` left to their defaults."""
    if isinstance(written, dict) and isinstance(given, dict):
        return {key: _without_defaults(value, given[key]) for key, value in written.items() if key in given}
    if isinstance(written, list) and isinstance(given, list):
        return [_without_defaults(one, other) for one, other in zip(written, given, strict=True)]
    return written
