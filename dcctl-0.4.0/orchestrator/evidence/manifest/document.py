"""`manifest.json`: every file of a folder with its size and SHA-256, in one canonical form.

The signature is over the bytes of the file as they lie there. There is one way to write a given manifest:
one that reads otherwise, with a key twice or in another order, is refused, so that two programs that look at
it cannot see two things.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.errors import AuditError, OutcomeUnknownError

MANIFEST, SIGNATURE, PUBLIC_KEY = "manifest.json", "manifest.sig", "manifest.pub"
FORMAT_VERSION = 1

_UNLISTED = frozenset({MANIFEST, SIGNATURE})
_HEAD = ("format_version", "made_at", "dcctl_version", "key_sha256", "replaces")


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One file: its size in bytes and the SHA-256 of what it holds; of a link, where it leads to instead."""

    sha256: str = ""
    size_bytes: int = 0
    link_to: str = ""

    def as_json(self) -> dict[str, Any]:
        """As it stands in the manifest."""
        if self.link_to:
            return {"link_to": self.link_to}
        return {"sha256": self.sha256, "size_bytes": self.size_bytes}


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """`made_at`: UTC. `key_sha256`: fingerprint of the public key that it is signed for. `files`: by their
    paths within the folder, with `/` between the parts. `replaces`: SHA-256 of the manifest in whose place
    this one stands, where a report was made again; empty for a first one.
    """

    made_at: str
    dcctl_version: str
    key_sha256: str
    files: Mapping[str, Entry]
    replaces: str = ""

    def text(self) -> str:
        """The canonical form: keys in this order, a file a line, sorted by the bytes of their paths."""
        head = {"format_version": FORMAT_VERSION, **{name: getattr(self, name) for name in _HEAD[1:]}}
        lines = [f"  {_json(name)}: {_json(value)}" for name, value in head.items()]
        files = [
            f"    {_json(path)}: {_json(entry.as_json())}"
            for path, entry in sorted(self.files.items(), key=lambda item: item[0].encode())
        ]
        inside = "{\n" + ",\n".join(files) + "\n  }" if files else "{}"
        return "{\n" + ",\n".join([*lines, f'  "files": {inside}']) + "\n}\n"


def parse_manifest(data: bytes) -> Manifest:
    """A manifest read back. Raises `ValueError` where it is not one in canonical form, and
    `OutcomeUnknownError` for one of a later format.
    """
    found = json.loads(data)
    if not isinstance(found, dict):
        raise ValueError("is no JSON object")  # noqa: TRY004 - of a file, not of a caller
    version = found.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise OutcomeUnknownError(
            MANIFEST,
            f"is of format {version}; this dcctl reads {FORMAT_VERSION}",
            f"verify it with the dcctl that made it: {found.get('dcctl_version', 'a later one')}",
        )
    if set(found) != {*_HEAD, "files"} or not isinstance(found["files"], dict):
        raise ValueError(f"does not have the keys {', '.join(_HEAD)} and files")
    try:
        files = {path: Entry(**entry) for path, entry in found["files"].items()}
        manifest = Manifest(files=files, **{name: str(found[name]) for name in _HEAD[1:]})
        is_canonical = manifest.text().encode() == data
    except (TypeError, UnicodeEncodeError) as error:
        raise ValueError(f"is not as dcctl writes it: {error}") from None
    if not is_canonical:
        raise ValueError("is not in the one form in which dcctl writes it")
    return manifest


def files_of(folder: Path) -> Iterator[str]:
    """The path of every file and link below a folder that a manifest lists. Raises `OSError`."""
    for place, folders, names in os.walk(folder, onerror=_raise):
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        for name in (*names, *links):
            path = (Path(place) / name).relative_to(folder).as_posix()
            if path not in _UNLISTED:
                yield path


def entry_of(file: Path) -> Entry:
    """What a file holds now; nothing where it is a pipe or the like. Raises `OSError`."""
    kind = file.lstat().st_mode
    if stat.S_ISLNK(kind):
        return Entry(link_to=os.readlink(file))  # noqa: PTH115 - the text, not a path
    if not stat.S_ISREG(kind):
        return Entry()
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
        return Entry(sha256=digest, size_bytes=content.tell())


def entries_of(folder: Path) -> dict[str, Entry]:
    """Every file of a folder. Raises `AuditError` where one cannot be read, or its name is not UTF-8."""
    try:
        found = {path: entry_of(folder / path) for path in files_of(folder)}
    except OSError as error:
        place = error.filename or folder
        raise AuditError(
            str(place), f"cannot be read: {error.strerror}", "evidence has to be whole"
        ) from None
    for path, entry in found.items():
        if entry == Entry():
            raise AuditError(
                str(folder / path), "is neither a file nor a link", "take it out of the evidence"
            )
        try:
            path.encode()
        except UnicodeEncodeError:
            raise AuditError(
                ascii(path), "has a name that is not UTF-8: a manifest cannot list it", "rename it"
            ) from None
    return found


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _raise(error: OSError) -> None:
    raise error
