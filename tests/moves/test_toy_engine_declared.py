"""A mirror engine that dcctl does not know is declared in a file, and goes through all that the file is for.

It is brought by an installed package, by its entry point, and nothing in dcctl is changed for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import structlog
import yaml

from orchestrator.errors import DcctlError
from orchestrator.estate.desired import desired_estate
from orchestrator.replication.engine import engine_of
from orchestrator.replication.mirror_ref import ref_to
from orchestrator.replication.positions_back import reverse_mirror
from orchestrator.snapshot.watched import watched_clusters
from orchestrator.topology.consumer_kinds import all_rules
from orchestrator.topology.loading import check_text, dump_topology, parse_topology
from orchestrator.topology.model import Topology
from orchestrator.topology.schema import topology_schema
from orchestrator.verbs.live.apply import plan_apply, read_plan, run_apply, topology_of, write_plan
from orchestrator.verbs.registration import PARTICIPANTS, participants_of
from orchestrator.watch.watcher import Watcher
from tests.moves.conftest import TOY_PACKAGE
from tests.moves.toy_engine import DECLARED, TOY, Copied
from tests.reconcile.memory_run import rehearse

DEGRADED = (Path(__file__).parents[1] / "faults" / "sick.yaml").read_text(encoding="utf-8")
ROOT = Path(__file__).parents[2]
USUAL = "policy: default, replicas: 1"
FILE = DEGRADED.replace(USUAL, "engine: toy, every_s: 2, replicas: 1").replace(", connect_workers: 1", "")


def topology() -> Topology:
    """The file, whose mirror is the toy's."""
    return parse_topology(FILE)


def problems(text: str) -> list[str]:
    """Each with its line, as `validate` shows it."""
    return [problem.text("f") for problem in check_text(text, "f").errors]


def test_its_keys_are_read_and_written() -> None:
    """A plan file holds the topology: what is read of it is the same. The usual engine is not named."""
    (mirror,) = topology().replication
    assert isinstance(mirror, Copied)
    assert (mirror.engine, mirror.every_s, reverse_mirror(mirror).every_s) == ("toy", 2.0, 2.0)  # type: ignore[attr-defined]
    written = dump_topology(topology())
    assert (written["replication"][0]["engine"], written["replication"][0]["every_s"]) == ("toy", 2.0)
    assert parse_topology(json.dumps(written)) == topology()
    assert "engine" not in dump_topology(parse_topology(DEGRADED))["replication"][0]


@pytest.mark.parametrize(
    ("was", "written", "said"),
    [
        ("every_s: 2", "every_s: often", 'replication[0].every_s is "often"; expected a number'),
        ("every_s: 2", "evry_s: 2", "unknown key `evry_s` in replication[0]\n    did you mean `every_s`?"),
        (
            "engine: toy",
            "engine: tyo",
            'replication[0].engine is "tyo"; expected one of mirrormaker2, toy\n    did you mean `toy`?',
        ),
        ("engine: toy, ", "", "unknown key `every_s` in replication[0]"),
        ("every_s: 2", "every_s: 61", "the copier sleeps for too long [toy-every]\n    take 60 or less"),
    ],
)
def test_what_is_wrong_with_it_is_told_at_its_place(was: str, written: str, said: str) -> None:
    """Its form, its keys at another engine, and its own rules."""
    told = problems(FILE.replace(was, written))
    assert [line for line in told if said in line and line.startswith("f:22:")], told


def test_without_its_package_the_engine_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said which ones there are."""
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(TOY_PACKAGE)])
    assert any('engine is "toy"; expected mirrormaker2' in told for told in problems(FILE))


def test_editors_know_its_keys() -> None:
    """The published schema takes the file, and refuses what the model refuses."""
    schema = jsonschema.Draft202012Validator(topology_schema())
    assert schema.is_valid(yaml.safe_load(FILE))
    assert schema.is_valid(yaml.safe_load(DEGRADED))
    for wrong in ("every_s: often", "evry_s: 2"):
        assert not schema.is_valid(yaml.safe_load(FILE.replace("every_s: 2", wrong)))
    for wrong in ("", "engine: mirrormaker2, "):
        assert not schema.is_valid(yaml.safe_load(FILE.replace("engine: toy, ", wrong)))
    assert "toy-every" in {rule.id for rule in all_rules()}


def test_commands_know_it_by_its_entry_point(tmp_path: Path) -> None:
    """As a user has it: the package is installed, and a command is called."""
    file = tmp_path / "toys.yaml"
    file.write_text(FILE, encoding="utf-8")

    def dcctl(*words: str) -> Any:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TOY_PACKAGE), str(ROOT)])}
        command = [sys.executable, "-m", "orchestrator.cli.main", *words]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert dcctl("validate", str(file), "--json")["mirrors"] == 1
    assert "Copied" in dcctl("schema")["$defs"]
    (lost, _) = dcctl("explain", str(file), "--json")["losses"]
    assert lost["clusters"]["west"]["topics"]["orders"]["rpo"] == "replication-lag"
    graph = dcctl("graph", str(file), "--json")
    assert [edge for edge in graph["edges"] if edge["kind"] == "mirror"]


def test_its_topics_and_rights_are_wanted_at_both_sides() -> None:
    """And no connector, nor anything of Connect's: it has no need of them."""
    wanted = desired_estate(topology()).clusters
    assert wanted["east"].topics["copier-west"].config == {"cleanup.policy": "compact"}
    assert not [
        name for name in wanted["east"].topics if "offset-syncs" in name or name.startswith("connect")
    ]
    assert not wanted["east"].connectors
    own = {(a.operation, a.resource_name) for a in wanted["east"].acls if a.principal == "User:mirror"}
    assert own == {
        (operation, name)
        for operation in ("WRITE", "DESCRIBE")
        for name in ("west.orders", "west.payments", "copier-west")
    }


def test_what_it_needs_is_planned_applied_and_mended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`plan` and `apply` make it; `drift` tells what somebody has changed."""
    world = rehearse(monkeypatch, tmp_path, topology())
    plan, file = plan_apply(world.topology), tmp_path / "plan.json"
    write_plan(plan, file)
    assert topology_of(read_plan(file), file) == world.topology
    assert run_apply(world.topology).outcome == "ok"
    assert "copier-west" in world.clusters["east"].picture.topics
    assert plan_apply(world.topology).facts["differences"] == []
    world.set_by_hand("east", "copier-west", **{"cleanup.policy": "delete"})
    (row,) = plan_apply(world.topology).facts["differences"]
    assert (row["cause"], row["subject"]) == ("drift", "topic copier-west")


def test_a_watcher_looks_at_it_and_records_its_source() -> None:
    """By what the engine says of its mirror, without Connect; samples lie where those of any mirror do."""
    raw = yaml.safe_load(FILE)
    for number, cluster in enumerate(raw["clusters"].values()):
        cluster["bootstrap"] = [f"127.0.0.1:{number + 1}"]
    file = parse_topology(yaml.safe_dump(raw))
    (watched,) = watched_clusters(file)
    watcher = Watcher(file, watched, structlog.get_logger())
    assert watcher.health is not None
    health = watcher.health._look()
    assert (health.states, health.problems) == ({"copier-west": "RUNNING"}, ())
    assert "dcctl-samples.west.internal" in desired_estate(file).clusters["east"].topics


def test_it_takes_part_in_moves_of_its_file() -> None:
    """Behind those that are built in; of a file without it nothing of it is known."""
    them = participants_of(topology())
    assert them.engines == (*PARTICIPANTS.engines, TOY)
    assert engine_of(topology().replication[0]) is TOY
    assert participants_of(parse_topology(DEGRADED)) == PARTICIPANTS
    (mirror,) = topology().replication
    with pytest.raises(DcctlError, match="its engine toy cannot be used in a move"):
        PARTICIPANTS.engine(topology(), ref_to(mirror))


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("math:pi", "is wrong: math:pi is no Engine"),
        ("no_such_module:it", "names no_such_module:it, which cannot be imported"),
        ("orchestrator.mirrors.mirrormaker2:ENGINE", "brings it, and it calls itself mirrormaker2"),
    ],
)
def test_what_it_refers_to_is_looked_at_before_it_serves(
    reference: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose it is stands in the error."""
    monkeypatch.setattr("tests.moves.toy_engine.DECLARED", replace(DECLARED, engine=reference))
    with pytest.raises(DcctlError, match=f"package [a-z-]+ {said}"):
        engine_of(topology().replication[0])
