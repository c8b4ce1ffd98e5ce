"""plan, apply and drift on the command line: what is said, and with which exit status."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.cli.main import run
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.topology.loading import dump_topology
from orchestrator.topology.model import Topology
from orchestrator.verbs.live import apply_procedure as procedure
from tests.reconcile.layouts import active_active
from tests.reconcile.memory_run import Rehearsal, rehearse
from tests.runs.memory_ensemble import a_record, write_run

Told = Callable[..., tuple[int, str, str]]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Rehearsal:
    return rehearse(monkeypatch, tmp_path, active_active())


@pytest.fixture
def file(world: Rehearsal, tmp_path: Path) -> Path:
    return write(world.topology, tmp_path / "both.yaml")


def write(topology: Topology, file: Path) -> Path:
    file.write_text(yaml.safe_dump(dump_topology(topology), sort_keys=False))
    return file


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    """Run one command: exit status, stdout, stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        status = run([str(argument) for argument in arguments])
        return status, *capsys.readouterr()

    return call


def test_from_nothing_to_nothing_to_do(file: Path, told: Told) -> None:
    """plan finds changes, apply makes them, and then there are none."""
    status, out, _ = told("plan", file)
    assert status == 3
    assert "Change: nothing was applied yet, so all of it is new" in out
    assert "+ west  topic orders: 6 partitions, 3 replicas  it does not exist; the file describes it" in out
    assert "Plan  7 steps, about 7 s: access rules, topics and settings, mirrors, record" in out
    assert "Create 7 topics (" in told("plan", file, "--full")[1]
    status, out, err = told("apply", file)
    assert status == 0
    assert "✓ Verify that everything is as the file says, and record what was applied" in err
    assert "both: everything that could be done is done" in out
    status, out, _ = told("apply", file)
    assert (status, "nothing-to-do: everything is as the file says, by run" in out) == (0, True)
    assert told("plan", file)[:2] == (0, "both: everything is as the file says\n")
    assert told("drift", file)[:2] == (0, "both: everything is as the file says\n")


def test_drift_and_change_stand_apart(world: Rehearsal, file: Path, told: Told, tmp_path: Path) -> None:
    """Each line with its reason, and what cannot be rolled back with a mark of its own."""
    told("apply", file)
    world.set_by_hand("west", "orders", min_insync_replicas="1", max_message_bytes="5")
    more = replace(world.topology, topics=tuple(replace(t, partitions=9) for t in world.topology.topics))
    status, out, _ = told("drift", write(more, tmp_path / "more.yaml"))
    assert status == 3
    drift, change = out.split("Change: what is new in the file")
    assert drift.startswith("Drift since the file was applied (run ")
    assert "~ west  topic orders config min.insync.replicas: 1 → 2  somebody changed it" in drift
    assert "· west  topic orders config max.message.bytes: 5" in drift
    assert "left as it is: `allow: [reset-config]` would mend it" in drift
    assert "~ east  topic west.orders partitions: 6 → 9  keys go to other partitions" in change
    assert change.count("⚠ irreversible") == 4
    assert "irreversible" not in drift
    assert "both: 7 differences (3 of drift, 4 of change; 2 left as they are)" in change


def test_drift_as_json(world: Rehearsal, file: Path, told: Told) -> None:
    """The two sections, each row with all that a script needs."""
    told("apply", file)
    world.set_by_hand("east", "orders", min_insync_replicas="1")
    status, out, err = told("drift", file, "--json")
    data = json.loads(out)
    assert (status, next(iter(data)), data["format_version"]) == (3, "format_version", 1)
    assert data["change"] == []
    (row,) = data["drift"]
    assert (row["cluster"], row["subject"], row["aspect"]) == (
        "east",
        "topic orders",
        "config min.insync.replicas",
    )
    assert (row["wanted"], row["found"], row["mend"], row["irreversible"]) == ("2", "1", "planned", False)
    assert "1 difference (" in err


def test_a_plan_file_is_the_word(
    world: Rehearsal, file: Path, told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given a plan nobody is asked, on a terminal either; given a file a person is."""
    plan = tmp_path / "plan.json"
    assert told("plan", file, "-o", plan)[0] == 3
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    asked: list[str] = []
    answer = "n"

    def ask(question: str, **_: object) -> str:
        asked.append(question)
        return answer

    monkeypatch.setattr("orchestrator.cli.output.err_console.input", ask)
    status, _, err = told("apply", file)
    assert (status, len(asked)) == (8, 1)
    assert "declined. Nothing was changed" in err
    assert told("apply", plan)[0] == 0
    assert len(asked) == 1
    world.set_by_hand("west", "orders", min_insync_replicas="1")
    assert told("apply", file, "--yes")[0] == 0
    assert len(asked) == 1


def test_a_stale_plan_ends_with_4(world: Rehearsal, file: Path, told: Told, tmp_path: Path) -> None:
    """It names what moved."""
    told("apply", file)
    world.set_by_hand("west", "orders", min_insync_replicas="1")
    plan = tmp_path / "plan.json"
    told("plan", file, "-o", plan)
    world.set_by_hand("west", "orders", min_insync_replicas="3")
    status, _, err = told("apply", plan)
    assert status == 4
    assert "since the plan was made these have changed: west/topic orders. Nothing was changed" in err
    assert "make the plan again" in err


def test_what_is_impossible_ends_with_4(world: Rehearsal, file: Path, told: Told, tmp_path: Path) -> None:
    """With the reason, and what to write instead."""
    told("apply", file)
    fewer = replace(world.topology, topics=tuple(replace(t, partitions=2) for t in world.topology.topics))
    path = write(fewer, tmp_path / "fewer.yaml")
    status, out, _ = told("plan", path)
    assert status == 4
    assert "✗ possible: topic orders at west: partitions 6, the file says 2" in out
    assert "possible refused: topic orders at west" in out
    status, _, err = told("apply", path)
    assert status == 4
    assert "Kafka cannot remove a partition: write partitions: 6 in the file" in err


def test_what_cannot_be_seen_is_unknown(world: Rehearsal, file: Path, told: Told) -> None:
    """drift ends with 7 rather than with good news."""
    told("apply", file)
    west = world.clusters["west"]
    west.picture = replace(west.picture, problem="no broker answers", topics={}, brokers=(), acls=None)
    status, out, err = told("drift", file)
    assert status == 7
    assert "? clusters-known: west: no broker answers" in out
    assert "west: no broker answers" in err
    assert "both: what could be seen of east is as the file says; the rest could not be compared" in out
    status, out, _ = told("plan", file)
    assert (status, "clusters-known unknown: west: no broker answers" in out) == (7, True)


def test_where_no_cluster_answers_nothing_is_said_to_be_as_the_file_says(
    world: Rehearsal, file: Path, told: Told
) -> None:
    """Neither in words, nor in the summary, nor for a script."""
    told("apply", file)
    for cluster in world.clusters.values():
        cluster.picture = replace(
            cluster.picture, problem="no broker answers", topics={}, brokers=(), acls=None
        )
    status, out, err = told("drift", file)
    assert (status, "both: nothing could be compared" in out) == (7, True)
    assert "as the file says" not in out + err
    status, out, err = told("drift", file, "--json")
    assert (status, json.loads(out)["compared"]) == (7, [])
    assert "both: nothing could be compared" in err


@pytest.fixture
def ensemble_away(world: Rehearsal, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From now on it does not answer."""

    def away(made: procedure.ReconcileProcedure) -> procedure.ReconcileEstate:
        clusters = dict(world.clusters)
        return procedure.ReconcileEstate(made.topology, clusters, world.observe, None, "no answer within 5 s")

    return lambda: monkeypatch.setattr(procedure.ReconcileProcedure, "open_estate", away)


def test_without_the_ensemble_drift_has_no_good_news(
    world: Rehearsal, file: Path, told: Told, ensemble_away: Callable[[], None]
) -> None:
    """A topic that was made anew, and has lost all its records, can only be told by the record of the last apply."""
    told("apply", file)
    assert told("drift", file)[0] == 0
    west = world.clusters["west"]
    orders = replace(west.picture.topics["orders"], topic_id="made anew")
    west.picture = replace(west.picture, topics={**west.picture.topics, "orders": orders})
    assert told("drift", file)[0] == 3
    ensemble_away()
    status, out, err = told("drift", file)
    assert status == 7
    assert "everything is as the file says" not in out + err
    assert (
        "topics that were deleted and created again, what the file does not have any more, and moves were not compared"
        in (" ".join(out.split()))
    )
    assert "no answer within 5 s" in err
    status, out, _ = told("drift", file, "--json")
    found = json.loads(out)
    assert (status, found["applied_known"], found["drift"], found["change"]) == (7, False, [], [])
    unknown = {gate["id"] for gate in found["unknown"]}
    assert unknown == {"coordination", "not-held", "same-clusters", "moves-ended"}


def test_without_the_ensemble_drift_is_not_told_as_new(
    world: Rehearsal, file: Path, told: Told, ensemble_away: Callable[[], None]
) -> None:
    """Somebody may have changed it as well."""
    told("apply", file)
    world.set_by_hand("west", "orders", min_insync_replicas="1")
    ensemble_away()
    status, out, _ = told("drift", file)
    assert (status, "nothing was applied yet" in out) == (3, False)
    assert "Change: or drift: what was applied last could not be read" in out


def test_another_cluster_behind_an_address_is_told_and_taken_only_by_a_persons_word(
    world: Rehearsal, file: Path, told: Told
) -> None:
    """An empty one would get everything; the word is in the journal, and is asked for once."""
    told("apply", file)
    west = world.clusters["west"]
    west.picture = replace(west.picture, cluster_id="id-new", topics={}, acls=frozenset(), connectors={})
    status, out, err = told("drift", file)
    assert (status, "west is another cluster than before" in out) == (7, True)
    assert "both: compared with other clusters than the file's" in out
    status, _, err = told("apply", file)
    assert (status, west.picture.topics) == (4, {})
    assert (
        "same-clusters refused: west is another cluster than before: its id is id-new, and was id-west" in err
    )
    assert "--accept-cluster west=id-new" in err
    assert told("apply", file, "--accept-cluster", "west")[0] == 2
    status, _, _ = told("apply", file, "--accept-cluster", "west=id-new", "--reason", "new disks")
    assert (status, "orders" in west.picture.topics) == (0, True)
    _, out, _ = told("history", file, "--json")
    # Both began in the same second perhaps, and are told in no order then.
    runs = [row["run_id"] for row in json.loads(out)["runs"] if row["outcome"] == "ok"]
    (said,) = [text for run_id in runs if "override" in (text := told("show", run_id, file, "--records")[1])]
    assert "--accept-cluster west=id-new by" in said
    assert "new disks" in said
    assert told("drift", file)[0] == 0


def test_a_plan_holds_what_was_accepted(world: Rehearsal, file: Path, told: Told, tmp_path: Path) -> None:
    """It was reviewed with it."""
    told("apply", file)
    west = world.clusters["west"]
    west.picture = replace(west.picture, cluster_id="id-new", topics={}, acls=frozenset(), connectors={})
    assert told("plan", file)[0] == 4
    plan = tmp_path / "plan.json"
    assert told("plan", file, "--accept-cluster", "west=id-new", "-o", plan)[0] == 3
    assert told("apply", plan, "--accept-cluster", "west=id-new")[0] == 2
    assert told("apply", plan)[0] == 0
    assert told("drift", file)[0] == 0


def test_two_names_of_one_cluster_are_refused(world: Rehearsal, file: Path, told: Told) -> None:
    """Whatever a person says."""
    east = world.clusters["east"]
    east.picture = replace(east.picture, cluster_id="id-west")
    status, _, err = told("apply", file)
    assert (status, "west, east are one and the same cluster, with id id-west" in err) == (4, True)
    accepted = ("--accept-cluster", "west=id-west", "--accept-cluster", "east=id-west")
    assert told("apply", file, *accepted)[0] == 4
    assert (east.picture.topics, world.clusters["west"].picture.topics) == ({}, {})


def test_an_apply_can_be_shown_and_not_resumed_when_it_is_over(file: Path, told: Told) -> None:
    """It stands in the history like any other run."""
    told("apply", file)
    status, out, _ = told("history", file, "--json")
    (row,) = json.loads(out)["runs"]
    assert (status, row["verb"], row["outcome"]) == (0, "apply", "ok")
    status, out, _ = told("show", row["run_id"], file, "--records")
    assert status == 0
    assert "step-outcome create-topics-west-1 ok" in out


def test_the_history_tells_what_a_setting_was_before_an_apply_changed_it(
    world: Rehearsal, file: Path, told: Told
) -> None:
    """Whoever wonders months later finds it there, and not in a plan file that is gone."""
    told("apply", file)
    world.set_by_hand("west", "orders", min_insync_replicas="1")
    told("apply", file)
    status, out, _ = told("history", file, "--json")
    (row,) = json.loads(out)["settings"]
    assert (status, row["cluster"]) == (0, "west")
    assert row["settings_before"] == {"orders": {"min.insync.replicas": "1"}}
    _, out, _ = told("history", file)
    assert "settings changed at west by" in out
    assert "orders min.insync.replicas was 1" in " ".join(out.split())


def test_a_mirror_that_was_moved_away_is_told(
    world: Rehearsal, file: Path, told: Told, tmp_path: Path
) -> None:
    """Its connectors are left as they are."""
    told("apply", file)
    about = {"verb": "failover", "source": "west", "target": "east"}
    over = [a_record("run-7", 1, "run-started", **about), a_record("run-7", 2, "step-intent", "stop-mirror")]
    over.append(a_record("run-7", 3, "run-ended", outcome="ok"))
    write_run(world.ensemble, world.topology.name, "run-7", tmp_path, *over)
    status, out, _ = told("drift", file)
    assert status == 0
    assert "The mirror west → east is left as it is: east has taken over from west by run run-7" in out


def test_a_held_lock_is_told(world: Rehearsal, file: Path, told: Told, monkeypatch: Any) -> None:
    """Planning goes on without it; the plan says that it could not be applied now."""
    monkeypatch.setattr(world.ensemble, "holder", lambda _: "somebody")
    status, out, _ = told("plan", file)
    assert (status, "✗ coordination: the lock is held by somebody" in out) == (4, True)
    assert CoordinationState("somebody").holder
