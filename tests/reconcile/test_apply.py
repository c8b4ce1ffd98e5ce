"""Planning and applying, from the lock to the record; plans that have become stale."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from orchestrator import __version__
from orchestrator.cli.story_view import render_story
from orchestrator.errors import DcctlError, DeclinedError, GateRefusedError
from orchestrator.estate.desired import desired_estate
from orchestrator.reconcile.applied import Applied, applied_now
from orchestrator.reconcile.live.record import applied_path, read_applied, write_applied
from orchestrator.runs.live import journal as journal_module
from orchestrator.runs.live.journal import journal_records
from orchestrator.runs.plan import Plan, canonical_json, to_json
from orchestrator.topology.model import Topic
from orchestrator.verbs.live.apply import plan_apply, read_plan, run_apply, topology_of, write_plan
from orchestrator.verbs.run_story import run_story
from tests.reconcile.estates import as_described
from tests.reconcile.layouts import active_active, stretched
from tests.reconcile.memory_run import Rehearsal, rehearse
from tests.runs.memory_ensemble import MemoryEnsemble, MemoryLock, a_record, write_run


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Rehearsal:
    """Two sites that shall mirror each other, and have nothing yet."""
    return rehearse(monkeypatch, tmp_path, active_active())


def test_applied_twice_the_second_has_nothing_to_do(world: Rehearsal) -> None:
    """And whoever is told so learns by which run."""
    first = run_apply(world.topology)
    assert first.outcome == "ok"
    second = run_apply(world.topology)
    assert (second.outcome, second.reason) == (
        "nothing-to-do",
        f"everything is as the file says, by run {first.run_id}",
    )
    assert plan_apply(world.topology).steps == ()


def test_settings_that_kafka_describes_in_its_own_way_are_applied_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Made with a topic, and set on one that is there; neither is taken for something else afterwards."""
    odd = {
        "cleanup.policy": "compact, delete",
        "min.cleanable.dirty.ratio": "1",
        "preallocate": "TRUE",
        "retention.ms": "0604800000",
    }
    plain = active_active()
    file = replace(plain, topics=tuple(replace(topic, config=odd) for topic in plain.topics))
    for name, start in (("new", None), ("old", as_described(plain))):
        world = rehearse(monkeypatch, tmp_path / name, replace(file, allow=("delete-records",)), start)
        assert run_apply(world.topology).outcome == "ok"
        config = world.clusters["west"].picture.topics["orders"].config
        assert (config["cleanup.policy"], config["preallocate"]) == ("compact,delete", "true")
        assert plan_apply(world.topology).steps == ()


def test_journal_and_plan_name_the_dcctl_that_wrote_them(world: Rehearsal, capsys: Any) -> None:
    """So that another version can say which one can end the run; `show` tells it."""
    ended = run_apply(world.topology)
    (first, *_) = journal_records(world.ensemble, world.topology.name, ended.run_id, Path())
    assert first.data["dcctl_version"] == first.data["plan"]["dcctl_version"] == __version__
    story = run_story([first])
    render_story(story, Console())
    assert story["dcctl_version"] == __version__
    assert f"by         dcctl {__version__}" in capsys.readouterr().out


def test_what_somebody_changed_is_mended(world: Rehearsal) -> None:
    """It is drift, by the record of the last apply."""
    run_apply(world.topology)
    world.set_by_hand("east", "west.orders", min_insync_replicas="1")
    (row,) = plan_apply(world.topology).facts["differences"]
    assert (row["cause"], row["subject"]) == ("drift", "topic west.orders")
    assert run_apply(world.topology).outcome == "ok"
    assert plan_apply(world.topology).facts["differences"] == []


def test_a_declined_apply_changes_nothing(world: Rehearsal) -> None:
    """A person says no, and the next one can say yes."""
    with pytest.raises(DeclinedError, match=r"declined\. Nothing was changed"):
        run_apply(world.topology, approve=lambda _: False)
    assert world.clusters["west"].picture.topics == {}
    assert run_apply(world.topology).outcome == "ok"


def _planned(world: Rehearsal, tmp_path: Path) -> Plan:
    """A plan that has been to a file and back."""
    file = tmp_path / "plan.json"
    made = plan_apply(world.topology)
    write_plan(made, file)
    plan = read_plan(file)
    assert plan == made
    assert topology_of(plan, file) == world.topology
    return plan


def test_a_plan_file_is_canonical_and_complete(world: Rehearsal, tmp_path: Path) -> None:
    """Written again it is the same bytes; it holds the file that it was made from."""
    plan = _planned(world, tmp_path)
    text = (tmp_path / "plan.json").read_text()
    assert text == canonical_json(to_json(plan)) + "\n"
    assert json.loads(text)["format_version"] == 1


def test_a_plan_file_keeps_the_order_of_the_file(world: Rehearsal, tmp_path: Path) -> None:
    """So that its apply tells the same cluster first as the plan did."""
    made = plan_apply(world.topology)
    plan = _planned(world, tmp_path)
    read = topology_of(plan, tmp_path / "plan.json")
    assert list(read.clusters) == list(world.topology.clusters) == ["west", "east"]
    assert plan_apply(read).facts["differences"] == made.facts["differences"]


def test_what_an_apply_leaves_as_it_is_is_told_by_its_last_step(world: Rehearsal) -> None:
    """Not that everything were as the file says; nor where there is nothing else to do."""
    run_apply(world.topology)
    world.set_by_hand("west", "orders", min_insync_replicas="1", max_message_bytes="5", retention_ms="-1")
    left = [row for row in plan_apply(world.topology).facts["differences"] if row["mend"] != "planned"]
    assert left
    steps = {step["id"]: step["message"] for step in run_apply(world.topology).steps}
    said = (
        "1 difference is left as it is" if len(left) == 1 else f"{len(left)} differences are left as they are"
    )
    assert steps["record-applied"] == f"what was planned is done; {said}"
    again = run_apply(world.topology)
    assert (again.outcome, said in again.reason) == ("nothing-to-do", True)
    assert "everything is as the file says" not in again.reason


def test_a_plan_is_applied_as_it_was_made(world: Rehearsal, tmp_path: Path) -> None:
    """Nothing has moved since."""
    plan = _planned(world, tmp_path)
    assert run_apply(world.topology, given=plan).outcome == "ok"
    assert plan_apply(world.topology).steps == ()


@pytest.mark.parametrize(
    ("hand", "moved"),
    [
        (lambda world: world.set_by_hand("west", "orders", retention_ms="1"), "west/topic orders"),
        (lambda world: world.clusters["east"].create_acls([_RULE]), "east/rules"),
        (lambda world: world.clusters["east"].delete_topics(["west.orders"]), "east/topics"),
    ],
)
def test_a_stale_plan_is_refused_and_says_what_moved(
    world: Rehearsal, tmp_path: Path, hand: Any, moved: str
) -> None:
    """Single topics by their names where the plan touches them."""
    run_apply(world.topology)
    world.set_by_hand("west", "orders", min_insync_replicas="1")
    plan = _planned(world, tmp_path)
    hand(world)
    before = dict(world.clusters["west"].picture.topics)
    with pytest.raises(
        GateRefusedError, match=rf"since the plan was made these have changed: {moved}\. Nothing"
    ):
        run_apply(world.topology, given=plan)
    assert world.clusters["west"].picture.topics == before


_OWN = next(iter(desired_estate(active_active()).clusters["east"].acls))
_RULE = _OWN._replace(resource_name="another")


def test_what_is_nobodys_business_makes_no_plan_stale(world: Rehearsal, tmp_path: Path) -> None:
    """Topics that the file does not know come and go, and so do rules of others, and denials."""
    from orchestrator.ports.admin_values import NewTopic  # noqa: PLC0415

    plan = _planned(world, tmp_path)
    world.clusters["west"].create_topics({"somebodys": NewTopic(partitions=1, replicas=1)})
    others = [_RULE._replace(principal="User:new"), _OWN._replace(permission="DENY", operation="WRITE")]
    world.clusters["east"].create_acls(others)
    assert run_apply(world.topology, given=plan).outcome == "ok"


def test_a_plan_that_was_edited_is_refused(world: Rehearsal, tmp_path: Path) -> None:
    """What it would do is not what would be planned."""
    plan = _planned(world, tmp_path)
    edited = replace(plan, steps=plan.steps[1:])
    with pytest.raises(GateRefusedError, match="no longer those of the plan"):
        run_apply(world.topology, given=edited)
    other = replace(plan, facts={**plan.facts, "topology": {**plan.facts["topology"], "name": "other"}})
    with pytest.raises(GateRefusedError, match="not the one that the plan was made from"):
        topology_of(other, tmp_path / "plan.json")


def test_an_old_plan_has_expired(world: Rehearsal, tmp_path: Path) -> None:
    """Even if nothing seems to have moved."""
    plan = replace(_planned(world, tmp_path), expires_at_s=1.0)
    with pytest.raises(GateRefusedError, match="has expired"):
        run_apply(world.topology, given=plan)


def test_a_plan_with_a_step_that_this_dcctl_does_not_have_is_stale(tmp_path: Path, world: Rehearsal) -> None:
    """An action of that name there was once; the ids of steps say nothing of it."""
    file = tmp_path / "plan.json"
    plan = plan_apply(world.topology)
    last = replace(plan.steps[-1], action="resume-connectors")
    write_plan(replace(plan, steps=(*plan.steps[:-1], last)), file)
    with pytest.raises(GateRefusedError, match=f"is stale: .* does not know the steps {last.id}"):
        read_plan(file)


def test_a_plan_of_another_verb_is_told_as_such(tmp_path: Path, world: Rehearsal) -> None:
    """And what is no plan at all is left to whoever reads topologies."""
    file = tmp_path / "plan.json"
    write_plan(replace(plan_apply(world.topology), verb="failover"), file)
    with pytest.raises(DcctlError, match="is a plan for failover, not for apply"):
        read_plan(file)
    for text in ("version: 1\n", '{"version": 1}', "{", ""):
        file.write_text(text)
        assert read_plan(file) is None
    assert read_plan(tmp_path / "missing") is None


def _applied(run_id: str, topics: int = 3) -> Applied:
    topology = stretched(
        *(
            Topic(name=f"t{n}", cluster="main", partitions=2, replicas=2, min_insync_replicas=1)
            for n in range(topics)
        )
    )
    return applied_now(desired_estate(topology), as_described(topology), run_id)


def test_the_record_comes_back_as_it_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """In as many nodes as it takes; the newest counts, and few older ones are kept."""
    monkeypatch.setattr(journal_module, "MAX_VALUE_BYTES", 200)
    ensemble = MemoryEnsemble()
    lock = MemoryLock(ensemble, "lock")
    assert read_applied(ensemble, "main") is None
    for number in range(6):
        written = _applied(f"run-{number}", topics=20)
        write_applied(ensemble, lock, "main", written)
        assert read_applied(ensemble, "main") == written
    assert ensemble.names(applied_path("main")) == ["run-3-000", "run-4-000", "run-5-000"]
    assert len({name.rpartition("-")[0] for name in ensemble.names("/dcctl/main/applied-parts")}) == 3


def test_a_record_that_was_half_written_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Written again by the same run it counts."""
    monkeypatch.setattr(journal_module, "MAX_VALUE_BYTES", 200)
    ensemble = MemoryEnsemble()
    lock = MemoryLock(ensemble, "lock")
    write_applied(ensemble, lock, "main", _applied("run-1", topics=20))
    ensemble.nodes["/dcctl/main/applied-parts/run-2-000-000"] = b"of a process that died"
    assert read_applied(ensemble, "main") == _applied("run-1", topics=20)
    write_applied(ensemble, lock, "main", _applied("run-2", topics=21))
    write_applied(ensemble, lock, "main", _applied("run-2", topics=22))
    assert read_applied(ensemble, "main") == _applied("run-2", topics=22)
    # By a machine whose clock is behind: its runs have names that sort before all others.
    write_applied(ensemble, lock, "main", _applied("run-0", topics=23))
    assert read_applied(ensemble, "main") == _applied("run-0", topics=23)


def test_a_record_that_was_changed_is_not_believed() -> None:
    """It would tell drift for change, or the other way round."""
    ensemble = MemoryEnsemble()
    write_applied(ensemble, MemoryLock(ensemble, "lock"), "main", _applied("run-1"))
    write_applied(ensemble, MemoryLock(ensemble, "lock"), "main", _applied("run-2"))
    parts = "/dcctl/main/applied-parts/run-"
    ensemble.nodes[f"{parts}2-000-000"] = ensemble.nodes[f"{parts}1-000-000"]
    with pytest.raises(DcctlError, match="is not what was written there"):
        read_applied(ensemble, "main")


def test_an_open_move_is_found_though_its_mirror_has_left_the_file(world: Rehearsal, tmp_path: Path) -> None:
    """In the journal of its run, which no mirror of the file leads to any more."""
    assert run_apply(world.topology).outcome == "ok"
    about = {"verb": "failover", "source": "west", "target": "east"}
    records = [a_record("r1", 1, "run-started", **about), a_record("r1", 2, "step-intent", "stop-mirror")]
    write_run(world.ensemble, world.topology.name, "r1", tmp_path / "r1", *records)
    file = replace(world.topology, replication=())
    with pytest.raises(GateRefusedError, match="moves-ended refused") as refused:
        run_apply(file)
    assert "dcctl resume r1 OLD-FILE, or dcctl abort r1 OLD-FILE" in refused.value.hint
