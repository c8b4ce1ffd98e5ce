"""`dcctl report`: a run's report by its bare id, and the verification of evidence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from orchestrator.cli.main import run
from orchestrator.evidence.manifest.keys import fingerprint, public_pem
from orchestrator.evidence.manifest.signing import sign_folder

KEY = Ed25519PrivateKey.generate()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files, signed."""
    evidence = tmp_path / "evidence"
    evidence.mkdir()
    (evidence / "report.json").write_text("{}", encoding="utf-8")
    (evidence / "journal.jsonl").write_text("{}\n", encoding="utf-8")
    sign_folder(evidence, KEY)
    return evidence


def test_ok_says_what_it_proves_and_what_not(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A key from the folder itself proves integrity; one that a person gives, who signed."""
    assert run(["report", "verify", str(folder)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "nothing was changed" in said
    assert f"SHA256:{fingerprint(KEY.public_key())}" in said
    assert "not by whom it was signed" in said
    key = tmp_path / "key.pub"
    key.write_text(public_pem(KEY), encoding="utf-8")
    assert run(["report", "verify", str(folder), "--public-key", str(key), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["outcome"], told["key_from"], told["files"], told["differences"]) == ("ok", "given", 3, [])
    key.write_text(public_pem(Ed25519PrivateKey.generate()), encoding="utf-8")
    assert run(["report", "verify", str(folder), "--public-key", str(key)]) == 1


def test_every_difference_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Changed, missing and added; a long list is cut on a terminal and whole as JSON."""
    (folder / "report.json").write_text("[]", encoding="utf-8")
    (folder / "journal.jsonl").unlink()
    for number in range(30):
        (folder / f"{number:02d}").write_text("", encoding="utf-8")
    assert run(["report", "verify", str(folder), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["format_version"], told["outcome"], told["proves"]) == (1, "changed", None)
    found = {(one["how"], one["path"]) for one in told["differences"]}
    assert {
        ("changed", "report.json"),
        ("missing", "journal.jsonl"),
        ("added", "00"),
        ("added", "29"),
    } <= found
    assert run(["report", "verify", str(folder)]) == 1
    said = capsys.readouterr().out
    assert "added: 00" in said
    assert "and 12 more" in said


def test_what_is_no_evidence_is_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither ok nor changed."""
    assert run(["report", "verify", str(tmp_path)]) == 7
    assert run(["report", "verify", str(tmp_path / "nothing")]) == 7
    assert "has no manifest.json" in capsys.readouterr().err


def test_a_run_needs_no_word_before_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`report RUN` as it always was, options in any place; `report run RUN` is the same."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(tmp_path))
    missing = str(tmp_path / "missing.yaml")
    for words in (
        ["r", missing, "--ledgers", "x"],
        ["--ledgers", "x", "r", missing],
        ["run", "r", missing, "--ledgers", "x"],
    ):
        assert run(["report", *words]) == 7
        assert "there is no such file" in capsys.readouterr().err
    assert run(["report", "r"]) == 2
    assert "--ledgers" in capsys.readouterr().err


@pytest.mark.parametrize("how", ["option", "variable"])
def test_a_key_that_cannot_be_used_stops_before_anything_is_done(
    how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A drill of minutes must not end without a signature."""
    key = tmp_path / "key.pem"
    key.write_text("no key", encoding="utf-8")
    words = ["drill", "topologies/active-passive.yaml", "--out", str(tmp_path / "drills")]
    monkeypatch.chdir(Path(__file__).parents[2])
    if how == "variable":
        monkeypatch.setenv("DCCTL_SIGNING_KEY", str(key))
    else:
        words += ["--signing-key", str(key)]
    assert run(words) == 7
    assert "is no private key in PEM" in capsys.readouterr().err
    assert not (tmp_path / "drills").exists()
