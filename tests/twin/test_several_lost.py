"""Two sources of an aggregation are lost at once: one command, all or none, a run and a way home for each."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.main import run
from orchestrator.cli.output import err_console
from orchestrator.runs.live.journal import about_this_process, lock_path
from orchestrator.topology.model import Topology
from tests.twin import truths
from tests.twin.command_line import lead_to
from tests.twin.conftest import Estates
from tests.twin.crew import ProcessDied
from tests.twin.operator import Operator
from tests.twin.test_into_centre import rest, unread

LOST = ("--attest-down", "dc1", "--attest-down", "dc2")
Command = Callable[..., int]


def both_with_standby(
    file: Topology, *, apart: bool = True, reads: str = r"(.*\.)?(orders|returns)"
) -> Topology:
    """What works at dc1 and dc2 goes to the centre; `apart`: each source has a topic of another name."""
    named = {"dc2": "returns"} if apart else {}
    clusters = {
        name: replace(one, standby="centre") if name != "centre" else one
        for name, one in file.clusters.items()
    }
    return replace(
        file,
        clusters=clusters,
        topics=tuple(replace(t, name=named.get(t.cluster, t.name)) for t in file.topics),
        replication=tuple(replace(m, topics=(named.get(m.source, "orders"),)) for m in file.replication),
        producers=tuple(replace(p, topics=(named.get(p.cluster, "orders"),)) for p in file.producers),
        consumers=tuple(
            replace(c, pattern=reads) if c.pattern else replace(c, topics=(named.get(c.cluster, "orders"),))
            for c in file.consumers
        ),
    )


@pytest.fixture
def lost(
    estates: Estates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[Operator, Command]]:
    """An estate of which both sources are gone, and the command line on it."""

    def made(**how: Any) -> tuple[Operator, Command]:
        operator = estates.at_work(
            "topologies/aggregation.yaml", change=lambda file: both_with_standby(file, **how)
        )
        for site in ("dc1", "dc2"):
            operator.estate.lose(site)
        operator.estate.live(5)
        file = lead_to(operator.estate, tmp_path, monkeypatch.setattr)
        return operator, lambda verb, *words: run([verb, file, *words])

    return made


def test_both_go_and_come_home(lost: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """Each by a run of its own; nothing is skipped by anybody, and the centre's consumer reads nothing twice."""
    operator, command = lost()
    assert command("failover", *LOST, "--yes", "--json") == 0, capfd.readouterr().err
    told = json.loads(capfd.readouterr().out)
    assert [(row["source"], row["outcome"]) for row in told["moves"]] == [("dc1", "ok"), ("dc2", "ok")]
    assert len({row["run"]["run_id"] for row in told["moves"]}) == 2
    operator.estate.live(10)
    assert command("failover", *LOST, "--yes", "--json") == 0
    again = json.loads(capfd.readouterr().out)
    assert {row["outcome"] for row in again["moves"]} == {"nothing-to-do"}
    for site in ("dc1", "dc2"):
        operator.estate.bring_back(site)
    operator.estate.live(10)
    for site in ("dc1", "dc2"):
        assert command("failback", "--to", site, "--yes", "--acknowledge", "eve: agreed") == 0
        operator.estate.live(5)
    rest(operator)
    for producer, packing in (("shop-dc1", "packing-dc1"), ("shop-dc2", "packing-dc2")):
        assert unread(operator, packing, {producer}) == set()
        assert unread(operator, "reporting", {producer}) == set()
    assert truths.processed_twice(operator.estate, ["reporting"]) == {"reporting": 0}


def test_one_that_is_refused_holds_the_other_unless_it_is_left_out(
    lost: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """Named with its gate; the one that may go goes with the word that the refusal names."""
    _, command = lost(reads=r"(.*\.)?orders|dc2\.returns")
    assert command("failover", *LOST, "--yes") == 4
    said = capfd.readouterr().err
    assert "Failover dc2 → centre: landing-read refused" in said
    assert "Failover dc1 → centre: " not in said.split("error ")[1]
    assert "Nothing was changed" in said
    assert "--except dc2" in said
    assert ended_with(command, capfd) == ["refused", "refused"], (
        "the journal has both, and what was said for each"
    )
    assert command("failover", *LOST, "--except", "dc2", "--yes") == 0
    assert command("failover", *LOST, "--accept-unread", "reporting", "--yes") == 0


def test_two_that_would_write_one_topic_are_refused_before_one_of_them_is_there(
    lost: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each alone would be allowed; which one goes is a person's choice."""
    _, command = lost(apart=False)
    assert command("failover", *LOST, "--yes") == 4
    said = capfd.readouterr().err
    assert "landing-alone refused: producers of both would write orders at centre" in said
    assert command("failover", *LOST, "--except", "dc2", "--yes") == 0


def test_what_may_be_lost_is_one_number_for_all_of_them(lost: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """Each alone is within it, and both together are not; a person's word is for both as well."""
    _, command = lost()
    assert command("failover", *LOST, "--dry-run", "--json") == 0
    losses = [
        sum(row["at_most"] for row in plan["predicted"]["loss"].values())
        for plan in json.loads(capfd.readouterr().out)["plans"]
    ]
    most = sum(losses)
    assert max(losses) < most
    assert command("failover", *LOST, "--accept-loss", str(most - 1), "--yes") == 4
    assert f"at most {most} records would be lost in all of them together" in capfd.readouterr().err
    assert command("failover", *LOST, "--accept-loss", str(most - 1), "--dry-run") == 4
    assert command("failover", *LOST, "--accept-loss", str(most), "--yes") == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-o", "plan.json"), "is of one move, and this command makes 2"),
        (("--except", "dc3"), "known: dc1, dc2"),
        (("--except", "dc1,dc2"), "nothing is left that would go from dc1, dc2"),
        (("--except", "packing-dc1"), "is no cluster that is left here"),
        (("--attest-down", "dc3"), "there is no such data centre"),
        (("--attest-degraded", "centre"), "a site is either down or degraded"),
    ],
)
def test_what_cannot_be_asked_of_several(
    words: tuple[str, ...], said: str, lost: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """Refused with what is possible."""
    _, command = lost()
    assert command("failover", *LOST, *words, "--yes") == 2
    assert said in capfd.readouterr().err


def test_one_that_stops_on_the_way_keeps_the_other_from_nothing(
    lost: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """Half done is told of the one and done of the other; resumed, the same command finds nothing left."""
    operator, command = lost()
    operator.estate.record.harm_where(
        lambda entry: entry.verb == "commit offset" and "packing-dc1" in str(entry), "fails"
    )
    assert command("failover", *LOST, "--yes", "--json") == 6
    out, said = capfd.readouterr()
    first, second = json.loads(out)["moves"]
    assert (first["outcome"], second["outcome"]) == ("incomplete", "ok")
    assert "1 of 2 done. Failover dc1 → centre: " in said
    assert f"dcctl resume {first['run']['run_id']}" in said
    operator.estate.record.heal()
    assert command("failover", *LOST, "--yes") == 4, "an open run is in the way of itself"
    assert f"dcctl resume {first['run']['run_id']}" in capfd.readouterr().err
    assert operator.resume(first["run"]["run_id"]).outcome == "ok"
    assert command("failover", *LOST, "--yes") == 0


@pytest.mark.parametrize("died_at", [1, 2])
def test_after_a_crash_the_open_run_is_gone_on_with_and_the_same_command_does_the_rest(
    died_at: int, lost: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """Killed in the first of two runs, or in the second."""
    operator, command = lost()
    group = f"packing-dc{died_at}"
    operator.estate.record.harm_where(
        lambda entry: entry.verb == "commit offset" and group in str(entry), "dies after"
    )
    with pytest.raises(ProcessDied):
        command("failover", *LOST, "--yes")
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    operator.estate.live(5)
    runs = operator.estate.ensemble.names("/dcctl/headquarters/runs")
    (open_run,) = [name for name in runs if not _has_ended(operator, name)]
    capfd.readouterr()
    assert operator.resume(open_run).outcome == "ok"
    assert command("failover", *LOST, "--yes", "--json") == 0
    told = json.loads(capfd.readouterr().out)["moves"]
    assert [row["outcome"] for row in told] == [["nothing-to-do", "ok"], ["nothing-to-do"] * 2][died_at - 1]


def _has_ended(operator: Operator, run_id: str) -> bool:
    runs = f"/dcctl/headquarters/runs/{run_id}/"
    nodes = operator.estate.ensemble.nodes
    return any(path.startswith(runs) and "run-ended" in path for path in nodes)


def ended_with(command: Command, capfd: pytest.CaptureFixture[str]) -> list[str]:
    """The outcome of each run that the journal has."""
    capfd.readouterr()
    assert command("history", "--json") == 0
    return [run["outcome"] for run in json.loads(capfd.readouterr().out)["runs"]]


def test_who_says_no_is_in_the_journal_and_nothing_was_begun(
    lost: Any, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One question for both, with what cannot be rolled back; the topology is what is to be typed."""
    _, command = lost()
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(err_console, "input", lambda *_, **__: "dc1")
    assert command("failover", *LOST) == 8
    said = capfd.readouterr().err
    assert "Failover of dc1, dc2, one after the other (topology headquarters)" in said
    assert said.count("not rolled back") >= 1
    assert ended_with(command, capfd) == ["declined", "declined"]


def test_who_holds_the_lock_comes_before_what_is_refused(lost: Any) -> None:
    """Status 5, as with one move."""
    operator, command = lost()
    held_by = about_this_process("failback --to dc9", "r1")
    operator.estate.ensemble.acquire(lock_path("headquarters"), held_by)
    assert command("failover", *LOST, "--yes") == 5


def when_the_first_is_done(operator: Operator, happens: Callable[[], None]) -> None:
    """Something becomes of the world between the two runs."""
    seen: list[str] = []

    def is_it(entry: Any) -> bool:
        if "run-ended" in str(entry) and not seen:
            seen.append(str(entry))
            happens()
        return False

    operator.estate.record.harm_where(is_it, "fails")


def test_one_that_has_answered_meanwhile_is_not_left_by_the_word_of_before(
    lost: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """A person has attested another outage; the same command again attests this one."""
    operator, command = lost()
    estate = operator.estate

    def comes_and_goes() -> None:
        estate.bring_back("dc2", applications=True)
        estate.live(30)
        estate.lose("dc2")
        estate.live(8)

    when_the_first_is_done(operator, comes_and_goes)
    assert command("failover", *LOST, "--yes", "--json") == 6
    out, said = capfd.readouterr()
    first, second = json.loads(out)["moves"]
    assert (first["outcome"], second["outcome"]) == ("ok", "not-begun")
    assert second["error"]["status"] == 4
    assert "dc2 has answered since it was approved that it is down" in second["error"]["problem"]
    assert "1 done" in said
    estate.record.heal()
    assert command("failover", *LOST, "--yes") == 0


def test_two_with_one_group_id_are_refused_before_one_of_them_is_there(
    estates: Estates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The centre takes positions of a group only while it has no members."""

    def one_group(file: Topology) -> Topology:
        made = both_with_standby(file)
        packing = (replace(c, group="packing") if "packing" in c.name else c for c in made.consumers)
        return replace(made, consumers=tuple(packing))

    operator = estates.at_work("topologies/aggregation.yaml", change=one_group)
    file = lead_to(operator.estate, tmp_path, monkeypatch.setattr)
    assert run(["failover", file, *LOST, "--yes"]) == 4
    said = capfd.readouterr().err
    assert "packing-dc1 of dc1 and packing-dc2 of dc2 have the same group id packing" in said
