"""`dcctl explain` from the outside: the JSON contract, and text for a tired person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.main import run

EXAMPLE = str(Path(__file__).parents[2] / "topologies" / "active-passive.yaml")


def explained(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    """The JSON answer."""
    assert run(["explain", EXAMPLE, "--json", *options]) == 0
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    data: dict[str, Any] = json.loads(captured.out)
    return data


def test_the_json_is_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    """Every key of the design, and no other."""
    data = explained(capsys)
    assert list(data) == ["format_version", "topology", "losses"]
    assert data["topology"] == "payments"
    assert [loss["lost"] for loss in data["losses"]] == [["west"], ["east"]]
    for loss in data["losses"]:
        assert list(loss) == ["lost", "clusters", "applications", "margin"]
        for one in loss["applications"]:
            assert list(one) == ["name", "kind", "cluster", "goes_to", "topics", "reason"]
        for cluster in loss["clusters"].values():
            assert list(cluster) == ["control_plane", "reason", "topics"]
            for topic in cluster["topics"].values():
                assert list(topic) == ["acked_records", "writes", "rpo", "rto", "reason"]
    west = data["losses"][0]["clusters"]["west"]
    assert list(west["topics"]) == ["orders", "payments", "__consumer_offsets", "__transaction_state"]
    assert west["topics"]["orders"]["rto"] == "switch-clients"


def test_what_is_asked_for_comes_first_and_each_loss_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Combinations and servers by --lose, every broker by --nodes."""
    data = explained(capsys, "--lose", "east,west", "--lose", "west/broker-2", "--nodes")
    lost = [loss["lost"] for loss in data["losses"]]
    brokers = [[f"{dc}/broker-{number}"] for dc in ("west", "east") for number in (1, 2, 3)]
    assert lost[:4] == [["east", "west"], ["west/broker-2"], ["west"], ["east"]]
    assert sorted([*lost[4:], ["west/broker-2"]]) == sorted(brokers)


def test_racks_stand_before_brokers(capsys: pytest.CaptureFixture[str]) -> None:
    """With --nodes each is lost; those that mean the same share an answer, apart from brokers."""
    file = str(Path(__file__).parents[1] / "topology" / "racks.yaml")
    assert run(["explain", file, "--nodes", "--json"]) == 0
    lost = [loss["lost"] for loss in json.loads(capsys.readouterr().out)["losses"]]
    racks = [f"north/rack-{letter}" for letter in "abc"]
    assert lost == [["north"], *([rack] for rack in racks), *([f"north/broker-{n}"] for n in range(1, 7))]
    assert run(["explain", file, "--nodes"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "one of north/rack-a, north/rack-b, north/rack-c main: control plane continues" in out
    assert "audit: at most 2 of 4 replicas are in it, below" in out


def test_text_answers_in_one_sentence_first(capsys: pytest.CaptureFixture[str]) -> None:
    """One line for each loss stands before every table."""
    assert run(["explain", EXAMPLE]) == 0
    out = " ".join(capsys.readouterr().out.split())
    west = "west Records that no mirror has copied yet are lost; clients must be switched to east."
    east = "east No acknowledged record is lost; nothing stops."
    assert out.index(west) < out.index(east) < out.index("topics acked writes RPO RTO")
    assert "orders, payments at-risk need-procedure replication-lag switch-clients" in out


@pytest.mark.parametrize(
    ("example", "options", "sentence"),
    [
        (
            "aggregation-two-centres",
            [],
            "! centre No acknowledged record is lost; consumers of centre must be switched to reserve.",
        ),
        (
            "aggregation",
            [],
            "✗ centre No acknowledged record is lost; consumers of centre wait until centre is back.",
        ),
        (
            "aggregation",
            [],
            "✗ dc1 Records of dc1 that no mirror has copied yet are lost; applications of dc1 wait until dc1 is back.",
        ),
        (
            "aggregation-two-centres",
            ["--lose", "dc1,centre"],
            "✗ dc1 and centre Records of dc1 that no mirror has copied yet are lost; applications of dc1 wait until dc1 "
            "is back; consumers of centre must be switched to reserve.",
        ),
        (
            "active-active",
            [],
            "! west Records of west that no mirror has copied yet are lost; clients of west must be switched to east.",
        ),
    ],
)
def test_the_sentence_says_who_goes_where_and_who_waits(
    example: str, options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where nothing of the records stops, consumers can: of a centre nothing is produced there."""
    file = Path(EXAMPLE).with_name(f"{example}.yaml")
    assert run(["explain", str(file), *options]) == 0
    assert sentence in " ".join(capsys.readouterr().out.split())


def test_one_that_stays_among_others_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`packing-dc1` has a standby of its own, the shop has none."""
    text = Path(EXAMPLE).with_name("aggregation.yaml").read_text(encoding="utf-8")
    old = "cluster: dc1, kind: group,"
    assert old in text
    file = tmp_path / "one.yaml"
    file.write_text(text.replace(old, f"{old} standby: centre,"), encoding="utf-8")
    assert run(["explain", str(file)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "; shop-dc1 waits until dc1 is back; packing-dc1 must be switched to centre." in said
    assert "packing-dc1 goes to centre, and reads dc1.orders there" in said


def test_brokers_whose_loss_means_the_same_share_one_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """Six brokers, two answers."""
    assert run(["explain", EXAMPLE, "--nodes"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "one of west/broker-1, west/broker-2, west/broker-3" in out
    assert "1 of 3 replicas is on it, below min.insync.replicas 2" in out


def test_markdown_is_two_tables_and_nothing_else_of_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Each row of a table has as many cells as its head."""
    assert run(["explain", EXAMPLE, "--format", "markdown"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert lines[0].startswith("- **west** lost: ")
    rows = [line for line in lines if line.startswith("|")]
    assert {row.count(" | ") for row in rows} == {3, 7}
    assert any("| `orders`, `payments` | at-risk | need-procedure |" in row for row in rows)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--lose", "wets"], "did you mean `west`?"),
        (["--lose", "west,west/broker-9"], "west has: broker-1, broker-2, broker-3"),
        (["--format", "html"], "take text or markdown"),
    ],
)
def test_a_wrong_question_is_status_2_with_a_hint(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names that the file does not have are usage errors."""
    assert run(["explain", EXAMPLE, *options]) == 2
    assert said in capsys.readouterr().err


def test_what_patterns_of_a_mirror_match_is_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In words, for documentation and for machines; and what is left out of them."""
    text = Path(EXAMPLE).read_text(encoding="utf-8")
    text = text.replace("topics: [orders, payments], policy", 'topics: [orders, "pay.*"], policy', 1)
    row = next(line for line in text.splitlines() if "{name: payments," in line)
    text = text.replace(row, f"{row}\n{row.replace('name: payments', 'name: pay-store-changelog')}", 1)
    file = tmp_path / "patterns.yaml"
    file.write_text(text, encoding="utf-8")
    for options in ([], ["--format", "markdown"]):
        assert run(["explain", str(file), *options]) == 0
        said = capsys.readouterr().out
        assert "The mirror west → east copies by the pattern pay.*: payments" in said
        assert "leaves out internal topics that its patterns match: pay-store-changelog" in " ".join(
            said.split()
        )
    assert run(["explain", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["patterns"] == [
        {
            "source": "west",
            "target": "east",
            "patterns": {"pay.*": ["payments"]},
            "left_out": ["pay-store-changelog"],
        }
    ]


def test_within_a_stretched_cluster_the_steps_of_a_failover_are_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By the functions that plan it, and the words that it would need."""
    stretched = str(Path(EXAMPLE).with_name("stretched-2dc.yaml"))
    assert run(["explain", stretched, "--json", "--lose", "dc1/broker-1"]) == 0
    broker, site, _ = json.loads(capsys.readouterr().out)["losses"]
    assert "steps" not in broker["clusters"]["main"]
    assert site["clusters"]["main"]["steps"] == [
        "fence-site",
        "record-generation",
        "stop-voters",
        "form-quorum",
        "start-rest",
        "await-leaders",
        "lower-min-insync",
        "see-writable",
    ]
    (word,) = site["clusters"]["main"]["overrides"]
    assert word.startswith("--lower-min-insync ")
    assert "orders" in word
    assert run(["explain", stretched]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert (
        "dcctl failover FILE --attest-down dc1 would do: fence-site, record-generation, stop-voters, form-quorum"
        in out
    )


def test_what_a_file_of_real_servers_lacks_for_a_failover_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of those of a simulation nothing: it brings its own."""
    text = Path(EXAMPLE).with_name("stretched-2dc.yaml").read_text(encoding="utf-8")
    file = tmp_path / "ledger.yaml"
    file.write_text(text.replace("  main:\n", "  main:\n    bootstrap: ['k1:9092']\n", 1), encoding="utf-8")
    assert run(["explain", str(file)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "would do (once the file names coordination and inventory): fence-site" in out
    assert run(["explain", str(file), "--json", "--lose", "dc1"]) == 0
    assert json.loads(capsys.readouterr().out)["losses"][0]["clusters"]["main"]["missing"] == [
        "coordination",
        "inventory",
    ]


@pytest.mark.parametrize(
    ("layout", "lost", "steps"),
    [
        ("stretched-3dc", "dc2", ["fence-site", "await-leaders", "see-writable"]),
        ("stretched-2.5dc", "witness", []),
        ("stretched-2.5dc", "dc1,dc2", []),
    ],
)
def test_where_little_or_nothing_is_to_be_done_that_is_told(
    layout: str, lost: str, steps: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A tie-breaker asks for nothing, and without any broker nothing can be done."""
    file = str(Path(EXAMPLE).with_name(f"{layout}.yaml"))
    assert run(["explain", file, "--json", "--lose", lost]) == 0
    first = json.loads(capsys.readouterr().out)["losses"][0]
    assert first["clusters"]["main"]["steps"] == steps


def test_what_is_read_from_the_nearest_replica_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Behind the losses: who reads at its own site, and what would cross otherwise."""
    example = Path(EXAMPLE).with_name("stretched-2.5dc-kraft.yaml").read_text(encoding="utf-8")
    file = tmp_path / "near.yaml"
    file.write_text(example.replace("metadata: kraft", "metadata: kraft\n    read_from: nearest"))
    assert run(["explain", str(file), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [(one["consumer"], one["site"], one["is_near"]) for one in data["reading"]] == [
        ("billing", "dc1", True),
        ("dashboard", "dc1", True),
    ]
    assert run(["explain", str(file)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Billing at dc1 reads orders from replicas at dc1, where brokers have" in out
