"""A kind of application that dcctl does not know is declared in a file, and goes through all that the file is for.

It is brought by an installed package, by its entry point, and nothing in dcctl is changed for it.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
import structlog
import yaml
from rich.console import Console

from orchestrator.cli.main import run
from orchestrator.cli.status_view import render_status
from orchestrator.errors import DcctlError
from orchestrator.estate.desired import desired_estate
from orchestrator.evidence.clients.places import places
from orchestrator.evidence.run_audit import run_inputs
from orchestrator.moves.fence import fenced
from orchestrator.moves.in_status import Gauge
from orchestrator.simulation.workload.install import client_programs, program_of
from orchestrator.simulation.workload.scenario import AT_END
from orchestrator.snapshot.samples import ApplicationSample, SampleHistory
from orchestrator.snapshot.watched import Watched
from orchestrator.topology.consumer_kinds import all_rules
from orchestrator.topology.loading import check_text, dump_topology, parse_topology
from orchestrator.topology.model import Topology
from orchestrator.topology.schema import topology_schema
from orchestrator.values import TopicPartition
from orchestrator.verbs.live.apply import plan_apply, read_plan, run_apply, topology_of, write_plan
from orchestrator.verbs.live.switchover_procedure import SwitchoverProcedure
from orchestrator.verbs.registration import PARTICIPANTS, participants_of
from orchestrator.watch.keeper import Keeper
from orchestrator.watch.keeping import followers_of
from orchestrator.watch.metrics import WatchCollector
from orchestrator.watch.recorder import SourceReading
from orchestrator.watch.status import mirror_status
from orchestrator.watch.status_parts import status_parts
from tests.moves import toy_declared
from tests.moves.toy_declared import DeclaredTallies, Tally, install
from tests.moves.toy_world import AWAY, HOME, REQUESTS, TALLIES, ToyEstate, wrong
from tests.reconcile.memory_run import rehearse

DEGRADED = (Path(__file__).parents[1] / "faults" / "sick.yaml").read_text(encoding="utf-8")
ROOT = Path(__file__).parents[2]
ENTRY = '  - {name: ada, cluster: west, kind: toy, topics: [orders], principal: "User:ada", notebook: notes/ada}\n'
FILE = DEGRADED.replace("failover:\n", f"{ENTRY}failover:\n")


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder into which the package of the toys is installed, as pip leaves it."""
    folder = tmp_path / "site-packages"
    install(folder)
    monkeypatch.syspath_prepend(str(folder))
    return folder


def topology(notebook: str = "notes/ada") -> Topology:
    """The file with a tally in it."""
    return parse_topology(FILE.replace("notes/ada", notebook))


def problems(text: str) -> list[str]:
    """Each with its line, as `validate` shows it."""
    return [problem.text("f") for problem in check_text(text, "f").errors]


def test_its_keys_are_read_and_written() -> None:
    """A plan file holds the topology: what is read of it is the same."""
    file = topology()
    (tally,) = (consumer for consumer in file.consumers if consumer.kind == "toy")
    assert (tally.notebook, tally.every_s, tally.noun) == ("notes/ada", 1.0, "tally")  # type: ignore[attr-defined]
    assert parse_topology(json.dumps(dump_topology(file))) == file


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (
            ENTRY.replace("notes/ada", "3"),
            "f:30:94: consumers[3].notebook is 3; expected text\n    write it in quotes to make it text",
        ),
        (
            ENTRY.replace("notebook:", "notbook:"),
            "f:30:84: unknown key `notbook` in consumers[3]\n    did you mean `notebook`?",
        ),
        (
            ENTRY.replace("toy", "tyo"),
            'f:30:38: consumers[3].kind is "tyo"; expected one of group, spark, toy\n    did you mean `toy`?',
        ),
        (
            ENTRY.replace("toy", "group"),
            "f:30:96: `ada` is a group and has no notebook [toy-notebooks]\n    remove it, or take kind: toy",
        ),
        (
            ENTRY + ENTRY.replace("name: ada", "name: bob"),
            "f:31:94: `bob` and `ada` share the notebook notes/ada [toy-notebooks]\n    give each a file of its own",
        ),
    ],
)
def test_what_is_wrong_with_it_is_told_at_its_place(written: str, said: str) -> None:
    """Its form, its keys at another kind, and its own rules."""
    assert said in problems(FILE.replace(ENTRY, written))


def test_without_its_package_the_kind_is_unknown(package: Path) -> None:
    """And its keys are not told of: nobody knows them."""
    (package / "toys-1.0.dist-info" / "entry_points.txt").unlink()
    (told,) = problems(FILE)
    assert 'consumers[3].kind is "toy"; expected one of group, spark' in told


def test_another_package_that_is_wrong_stops_nobody(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files without its kind are read and told what is wrong with them; listings name it."""
    lines = "[dcctl.kinds]\ntoy = tests.moves.toy_declared:TOY\ntoys = no_such_module:it\n"
    (package / "toys-1.0.dist-info" / "entry_points.txt").write_text(lines)
    assert check_text(FILE, "f").topology is not None
    (told,) = problems(FILE.replace("kind: toy", "kind: toyz"))
    assert "expected one of group, spark, toy, toys" in told
    assert "Consumer-toy" in topology_schema()["$defs"]
    assert run(["rules", "--json"]) == 0
    (broken,) = json.loads(capsys.readouterr().out)["broken"]
    assert broken["subject"] == "extension toys of dcctl.kinds"
    assert run(["rules"]) == 0
    assert "extension toys of dcctl.kinds" in capsys.readouterr().err
    with pytest.raises(DcctlError, match="package toys names no_such_module:it, which cannot be imported"):
        check_text(FILE.replace("kind: toy", "kind: toys"), "f")


@pytest.mark.parametrize(
    ("part", "reference", "said"),
    [
        ("takes_part", "fractions:Fraction", "what fractions:Fraction makes is no Kind"),
        ("takes_part", f"{__name__}:Ada", "package toys brings it, and it calls itself ada"),
        ("takes_part", "no_such_module:it", "package toys names no_such_module:it, which cannot be imported"),
        ("simulated", "math:pi", "package toys is wrong: math:pi is no Simulated"),
        ("in_status", "math:pi", "package toys is wrong: math:pi is no StatusPart"),
    ],
)
def test_what_it_refers_to_is_looked_at_before_it_serves(
    part: str, reference: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever asks for a part of the kind is told whose it is and what it had to be."""
    monkeypatch.setattr(toy_declared, "TOY", replace(toy_declared.TOY, **{part: reference}))
    file, simulation = topology(), SimpleNamespace(ledgers=tmp_path)
    tally, (place, *_) = file.consumers[-1], places(file, file.consumers[-1])
    with pytest.raises(DcctlError, match=said):
        {
            "takes_part": lambda: participants_of(file),
            "simulated": lambda: program_of(simulation, tally, place, AT_END),  # type: ignore[arg-type]
            "in_status": lambda: status_parts([tally]),
        }[part]()


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("orchestrator.values:listed", "package toys names orchestrator.values:listed, which cannot"),
        ("tests.moves.test_toy_declared:nothing", "test_toy_declared:nothing makes is no Keeping"),
    ],
)
def test_what_keeps_its_words_is_looked_at_while_the_others_are_kept(
    reference: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A watcher begins whatever the package refers to, and tells of the application what is wrong."""
    monkeypatch.setattr(toy_declared, "TOY", replace(toy_declared.TOY, kept_by=reference))
    tally = topology().consumers[-1]
    (follower,) = followers_of([tally], "w", structlog.get_logger())
    follower.ask()
    (word,) = follower.words()
    assert word.application == tally.name
    assert said in word.problem


class Ada(DeclaredTallies):
    """A kind in moves with a name that no file has."""

    name = "ada"


def nothing(*_given: object) -> None:
    """What makes nothing."""


def test_editors_know_its_keys() -> None:
    """The published schema takes the file, and refuses what the model refuses."""
    schema = jsonschema.Draft202012Validator(topology_schema())
    assert schema.is_valid(yaml.safe_load(FILE))
    assert not schema.is_valid(yaml.safe_load(FILE.replace("notebook: notes/ada", "notebook: 3")))
    assert not schema.is_valid(yaml.safe_load(FILE.replace("kind: toy", "kind: group")))
    assert "toy-notebooks" in {rule.id for rule in all_rules()}


def test_commands_know_it_by_its_entry_point(tmp_path: Path, package: Path) -> None:
    """As a user has it: the package is installed, and a command is called."""
    file = tmp_path / "toys.yaml"
    file.write_text(FILE, encoding="utf-8")

    def dcctl(*words: str) -> Any:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(package), str(ROOT)])}
        command = [sys.executable, "-m", "orchestrator.cli.main", *words]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert dcctl("validate", str(file), "--json")["consumers"] == 4
    assert "Consumer-toy" in dcctl("schema")["$defs"]
    (lost, _) = dcctl("explain", str(file), "--json")["losses"]
    assert lost["clusters"]["west"]["topics"].keys() >= {"orders", "payments"}
    nodes = {node["id"]: node for node in dcctl("graph", str(file), "--json")["nodes"]}
    assert nodes["consumer:ada"]["role"] == "toy"
    assert nodes["consumer:ada"]["caption"] == "tally"


def test_its_rights_and_topics_are_wanted_at_both_sides() -> None:
    """Where it works, and where a move would bring it; a fence of readers denies what it is allowed."""
    wanted = desired_estate(topology()).clusters
    for cluster in ("west", "east"):
        assert wanted[cluster].topics["ada-counts"].partitions == 1
        own = {acl.operation for acl in wanted[cluster].acls if acl.resource_name == "ada-counts"}
        assert own == {"READ", "WRITE", "DESCRIBE"}
    assert not [
        acl for acl in wanted["west"].acls if acl.resource_type == "GROUP" and acl.principal == "User:ada"
    ]
    rules = fenced(topology(), "west", with_consumers=True).rules
    assert {(r.permission, r.operation) for r in rules if r.resource_name == "ada-counts"} == {
        ("DENY", "READ")
    }


def test_what_it_needs_is_planned_applied_and_mended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`plan` and `apply` make it; `drift` tells what somebody has changed."""
    world = rehearse(monkeypatch, tmp_path, topology())
    plan, file = plan_apply(world.topology), tmp_path / "plan.json"
    write_plan(plan, file)
    assert topology_of(read_plan(file), file) == world.topology
    assert run_apply(world.topology).outcome == "ok"
    assert "ada-counts" in world.clusters["west"].picture.topics
    assert plan_apply(world.topology).facts["differences"] == []
    world.set_by_hand("west", "ada-counts", min_insync_replicas="1")
    (row,) = plan_apply(world.topology).facts["differences"]
    assert (row["cause"], row["subject"]) == ("drift", "topic ada-counts")


def test_a_watcher_keeps_its_positions(tmp_path: Path) -> None:
    """Written when they change, and read again from the samples; a notebook that is gone is told."""
    notebook = tmp_path / "ada.json"
    notebook.write_text('{"orders-0": 7}', encoding="utf-8")
    consumers = topology(str(notebook)).consumers
    (keeping,) = followers_of([c for c in consumers if c.kind == "toy"], "w", structlog.get_logger())
    written: list[tuple[bytes, bytes]] = []
    keeper = Keeper("w", lambda records, _: written.extend(records))
    at_s = notebook.stat().st_mtime

    def round_() -> ApplicationSample:
        reading = SourceReading(begun_at_s=at_s, ended_at_s=at_s + 0.1, outcome="good")
        keeping.ask()
        keeper.record(reading, keeping.words())
        history = SampleHistory()
        for key, value in written:
            history.add_record(key, value)
        assert history.unreadable == 0
        found = history.of_applications["ada"]
        assert isinstance(found, ApplicationSample)
        return found

    assert (round_().told, round_().at_s) == ({"orders-0": 7}, at_s)
    count = len(written)
    round_()
    assert not any(b"application" in key for key, _ in written[count:]), "nothing new"
    notebook.unlink()
    keeping.ask()
    assert keeping.words()[0].problem == "its notebook cannot be read: No such file or directory"


def test_a_simulation_has_its_program(tmp_path: Path) -> None:
    """At both of its sites, under the name by which moves stop and start it."""
    file = topology()
    assert client_programs(file, "west") == [
        "consumer-billing",
        "consumer-shipping",
        "consumer-fraud",
        "tally-ada",
        "producer-checkout",
        "producer-settlement",
    ]
    tally, simulation = file.consumers[-1], SimpleNamespace(ledgers=tmp_path)
    found = [program_of(simulation, tally, place, AT_END) for place in places(file, tally)]  # type: ignore[arg-type]
    assert [program.name for program in found] == ["tally-ada", "tally-ada"]
    assert [program.command[-1] for program in found] == ["west", "east"]


def test_it_takes_part_in_moves_of_its_file() -> None:
    """Behind those that are built in; of a file without it nothing of it is known."""
    them = participants_of(topology())
    assert [kind.name for kind in them.kinds] == [*(kind.name for kind in PARTICIPANTS.kinds), "toy"]
    assert them.kind("toy").at(topology(), "west") == ("ada",)
    assert participants_of(parse_topology(DEGRADED)) == PARTICIPANTS
    with pytest.raises(DcctlError, match="no kind of application has this name"):
        PARTICIPANTS.kind("toy")


def estate_with_toys(monkeypatch: pytest.MonkeyPatch, folder: Path) -> ToyEstate:
    """An estate whose file has the tallies."""
    declared = tuple(
        Tally(
            name=name, cluster=HOME, kind="toy", topics=("orders",), principal=f"User:{name}", notebook=name
        )
        for name in TALLIES
    )
    estate = ToyEstate(folder, is_usual=True, declared=declared)
    monkeypatch.setattr(DeclaredTallies, "memory", estate.tallies)
    return estate


def test_a_switchover_takes_it_along(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By its file alone: who takes part is not said to the verb."""
    estate = estate_with_toys(monkeypatch, tmp_path)
    result = SwitchoverProcedure(estate.topology, REQUESTS["switchover"], servers=estate.servers).run()  # type: ignore[arg-type]
    assert result.outcome == "ok", result.reason
    assert estate.tallies.running == {(name, AWAY) for name in TALLIES}
    (mirror,) = estate.topology.replication
    inputs = run_inputs(estate.topology, mirror, result, ledgers=tmp_path, fault_at_s=0.0)
    told = {(p.consumer, p.topic, p.partition): p.target_offset for p in inputs.positions}
    assert told == {
        (name, "orders", number): estate.tallies.positions[name, HOME][TopicPartition("orders", number)]
        for name in TALLIES
        for number in range(2)
    }
    assert wrong(estate) == []


def test_status_tells_of_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Under the key that its kind declares, and in the table and notes beside groups and queries."""
    estate = estate_with_toys(monkeypatch, tmp_path)
    (mirror,) = estate.topology.replication
    told = mirror_status(estate.topology, mirror, servers=estate.servers)
    reread = {"map": 0, "position_age": 0, "at_most": 0}
    unseen = {"positions": None, "age_s": None, "problem": "no watcher has seen its notebook"}
    assert told["tallies"] == [{"tally": name, **unseen, "reread": reread} for name in TALLIES]
    assert told["spark"] == []
    told["tallies"][0] |= {"positions": 3, "age_s": 2.0, "problem": ""}
    out = io.StringIO()
    render_status({"mirrors": [told]}, Console(file=out, width=200), estate.topology.consumers)
    shown = [" ".join(line.split()) for line in out.getvalue().splitlines()]
    assert "ada 3 in its notebook 0 0" in shown
    assert "grace unknown 0 0" in shown
    assert "! grace: no watcher has seen its notebook" in shown


def test_metrics_have_its_gauges() -> None:
    """Beside those of every application, of a file that has such a kind."""
    history = SampleHistory()
    history.add(ApplicationSample(watcher="w", kind="toy", name="ada", at_s=1.0, told={"orders-0": 7}))
    watcher = SimpleNamespace(
        watched=Watched(cluster="west", kept_at="east", topics=("orders",)),
        lock=threading.Lock(),
        history=history,
        health=SimpleNamespace(newest=None),
        clusters=SimpleNamespace(are_same=None),
        maps=(),
    )
    collector = WatchCollector([watcher], topology().consumers)  # type: ignore[list-item]
    (sample,) = next(
        metric.samples for metric in collector.collect() if metric.name == "dcctl_tally_positions"
    )
    assert (sample.labels["tally"], sample.value) == ("ada", 1.0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"key": "loss"}, "its part of status has the key loss, which is taken"),
        ({"key": "spark"}, "its part of status has the key spark, which is taken"),
        (
            {"gauges": {"source_up": Gauge("", ())}},
            "its part of status has the gauge source_up, which is taken",
        ),
    ],
)
def test_its_part_of_status_takes_the_place_of_no_other(
    changes: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What reads the JSON or the metrics has to know whose it is."""
    monkeypatch.setattr(toy_declared, "IN_STATUS", replace(toy_declared.IN_STATUS, **changes))
    estate = estate_with_toys(monkeypatch, tmp_path)
    (mirror,) = estate.topology.replication
    is_key = "key" in changes
    with pytest.raises(DcctlError, match=said):
        mirror_status(estate.topology, mirror, servers=estate.servers) if is_key else WatchCollector(
            [], estate.topology.consumers
        )
