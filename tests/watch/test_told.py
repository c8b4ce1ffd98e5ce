"""What watchers of one cluster leave for others: words in the ensemble, an hour of readings, gauges, events once."""

from __future__ import annotations

import math
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from orchestrator.cli.history_view import render_history
from orchestrator.cli.main import run
from orchestrator.topology.loading import load_topology
from orchestrator.watch.within_cluster.gauges import GAUGES, gauge_values
from orchestrator.watch.within_cluster.readings_file import FILE_S, KEPT_S, ReadingsFile
from orchestrator.watch.within_cluster.said import WatcherSaid, said_of
from orchestrator.watch.within_cluster.story import Story, after_reading
from orchestrator.watch.within_cluster.told import merged, watchers_told
from tests.watch.readings import readings_kept
from tests.watch.test_story import DOWN, ORDERS, UP, WHOLE, lost, reading, silent, story_of

ROOT = Path(__file__).parents[2]
STRETCHED = "topologies/stretched-2.5dc-kraft.yaml"


def word(site: str, *at_s: float, gone_s: float | None = None) -> WatcherSaid:
    """Of a watcher that read at these times; broker 1 takes no connections from `gone_s` on."""
    story, last = Story(), silent(0.0)
    for time_s in at_s:
        is_gone = gone_s is not None and time_s >= gone_s
        last = reading(time_s, brokers={1: DOWN if is_gone else UP, 2: UP, 3: UP})
        story = after_reading(story, last)
    return said_of(story, last, site=site, host="h", watcher=f"w-{site}")


def test_what_two_watchers_saw_is_told_once() -> None:
    """With the sites that saw it; a second one at one site is another event."""
    seen = merged([word("dc1", 1, 2, 3, 4, gone_s=3), word("dc2", 1.5, 2.5, 3.5, gone_s=2.6)])
    by_port = [one for one in seen if one.event.kind == "broker-down"]
    assert [(one.event.begun.by_s, set(one.sites), one.as_of_s) for one in by_port] == [
        (3, {"dc1", "dc2"}, 4)
    ]
    down = (1.1, 3)
    again = story_of(
        [reading(1), *(reading(at, brokers={1: DOWN if at in down else UP}) for at in (1.1, 2, 2.5, 3, 4))]
    )
    told = said_of(again, reading(4), site="dc1", host="h", watcher="w")
    assert len([one for one in merged([told]) if one.event.kind == "broker-down"]) == 2


def test_who_saw_the_end_knows_more_than_who_did_not() -> None:
    """As the watcher of a site that was lost itself."""
    back = story_of([reading(1), reading(2, brokers={1: DOWN}), reading(4.5), reading(5)])
    ended = said_of(back, reading(5), site="dc2", host="h", watcher="w")
    found = merged([word("dc1", 1, 2, gone_s=2), ended])
    assert len(found) == 2
    assert all(one.event.ended is not None for one in found)


def test_nothing_goes_on_by_a_clock_that_is_ahead() -> None:
    """Of a watcher that may be dead: nobody knows how old its word is."""
    at_s = 1.7e9
    one, _ = merged([word("dc1", at_s - 2, at_s - 1, at_s, gone_s=at_s - 1)])
    assert one.as_json(at_s + 1)["goes_on"] is True
    assert one.as_json(at_s + 9)["goes_on"] is None
    assert one.as_json(at_s - 60)["goes_on"] is None


def test_a_word_of_another_version_is_no_word() -> None:
    """It is said that there is one."""
    topology = load_topology(ROOT / STRETCHED)
    rows = watchers_told(topology, "main", {"dc1": None, "dc2": word("dc2", 1)}, 2.0)
    assert [row["problem"] for row in rows] == ["another version has written it", ""]


def test_history_has_events_among_the_runs() -> None:
    """By the time at which they began."""
    one, _ = merged([word("dc1", 1, 2, 3, gone_s=2)])
    console = Console(width=200, record=True, file=StringIO())
    render_history([], [{"at_s": 2.0, "cluster": "main", "watched": one.as_json(9.0)}], console)
    assert "00:00:02 UTC  main: broker 1 (dc1) took no connections" in console.export_text()


def test_readings_are_kept_whole_and_read_again(tmp_path: Path) -> None:
    """Each line has what is other than before, each file begins whole."""
    kept = ReadingsFile(tmp_path / "new" / "folder")
    kept.keep(reading(1000.0))
    kept.keep(reading(1000.5))
    kept.keep(reading(1001.0, registered=frozenset({2, 3}), partitions=lost(1, 2)))
    kept.keep(reading(1001.5, partitions={ORDERS[0]: WHOLE[ORDERS[0]]}))
    kept.keep(silent(1002.0))
    kept.keep(reading(1000.0 + FILE_S))
    assert kept.problem == ""
    files = sorted((tmp_path / "new" / "folder").iterdir())
    assert [file.name for file in files] == ["readings-1000.jsonl", "readings-1600.jsonl"]
    assert len(files[0].read_text().splitlines()[1]) < 30
    found = readings_kept(tmp_path / "new" / "folder")
    assert [one["at_s"] for one in found] == [1000.0, 1000.5, 1001.0, 1001.5, 1002.0, 1600.0]
    assert found[1]["partitions"] == found[0]["partitions"]
    assert found[2]["partitions"]["orders-0"] == [2, 1, [1, 2, 3], [2, 3], []]
    assert list(found[3]["partitions"]) == ["orders-0"]
    assert (found[4]["told_by"], found[4]["not_led"]) == (None, None)
    assert found[5]["partitions"] == found[0]["partitions"]


def test_an_hour_is_kept_and_no_more(tmp_path: Path) -> None:
    """Files that are too old go as the next one begins."""
    kept = ReadingsFile(tmp_path)
    for at_s in range(0, int(3 * KEPT_S), 100):
        kept.keep(reading(float(at_s)))
    first_s = readings_kept(tmp_path)[0]["at_s"]
    assert 3600 <= 3 * KEPT_S - first_s <= KEPT_S + 2 * FILE_S


def test_so_many_bytes_are_kept_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However fast leaders move."""
    monkeypatch.setattr("orchestrator.watch.within_cluster.readings_file.KEPT_BYTES", 40_000)
    kept = ReadingsFile(tmp_path)
    for at_s in range(2000):
        leader = {tp: replace(told, leader=1 + at_s % 3) for tp, told in WHOLE.items()}
        kept.keep(reading(float(at_s), partitions=leader))
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 50_000
    assert readings_kept(tmp_path)[-1]["at_s"] == 1999


def test_a_disk_that_takes_nothing_is_named_and_tried_again(tmp_path: Path) -> None:
    """The watcher goes on."""
    place = tmp_path / "readings"
    place.write_text("a file")
    kept = ReadingsFile(place)
    kept.keep(reading(1.0))
    assert "cannot be written" in kept.problem
    place.unlink()
    kept.keep(reading(2.0))
    assert kept.problem == ""


def test_a_torn_line_takes_no_other_reading_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk is full for one reading; the next one, within the same second, is whole, and so is its line."""
    kept = ReadingsFile(tmp_path)
    kept.keep(reading(1000.0))
    real = Path.stat

    def full(path: Path, **rest: bool) -> object:
        if path.suffix == ".jsonl":
            text = path.read_text()
            path.write_text(text[: -len(text.splitlines()[-1]) // 2])
            raise OSError(28, "No space left on device")
        return real(path, **rest)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "stat", full)
        kept.keep(reading(1000.2, partitions=lost(1, 2)))
    assert "No space left" in kept.problem
    kept.keep(reading(1000.4, partitions=lost(1, 2)))
    found = readings_kept(tmp_path)
    assert [one["at_s"] for one in found] == [1000.0, 1000.4]
    assert found[1]["partitions"]["orders-0"] == [2, 1, [1, 2, 3], [2, 3], []]


def test_gauges_are_numbers_where_they_are_known() -> None:
    """And NaN where they are not: with no answer, and where the newest reading is old."""
    gone = reading(9.0, registered=frozenset({2, 3}), partitions=lost(1, 2), brokers={1: DOWN, 2: UP, 3: UP})
    story = story_of([reading(8.0), gone])
    found = _values(story, gone, 10.0)
    assert found["cluster_broker_up", "1"] == 0
    assert found["cluster_broker_registered", "1"] == 0
    assert found["cluster_partitions_not_in_sync",] == 3
    assert found["cluster_event_goes_on", "broker-fenced"] == 1
    assert found["cluster_event_seconds", "broker-fenced"] == 1.0
    assert found["cluster_has_controller",] == 1
    assert {name for name, *_ in found} == set(GAUGES)
    old = _values(story, gone, 60.0)
    assert math.isnan(old["cluster_broker_up", "1"])
    assert math.isnan(old["cluster_partitions_not_led",])
    assert old["cluster_reading_age_seconds",] == 51.0
    nobody = _values(after_reading(story, silent(10.0)), silent(10.0), 10.0)
    assert math.isnan(nobody["cluster_has_controller",])
    assert nobody["cluster_reading_age_seconds",] == pytest.approx(1.1)
    assert math.isnan(_values(Story(), None, 1.0)["cluster_reading_age_seconds",])


def _values(story: Story, newest: object, now_s: float) -> dict[tuple[str, ...], float]:
    rows = gauge_values(story, newest, now_s)  # type: ignore[arg-type]
    return {(name, *labels): value for name, labels, value in rows}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "say at which one it runs: one --at dc1 and one --at dc2"),
        (["--at", "witness"], "no broker of main is there"),
        (["--at", "dc9"], "dc9"),
        (["--target", "main"], "the file has no mirror"),
    ],
)
def test_where_it_runs_has_to_be_said(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a cluster at several sites; a site without brokers needs none."""
    assert run(["watch", str(ROOT / STRETCHED), *words]) == 2
    assert said in capsys.readouterr().err
