"""What earlier versions have left in the ensemble and in samples topics is read as it was read then."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator import __version__
from orchestrator.adapters.zookeeper import Coordination
from orchestrator.cli.main import run
from orchestrator.errors import GateRefusedError
from orchestrator.reconcile.live.record import applied_path, read_applied
from orchestrator.runs.live import coordination
from orchestrator.runs.live.journal import unpacked
from orchestrator.runs.plan import STEPS_READ, plan_from_json, to_json
from orchestrator.topology.loading import load_topology
from orchestrator.verbs.live.apply import read_plan, topology_of
from orchestrator.verbs.live.finished_run import finished_run
from orchestrator.verbs.live.standing_denials import fence_rows
from orchestrator.watch.status import mirror_status
from tests.drill.rehearsal import ROOT
from tests.old_data import golden, reading
from tests.old_data.reading import FOLDERS, OldData
from tests.old_data.scrub import SECRET_VARIABLE
from tests.old_data.tree import Node, cut, dump_tree, in_memory, into_zookeeper, read_tree, write_tree
from tests.runs.memory_ensemble import MemoryEnsemble
from tests.twin.estate import TwinEstate
from tests.zookeeper_server import zookeeper_server

ALL = [OldData(folder) for folder in FOLDERS]
SIZE_BYTES = 1_200_000


@pytest.fixture(params=ALL, ids=str)
def data(request: pytest.FixtureRequest) -> OldData:
    found: OldData = request.param
    return found


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A state folder that knows nothing of the runs, and secrets that open nothing."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv(SECRET_VARIABLE, "opens nothing")


def connect(monkeypatch: pytest.MonkeyPatch, nodes: list[Node]) -> Coordination:
    """Every command of this test finds these nodes in its ensemble."""
    ensemble = in_memory(nodes)
    monkeypatch.setattr(coordination, "Coordination", lambda *_, **__: ensemble)
    return ensemble


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """A command that ends well, and its JSON."""
    assert run([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_there_is_old_data_of_every_verb() -> None:
    """Or the tests here would say nothing."""
    for version in {each.about["dcctl_version"] for each in ALL}:
        of_it = [each for each in ALL if each.about["dcctl_version"] == version]
        verbs = {run_id.split("-")[1] for each in of_it for run_id, _ in each.runs}
        assert verbs == {"apply", "fence", "unfence", "switchover", "failover", "failback"}, version
    for version in {folder.parent for folder in FOLDERS}:
        assert sum(file.stat().st_size for file in version.glob("*/*")) < SIZE_BYTES, version


def test_it_names_no_machine(data: OldData) -> None:
    """Neither paths of the machine on which it was made nor addresses at which somebody may listen."""
    nodes = "\n".join(json.dumps([node.path, node.value.decode("latin1")]) for node in data.nodes)
    samples = "\n".join(str(record) for record in data.samples)
    whole = samples + data.file.read_text(encoding="utf-8") + nodes
    assert "/tmp/" not in whole
    assert "/home/" not in whole
    for address in whole.split("127.0.0.1:")[1:]:
        port = "".join(list(address)[: next(at for at, c in enumerate(address) if not c.isdigit())])
        assert int(port) < 1_000, address[:40]


def test_a_tree_survives_its_file(data: OldData, tmp_path: Path) -> None:
    """Written again it is the same."""
    write_tree(tmp_path / "again", data.nodes)
    assert read_tree(tmp_path / "again") == data.nodes
    assert (tmp_path / "again").read_bytes() == (data.folder / "ensemble.jsonl").read_bytes()


def test_everything_is_told_as_it_was_told_then(data: OldData, tmp_path: Path) -> None:
    """At each moment what guards decide, what is known of the runs and what a failback rests on; stories;
    samples."""
    then, now = golden.kept(data), golden.told(data, tmp_path / "disk")
    assert golden.missing(then, json.loads(json.dumps(now))) == []


def test_a_comparison_finds_what_is_missing() -> None:
    """Else the one above would pass whatever is told."""
    then = {"a": [{"b": 1}], "c": None}
    assert golden.missing(then, {"a": [{"b": 1, "new": 2}], "c": None, "d": 3}) == []
    assert golden.missing(then, {"a": [{"b": 2}]}) == [
        ".c: is not there any more",
        ".a[0].b: 2 instead of 1",
    ]
    assert golden.missing(then, {"a": [], "c": None}) == [".a: [] instead of [{'b': 1}]"]


def test_history_lists_every_run(
    data: OldData, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As JSON with who and how it ended, and for people."""
    connect(monkeypatch, data.nodes)
    history = asked(capsys, "history", str(data.file))
    assert [row["run_id"] for row in history["runs"]] == [run_id for run_id, _ in data.runs]
    stories = golden.kept(data)["stories"]
    for row in history["runs"]:
        story = stories[row["run_id"]]
        assert (row["verb"], row["who"]) == (story["verb"], story["who"]["who"])
        assert row["outcome"] == ("incomplete" if story["outcome"] == "open" else story["outcome"])
    assert run(["history", str(data.file)]) == 0
    printed = capsys.readouterr().out
    assert all(run_id in printed for run_id, _ in data.runs)


def test_show_tells_every_run(
    data: OldData, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The story, every record, and for people each step by its title."""
    connect(monkeypatch, data.nodes)
    stories = golden.kept(data)["stories"]
    values = {node.path: node.value for node in data.nodes}
    for run_id, paths in data.runs:
        shown = asked(capsys, "show", run_id, str(data.file))
        assert golden.missing(stories[run_id], shown["story"]) == []
        assert [record["sequence"] for record in shown["records"]] == list(range(1, len(paths) + 1))
        for record, path in zip(shown["records"], paths, strict=True):
            if values[path].startswith(b"{") and b'"parts":' not in values[path]:
                assert golden.missing(json.loads(values[path]), record) == [], path
        for options in ([], ["--records"]):
            assert run(["show", run_id, str(data.file), *options]) == 0
            printed = " ".join(capsys.readouterr().out.split())
            assert stories[run_id]["outcome"] in printed or options
            assert run_id in printed or options


def test_status_tells_what_was_known_then(data: OldData, tmp_path: Path) -> None:
    """At each moment who is primary, which move was the newest, and of one that is not done who can tell more."""
    estate = TwinEstate(data.topology, tmp_path)
    (mirror,) = estate.topology.replication
    open_moves = set()
    for name, last in data.moments():
        then = golden.kept(data)["moments"][name]["coordination"]
        estate.ensemble.nodes = in_memory(cut(data.nodes, last)).nodes
        status = mirror_status(estate.topology, mirror, servers=estate.servers)
        assert status["primary"] == then["primaries"], name
        move = status["last_move"]
        assert (move and move["run_id"]) == then["newest_move"], name
        if move and move["outcome"] == "incomplete":
            open_moves.add(move["run_id"])
            assert move["where_now"].startswith("Recorded as primary: "), name
            version = data.about["dcctl_version"]
            nobody_here = f"held: only dcctl {version}, which began the run, can say"
            assert move["where_now"].endswith(nobody_here) is (version not in STEPS_READ)
    assert open_moves


def test_the_copy_of_the_record_says_what_the_record_says(data: OldData) -> None:
    """As far as it has come: a failover without the ensemble rests on it."""
    recorded = {fact["number"]: fact for fact in reading.facts(data, in_memory(data.nodes))}
    copied = reading.copied_facts(data)
    assert len(copied) > 5
    assert [fact for fact in copied if recorded.get(fact["number"], fact) != fact] == []


def test_what_was_applied_is_known(data: OldData) -> None:
    """Where an apply has ended well: `drift` tells by it who has changed what."""
    ensemble = in_memory(data.nodes)
    names = ensemble.names(applied_path(data.topology.name))
    applied = read_applied(ensemble, data.topology.name)
    assert (applied is not None) == bool(names)
    if applied is not None:
        assert applied.run_id in {run_id for run_id, _ in data.runs if "-apply-" in run_id}


def test_a_fence_of_an_earlier_version_is_told_until_an_unfence_of_it(data: OldData) -> None:
    """By whom its plan names: its steps are not known here."""
    told = {
        name.split("-")[1]: fence_rows(in_memory(cut(data.nodes, last)), data.topology.name)
        for name, last in data.moments()
        if name.endswith("at its last record") and name.split("-")[1] in ("fence", "unfence")
    }
    assert (told.keys() == {"fence", "unfence"}) == data.folder.name.startswith("small")
    if told:
        ((row,), none) = told["fence"], told["unfence"]
        assert (row["writing"], row["problem"]) == (["User:checkout", "User:settlement"], "")
        assert none == []


def plans() -> list[Path]:
    """Every plan file of old data."""
    return sorted(file for folder in FOLDERS for file in folder.glob("*.plan.json"))


@pytest.mark.parametrize("file", plans(), ids=lambda file: f"{file.parent.name}/{file.name}")
def test_a_plan_file_is_read(file: Path) -> None:
    """As it was written, with who wrote it. Nobody applies one of another version: it is stale."""
    written = json.loads(file.read_text(encoding="utf-8"))
    plan = plan_from_json(written)
    assert golden.missing(written, to_json(plan)) == []
    about = OldData(file.parent).about
    assert plan.dcctl_version == about["dcctl_version"]
    if plan.verb == "apply":
        assert topology_of(plan, file).name == OldData(file.parent).topology.name
        if plan.dcctl_version == __version__:
            assert read_plan(file) == plan
            return
        with pytest.raises(GateRefusedError, match=f"is stale: dcctl {plan.dcctl_version} made the plan"):
            read_plan(file)


def local_journals() -> list[Path]:
    """Journals of runs without the ensemble, as they lay on a machine."""
    return sorted(file for folder in FOLDERS for file in folder.glob("*-failover-*.jsonl"))


@pytest.mark.parametrize("file", local_journals(), ids=lambda file: file.stem)
def test_the_journal_of_a_run_without_the_ensemble_is_imported(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Into the ensemble as it was before: then it says what it said after the import of then."""
    data = OldData(file.parent)
    earlier = [paths[-1] for run_id, paths in data.runs if run_id != file.stem][-1]
    ensemble = connect(monkeypatch, cut(data.nodes, earlier))
    alone = tmp_path / "state" / "alone" / data.topology.name
    alone.mkdir(parents=True)
    for kept in file.parent.glob(f"{file.stem}*"):
        (alone / kept.name).write_bytes(kept.read_bytes())
    shown = asked(capsys, "show", file.stem, str(data.file))
    assert golden.missing(golden.kept(data)["stories"][file.stem], shown["story"]) == []
    told = asked(capsys, "history", str(data.file), "--import", str(alone / file.name))
    assert (told["imported"]["run_id"], told["imported"]["primary"]) == (file.stem, "east")
    then = golden.kept(data)["moments"]["in the end"]
    for name, now in (
        ("past", reading.past(data, ensemble)),
        ("guards", reading.guards(data, ensemble, tmp_path / "disk")),
    ):
        assert golden.missing(then[name], now) == []
    newest = reading.coordination(data, ensemble)
    assert newest["newest_move"] == file.stem
    assert {row["primary"] for row in newest["primaries"]} == {"east"}


@pytest.mark.parametrize(
    "file", sorted(found for folder in FOLDERS for found in folder.glob("result.json")), ids=str
)
def test_the_result_of_a_run_is_read(file: Path, tmp_path: Path) -> None:
    """`report` rests on it."""
    run_id = OldData(file.parent).about["runs"]["failover"]
    folder = tmp_path / "state" / "runs" / run_id
    folder.mkdir(parents=True)
    (folder / file.name).write_bytes(file.read_bytes())
    topology = load_topology(ROOT / "topologies" / "active-passive.yaml")
    result = finished_run(topology, run_id, lambda _: MemoryEnsemble()).result
    assert (result.run_id, result.outcome) == (run_id, "ok")


@pytest.mark.integration
def test_a_real_ensemble_tells_the_same(data: OldData, tmp_path: Path) -> None:
    """Loaded into a ZooKeeper in its order, the order of runs is the same, and so is all that is told."""
    folder = tmp_path / "zookeeper"
    folder.mkdir()
    with zookeeper_server(folder) as server:
        into_zookeeper(server.hosts, data.nodes)
        assert dump_tree(server.hosts) == data.nodes
        ensemble = Coordination(server.hosts)
        ensemble.open(20)
        try:
            in_memory_now = in_memory(data.nodes)
            for tell in (reading.coordination, reading.past, reading.facts):
                assert tell(data, ensemble) == tell(data, in_memory_now)
            disk = tmp_path / "disk"
            assert reading.guards(data, ensemble, disk) == reading.guards(data, in_memory_now, disk)
        finally:
            ensemble.close()


def unfinished() -> list[tuple[OldData, str, str]]:
    """One run a verb and story as it was in its middle: the data, the run, the node that was written last."""
    found = {
        (str(each), run_id.split("-")[1]): (each, run_id, paths[len(paths) // 2])
        for each in ALL
        for run_id, paths in each.runs
        if any("-step-intent" in path for path in paths) and not _had_no_ensemble(each, paths)
    }
    return list(found.values())


def _had_no_ensemble(data: OldData, paths: list[str]) -> bool:
    first = next(node.value for node in data.nodes if node.path == paths[0])
    return bool(unpacked(first)["data"].get("without_coordination"))


# What going on with an unfinished run of each version, or taking it back, comes to. A version that cannot end
# the runs of an earlier one says "refused" here, and names that version where a person asks for it.
UNFINISHED = {"0.1.0": "refused", "0.2.0": "refused", "0.3.0": "refused"}


@pytest.mark.parametrize(
    ("data", "run_id", "last"),
    unfinished(),
    ids=[f"{each.folder.name} {run_id}" for each, run_id, _ in unfinished()],
    indirect=["data"],
)
def test_an_unfinished_run_is_gone_on_with_by_a_version_that_can(
    data: OldData,
    run_id: str,
    last: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is taken up; only that no server answers here keeps it from going on, and it stays as it was.

    To be taken back, it is asked about.
    """
    ensemble = connect(monkeypatch, cut(data.nodes, last))
    before = in_memory(cut(data.nodes, last)).nodes
    file = data.folder / "changed.yaml" if _is_of(data, run_id, "apply") else data.file
    monkeypatch.setattr("sys.stdin", _Terminal("n\n"))
    for module in ("observe", "fence_procedure"):
        monkeypatch.setattr(f"orchestrator.verbs.live.{module}.REACHED_WITHIN_S", 0.2)
    version = data.about["dcctl_version"]
    for verb in ("resume", "abort"):
        status = run([verb, run_id, str(file), "--json"])
        said = " ".join(capsys.readouterr().err.split())
        if UNFINISHED[version] != "taken up":
            assert status == 4, (verb, said)
            assert f"dcctl {version}" in said, (verb, said)
        elif verb == "resume":
            assert status in (4, 7), said
            assert "The run stays as it was" in said, said
        else:
            # Asked whether it shall be taken back, where the answer is no; or told what cannot be.
            assert status in (4, 8), said
            assert "declined" in said or "cannot be rolled back" in said, said
    assert ensemble.nodes == before  # type: ignore[attr-defined]


class _Terminal(io.StringIO):
    """A person's answers."""

    def isatty(self) -> bool:
        return True


def _is_of(data: OldData, run_id: str, name: str) -> bool:
    return bool(data.about["runs"].get(name) == run_id)
