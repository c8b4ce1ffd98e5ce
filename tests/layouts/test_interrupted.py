"""`dcctl apply` killed at any point, on real servers: gone on with in each way, it reaches the same state.

Two files describe the same clusters, one more than the other; the estate is taken from one to the other and
back, killed on the way at the next point each time. So everything that apply does is interrupted: topics and
rules made and deleted, settings changed, partitions added, replicas moved, connectors made, changed, deleted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.adapters.kafka.java_admin_jvm import end_shared_jvm
from orchestrator.estate.live.observe import observe_estate
from orchestrator.topology.loading import load_topology
from orchestrator.verbs.live.apply import plan_apply, run_apply
from tests.drill.rehearsal import ROOT, processes_of
from tests.layouts.estate import Estate
from tests.layouts.interrupting import Interrupted, go_on, kill_apply

_ALLOWED = ["delete-topics", "reduce-durability", "reset-config", "delete-acls", "delete-connectors"]
_REFUSED, _INCOMPLETE = 4, 6
# Why an abort that was not refused takes back only a part: what had happened it learned by looking, and
# watchers write into their topic as soon as it is there.
_STAYS = ("cannot be rolled back: ", "topics not deleted, because they have records: dcctl-samples.")
# Beside a kill at each record, one within what the step does after it.
_WITHIN_S = (0.0, 0.03, 0.15)
_SLICES = 6
_WAYS = ("apply", "resume", "abort")


class Pair:
    """An estate, and the two files between which it is changed."""

    def __init__(self, estate: Estate, growing: str) -> None:
        self.estate = estate
        self._growing = growing
        self._partitions = next(t for t in estate.topology["topics"] if t["name"] == growing)["partitions"]

    def file(self, kind: str) -> Path:
        """One of the two files; each time the growing topic has a partition more, for they never go away."""
        self._partitions += 1
        data = more(self.estate.topology) if kind == "more" else less(self.estate.topology)
        for topic in data["topics"]:
            if topic["name"] == self._growing:
                topic["partitions"] = self._partitions
        file = self.estate.file.with_name(f"{kind}.yaml")
        file.write_text(yaml.safe_dump(data), encoding="utf-8")
        return file

    def contents(self, file: Path) -> dict[str, Any]:
        """All that matters of the estate, so that two can be compared; ids are Kafka's business."""
        return {
            name: (
                {
                    t.name: (
                        None if t.name.endswith(self._growing) else t.partitions,
                        {len(replicas) for replicas in t.replicas},
                        dict(t.config),
                    )
                    for t in cluster.topics.values()
                    if not t.is_internal
                },
                cluster.acls,
                {c.name: (dict(c.config), c.state) for c in (cluster.connectors or {}).values()},
            )
            for name, cluster in observe_estate(load_topology(file)).clusters.items()
        }


def less(described: dict[str, Any]) -> dict[str, Any]:
    """The smaller file: no mirror back, where there is one, and safer replicas of `audit`."""
    data = _copied(described)
    home = data["topics"][0]["cluster"]
    data["topics"] = [*data["topics"], _topic("audit", home, replicas=3, min_insync_replicas=2)]
    if data["layout"] == "active-active":
        data["layout"] = "active-passive"
        data["replication"] = data["replication"][:1]
        data["producers"] = [one for one in data["producers"] if one["cluster"] == home]
        data["consumers"] = [one for one in data["consumers"] if one["name"] != "reporting"]
    return data


def more(described: dict[str, Any]) -> dict[str, Any]:
    """The larger file: everything of the example, another topic with its application, other settings."""
    data = _copied(described)
    home = data["topics"][0]["cluster"]
    audit = _topic("audit", home, replicas=2, min_insync_replicas=1, config={"max.message.bytes": "2000000"})
    data["topics"] = [*data["topics"], audit, _topic("returns", home, replicas=3, min_insync_replicas=2)]
    user = "User:returns"
    data["producers"].append(
        {"name": "returns", "cluster": home, "topics": ["returns"], "acks": "all", "principal": user}
    )
    for mirror in data.get("replication", []):
        if mirror["source"] == home:
            mirror["topics"] = [*mirror["topics"], "returns"]
    return data


def _copied(described: dict[str, Any]) -> dict[str, Any]:
    copied: dict[str, Any] = yaml.safe_load(yaml.safe_dump(described))
    return {**copied, "allow": _ALLOWED}


def _topic(name: str, cluster: str, **rest: Any) -> dict[str, Any]:
    return {"name": name, "cluster": cluster, "partitions": 2, **rest}


@pytest.fixture
def pair(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    """An example, up; nothing of it is left afterwards."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path / "state"))
    estate = Estate(tmp_path, ROOT / "topologies" / f"{request.param}.yaml")
    try:
        yield Pair(estate, "orders")
    finally:
        end_shared_jvm()
        estate.dcctl("sim", "down", "--all", "--yes")
    assert processes_of(estate.state) == []


@pytest.mark.drills
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(_SLICES))
@pytest.mark.parametrize("pair", ["active-active"], indirect=True)
def test_killed_at_every_record_it_reaches_the_same_state(pair: Pair, first: int) -> None:
    """Two clusters and their mirrors; every sixth point, so that six of these have them all."""
    expected: dict[str, dict[str, Any]] = {}
    records: dict[str, int] = {}
    # Once there and back, so that what Connect makes for itself is there in either.
    for kind in ("more", "less", "more", "less"):
        expected[kind], records[kind] = _undisturbed(pair, kind)
    killed = 0
    for point in range(first, max(records.values()) + 1, _SLICES):
        for kind in ("more", "less"):
            how = _WAYS[point // _SLICES % len(_WAYS)]
            killed += _killed_and_gone_on(pair, kind, point, how, expected[kind])
    assert killed >= sum(records.values()) // _SLICES - 2


@pytest.mark.integration
@pytest.mark.timeout(240)
@pytest.mark.parametrize("pair", ["one-location"], indirect=True)
def test_killed_on_its_way_it_reaches_the_same_state(pair: Pair) -> None:
    """One cluster: killed there and resumed, killed on the way back and applied again."""
    more_is, more_records = _undisturbed(pair, "more")
    less_is, less_records = _undisturbed(pair, "less")
    assert _killed_and_gone_on(pair, "more", more_records // 2, "resume", more_is)
    assert _killed_and_gone_on(pair, "less", less_records // 2, "apply", less_is)


def _undisturbed(pair: Pair, kind: str) -> tuple[dict[str, Any], int]:
    file = pair.file(kind)
    result = run_apply(load_topology(file))
    assert result.outcome == "ok", result.reason
    assert plan_apply(load_topology(file)).facts["differences"] == []
    journal = Path(result.folder) / "journal.jsonl"
    return pair.contents(file), len(journal.read_text(encoding="utf-8").splitlines())


def _killed_and_gone_on(pair: Pair, kind: str, point: int, how: str, expected: dict[str, Any]) -> bool:
    file = pair.file(kind)
    killed = kill_apply(pair.estate, file, point, _WITHIN_S[point % len(_WITHIN_S)])
    done = _go_on(pair.estate, file, killed, how)
    at = f"{kind}, killed at {killed.records} records: {done}"
    sys.stderr.write(f"{at}\n")
    assert run_apply(load_topology(file)).outcome == "nothing-to-do", at
    assert plan_apply(load_topology(file)).facts["differences"] == [], at
    assert pair.contents(file) == expected, at
    return killed.was_killed


def _go_on(estate: Estate, file: Path, killed: Interrupted, how: str) -> str:
    """As a person might. What was not begun, or is taken back, is applied again; what cannot be, is resumed."""
    if not killed.was_killed:
        return "nothing: it had ended"
    words = {"abort": ("--yes",), "resume": ()}
    done = []
    while how in words:
        status, said = go_on(estate, how, killed.run_id, str(file), *words[how])
        is_part = how == "abort" and status == _INCOMPLETE and any(why in said for why in _STAYS)
        assert status in (0, _REFUSED) or is_part, (how, status, said)
        done.append(f"{how} {'in part' if is_part else 'refused' if status else 'ok'}")
        if how == "resume" and status == 0:
            return ", ".join(done)
        # One that has gone too far to be taken back can only go on.
        how = "resume" if how == "abort" and status == _REFUSED else "apply"
    status, said = go_on(estate, "apply", str(file), "--yes")
    assert status == 0, (done, said)
    return ", ".join([*done, "apply"])
