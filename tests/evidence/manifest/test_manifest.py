"""A signed folder: whatever is changed in it is found and named, and nothing else is."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import AuditError, OutcomeUnknownError
from orchestrator.evidence.manifest.document import MANIFEST, PUBLIC_KEY, SIGNATURE, Manifest, parse_manifest
from orchestrator.evidence.manifest.keys import OWN_KEY, fingerprint, own_key, public_pem, signing_key
from orchestrator.evidence.manifest.signing import sign_folder
from orchestrator.evidence.manifest.verification import INTEGRITY_ONLY, Verification, verify_folder

KEY = Ed25519PrivateKey.generate()
OTHER = Ed25519PrivateKey.generate()

CONTENTS = {
    "report.json": b'{"verdict": "valid"}\n',
    "report.html": b"<html>valid</html>\n",
    "ledgers/producers/checkout/life-1.csv": b"event,sequence\nack,1\n",
    "ledgers/producers/checkout/life-2.csv": b"event,sequence\nack,2\n",
    'odd/name with "quotes", \\ and ü': b"odd",
    "empty": b"",
}


def evidence(folder: Path) -> Path:
    """A small signed folder."""
    for path, content in CONTENTS.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    (folder / "link").symlink_to("report.json")
    sign_folder(folder, KEY)
    return folder


def named(found: Verification) -> set[tuple[str, str]]:
    """How and which files differ."""
    return {(one.how, one.path) for one in found.differences}


def test_what_was_not_touched_is_ok_wherever_it_lies(tmp_path: Path) -> None:
    """Paths are those within the folder; the key in it proves no more than that nothing was changed."""
    evidence(tmp_path / "here")
    shutil.copytree(tmp_path / "here", tmp_path / "there", symlinks=True)
    shutil.rmtree(tmp_path / "here")
    found = verify_folder(tmp_path / "there")
    assert (found.outcome, found.differences) == ("ok", ())
    assert found.key_sha256 == fingerprint(KEY.public_key())
    assert found.proves == INTEGRITY_ONLY
    listed = json.loads((tmp_path / "there" / MANIFEST).read_text("utf-8"))["files"]
    assert set(listed) == {*CONTENTS, "link", PUBLIC_KEY}
    assert all(not path.startswith("/") for path in listed)


FILES = st.sampled_from(
    [*(path for path, content in CONTENTS.items() if content), MANIFEST, SIGNATURE, PUBLIC_KEY]
)


@given(path=FILES, at=st.integers(0), bit=st.integers(0, 7))
def test_any_changed_bit_of_any_file_is_found_and_the_file_named(path: str, at: int, bit: int) -> None:
    """Of the manifest and its signature it cannot be told which of the two was changed: both are named."""
    with tempfile.TemporaryDirectory() as place:
        folder = evidence(Path(place))
        data = bytearray((folder / path).read_bytes())
        data[at % len(data)] ^= 1 << bit
        (folder / path).write_bytes(data)
        try:
            found = verify_folder(folder)
        except OutcomeUnknownError as error:
            # Its format may have become a later one: nothing more can be said, and never that it is ok.
            named_by = (path, error.problem.partition(" ")[0])
            assert named_by == (MANIFEST, "is"), error  # noqa: PT017 - the other way is what usually happens
            return
        assert found.outcome == "changed"
        told = [str(one) for one in found.differences]
        assert any(path in text for text in told), told
        if path in CONTENTS:
            assert named(found) == {("changed", path)}


@given(path=st.sampled_from([path for path in CONTENTS if path]), size=st.integers(0, 9))
def test_what_is_cut_or_grows_is_found(path: str, size: int) -> None:
    """Also where nothing but the length differs."""
    content = CONTENTS[path]
    changed = (
        content[: max(0, len(content) - 1 - size)] if size % 2 and content else content + b"x" * (size + 1)
    )
    with tempfile.TemporaryDirectory() as place:
        folder = evidence(Path(place))
        (folder / path).write_bytes(changed)
        assert named(verify_folder(folder)) == {("changed", path)}


@given(name=st.text("abcé. ", min_size=1, max_size=12), below=st.sampled_from(["", "ledgers/", "new/"]))
def test_a_file_that_was_added_is_found(name: str, below: str) -> None:
    """Whatever its name, hidden ones too."""
    with tempfile.TemporaryDirectory() as place:
        folder = evidence(Path(place))
        path = f"{below}{name.strip('. ') or 'x'}"
        path = path if path not in CONTENTS else f"{path}-2"
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text("more", encoding="utf-8")
        assert named(verify_folder(folder)) == {("added", path)}
        (folder / path).rename(folder / ".hidden")
        assert named(verify_folder(folder)) == {("added", ".hidden")}


@given(path=st.sampled_from([*CONTENTS, "link", PUBLIC_KEY, SIGNATURE]))
def test_a_file_that_is_gone_or_renamed_is_found(path: str) -> None:
    """A renamed one is missing under the one name, and added under the other."""
    with tempfile.TemporaryDirectory() as place:
        folder = evidence(Path(place))
        (folder / path).rename(folder / "elsewhere")
        assert {("missing", path), ("added", "elsewhere")} <= named(verify_folder(folder))
        (folder / "elsewhere").unlink()
        found = verify_folder(folder)
        assert found.outcome == "changed"
        assert ("missing", path) in named(found)


@given(pair=st.lists(st.sampled_from(sorted(CONTENTS)), min_size=2, max_size=2, unique=True))
def test_two_files_in_each_others_place_are_found(pair: list[str]) -> None:
    """Every byte is still there, in another place."""
    one, other = pair
    with tempfile.TemporaryDirectory() as place:
        folder = evidence(Path(place))
        (folder / one).rename(folder / "kept")
        (folder / other).rename(folder / one)
        (folder / "kept").rename(folder / other)
        assert named(verify_folder(folder)) == {("changed", one), ("changed", other)}


def test_a_link_is_held_by_where_it_leads(tmp_path: Path) -> None:
    """And a file in place of a link, a pipe in place of a file, is another thing."""
    folder = evidence(tmp_path)
    (folder / "link").unlink()
    (folder / "link").symlink_to("report.html")
    assert named(verify_folder(folder)) == {("changed", "link")}
    (folder / "link").unlink()
    shutil.copyfile(folder / "report.json", folder / "link")
    (folder / "empty").unlink()
    os.mkfifo(folder / "empty")
    assert named(verify_folder(folder)) == {("changed", "link"), ("changed", "empty")}


def test_a_pipe_cannot_be_signed(tmp_path: Path) -> None:
    """What cannot be hashed is named, not waited for."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(AuditError, match="neither a file nor a link"):
        sign_folder(tmp_path, KEY)


def test_who_signs_it_anew_is_found_by_whoever_knows_the_key(tmp_path: Path) -> None:
    """A folder that was changed and signed with another key is ok by itself, and not by the right key."""
    folder = evidence(tmp_path / "folder")
    right = tmp_path / "right.pub"
    right.write_text(public_pem(KEY), encoding="utf-8")
    found = verify_folder(folder, right)
    assert (found.outcome, found.is_key_given) == ("ok", True)
    assert "private half of the key that was given" in found.proves
    (folder / "report.json").write_text('{"verdict": "forged"}\n', encoding="utf-8")
    sign_folder(folder, OTHER)
    assert verify_folder(folder).outcome == "ok"
    found = verify_folder(folder, right)
    assert named(found) == {("changed", SIGNATURE)}
    assert fingerprint(OTHER.public_key()) in str(found.differences[0])


def test_a_manifest_in_another_form_is_refused(tmp_path: Path) -> None:
    """Even signed: no two programs may read two things out of it."""
    folder = evidence(tmp_path)
    twice = (folder / MANIFEST).read_text("utf-8").replace('"files": {', '"files": {}, "files": {')
    (folder / MANIFEST).write_text(twice, encoding="utf-8")
    (folder / SIGNATURE).write_bytes(KEY.sign(twice.encode()))
    assert ("changed", MANIFEST) in named(verify_folder(folder))


def test_what_cannot_be_verified_is_unknown(tmp_path: Path) -> None:
    """No manifest, one of a later format, a key that is none: never ok, and never `changed`."""
    with pytest.raises(OutcomeUnknownError, match=r"no manifest\.json"):
        verify_folder(tmp_path)
    folder = evidence(tmp_path / "folder")
    with pytest.raises(OutcomeUnknownError, match="no public Ed25519 key"):
        verify_folder(folder, folder / "report.json")
    with pytest.raises(OutcomeUnknownError, match="cannot be read"):
        verify_folder(folder, tmp_path / "nothing")
    later = (folder / MANIFEST).read_text("utf-8").replace('"format_version": 1', '"format_version": 2')
    (folder / MANIFEST).write_text(later, encoding="utf-8")
    with pytest.raises(OutcomeUnknownError, match="format 2"):
        verify_folder(folder)


def test_a_report_that_is_made_again_says_so(tmp_path: Path) -> None:
    """The new manifest names the one in whose place it stands."""
    folder = evidence(tmp_path)
    (folder / "report.json").write_text("another", encoding="utf-8")
    signed = sign_folder(folder, KEY)
    assert signed.replaced
    assert "made again" in signed.text
    found = verify_folder(folder)
    assert found.outcome == "ok"
    assert found.manifest is not None
    assert found.manifest.replaces == signed.replaced


PATHS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(
    files=st.dictionaries(PATHS, st.integers(0, 2**60), max_size=4),
    made=st.text(st.characters(exclude_categories=["Cs"])),
)
def test_a_manifest_is_read_back_as_it_was(files: dict[str, int], made: str) -> None:
    """Whatever the names of the files."""
    from orchestrator.evidence.manifest.document import Entry  # noqa: PLC0415 - beside its use

    listed = {path: Entry(sha256="ab", size_bytes=size) for path, size in files.items()}
    manifest = Manifest(made_at=made, dcctl_version="1", key_sha256="cd", files=listed)
    assert parse_manifest(manifest.text().encode()) == manifest


def test_the_own_key_is_made_once_and_nobody_else_reads_it(tmp_path: Path) -> None:
    """Many at a time get one and the same."""
    folder = tmp_path / "state"
    with ThreadPoolExecutor(16) as pool:
        keys = list(pool.map(lambda _: fingerprint(own_key(folder).public_key()), range(64)))
    assert len(set(keys)) == 1
    assert [path.name for path in folder.iterdir()] == [OWN_KEY]
    assert stat.S_IMODE((folder / OWN_KEY).stat().st_mode) == 0o600


def test_a_key_of_ones_own_is_taken(tmp_path: Path) -> None:
    """As openssl makes it; what is none is named with what would be one."""
    file = tmp_path / "my.pem"
    with pytest.raises(AuditError, match=r"--signing-key .*cannot be read") as refused:
        signing_key(file)
    assert "openssl genpkey -algorithm ed25519" in refused.value.hint
    file.write_text("nothing", encoding="utf-8")
    with pytest.raises(AuditError, match="no private key"):
        signing_key(file)
    subprocess.run(
        ["openssl", "genpkey", "-algorithm", "rsa", "-out", str(file)], check=True, capture_output=True
    )
    with pytest.raises(AuditError, match="no Ed25519 key"):
        signing_key(file)
    command = ["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(file)]
    subprocess.run(command, check=True, capture_output=True)
    assert verify_signed(tmp_path, signing_key(file)) == "ok"
    command = ["openssl", "pkcs8", "-topk8", "-in", str(file), "-passout", "pass:x", "-out", str(file) + "2"]
    subprocess.run(command, check=True, capture_output=True)
    with pytest.raises(AuditError, match="is encrypted"):
        signing_key(Path(str(file) + "2"))


def verify_signed(tmp_path: Path, key: Ed25519PrivateKey) -> str:
    """A folder signed with a key."""
    folder = tmp_path / "signed"
    folder.mkdir()
    (folder / "a").write_text("a", encoding="utf-8")
    sign_folder(folder, key)
    return verify_folder(folder).outcome
