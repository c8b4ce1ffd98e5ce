"""Whether a folder of evidence is what it was when it was closed, and whose signature that says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from orchestrator.errors import OutcomeUnknownError
from orchestrator.evidence.manifest.document import (
    MANIFEST,
    PUBLIC_KEY,
    SIGNATURE,
    Manifest,
    entry_of,
    files_of,
    parse_manifest,
)
from orchestrator.evidence.manifest.keys import fingerprint, given_public_key, read_public_key

How = Literal["changed", "missing", "added", "unreadable"]

INTEGRITY_ONLY = (
    "The key was taken from the folder itself. That proves that nothing was changed since the folder was"
    " signed, not by whom it was signed: compare the fingerprint with one that you know, or give"
    " --public-key FILE."
)


@dataclass(frozen=True, slots=True)
class Difference:
    """One file that is not as it was signed, and why that is said."""

    how: How
    path: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.how}: {self.path}" + (f" ({self.why})" if self.why else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """`manifest` is None where it cannot be understood. `key_sha256`: of the key with which the signature was
    checked; `is_key_given`: whether that came from a person and not from the folder.
    """

    folder: Path
    manifest: Manifest | None
    key_sha256: str
    is_key_given: bool
    differences: tuple[Difference, ...]

    @property
    def outcome(self) -> Literal["ok", "changed", "unknown"]:
        """Changed over unknown over ok."""
        if any(found.how != "unreadable" for found in self.differences):
            return "changed"
        return "unknown" if self.differences else "ok"

    @property
    def proves(self) -> str:
        """What an `ok` says, in a sentence."""
        if not self.is_key_given:
            return INTEGRITY_ONLY
        return "The folder was signed with the private half of the key that was given, and not changed since."

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        made = self.manifest
        return {
            "outcome": self.outcome,
            "folder": str(self.folder),
            "made_at": made.made_at if made else None,
            "dcctl_version": made.dcctl_version if made else None,
            "replaces": (made.replaces or None) if made else None,
            "files": len(made.files) if made else None,
            "key_sha256": self.key_sha256 or None,
            "key_from": "given" if self.is_key_given else "folder",
            "proves": self.proves if self.outcome == "ok" else None,
            "differences": [
                {"how": found.how, "path": found.path, "why": found.why} for found in self.differences
            ],
        }


def verify_folder(folder: Path, public_key: Path | None = None) -> Verification:
    """Check the signature, every hash, and that no file is missing or was added.

    Raises `OutcomeUnknownError` where there is no manifest to check, or it cannot be read.
    """
    data = _manifest_bytes(folder)
    given = None if public_key is None else given_public_key(public_key)
    key, found = (given, []) if given is not None else _own_key(folder)
    manifest: Manifest | None = None
    try:
        manifest = parse_manifest(data)
    except ValueError as error:
        found.append(Difference("changed", MANIFEST, str(error)))
    if key is not None:
        found += _of_signature(folder, key, data, manifest)
    if manifest is not None:
        found += _of_files(folder, manifest)
    return Verification(
        folder=folder,
        manifest=manifest,
        key_sha256="" if key is None else fingerprint(key),
        is_key_given=given is not None,
        differences=tuple(_once(found)),
    )


def _manifest_bytes(folder: Path) -> bytes:
    try:
        return (folder / MANIFEST).read_bytes()
    except FileNotFoundError:
        problem = f"has no {MANIFEST}: there is nothing to hold it against"
        hint = "name the folder that a drill or a report left; earlier versions of dcctl signed none"
        raise OutcomeUnknownError(str(folder), problem, hint) from None
    except OSError as error:
        raise OutcomeUnknownError(str(folder / MANIFEST), f"cannot be read: {error.strerror}") from None


def _own_key(folder: Path) -> tuple[Ed25519PublicKey | None, list[Difference]]:
    try:
        return read_public_key((folder / PUBLIC_KEY).read_bytes()), []
    except FileNotFoundError:
        return None, [Difference("missing", PUBLIC_KEY)]
    except OSError as error:
        return None, [Difference("unreadable", PUBLIC_KEY, str(error.strerror))]
    except ValueError:
        return None, [Difference("changed", PUBLIC_KEY, "it is no public Ed25519 key in PEM")]


def _of_signature(
    folder: Path, key: Ed25519PublicKey, data: bytes, manifest: Manifest | None
) -> list[Difference]:
    try:
        key.verify((folder / SIGNATURE).read_bytes(), data)
    except FileNotFoundError:
        return [Difference("missing", SIGNATURE)]
    except OSError as error:
        return [Difference("unreadable", SIGNATURE, str(error.strerror))]
    except InvalidSignature:
        why = f"is not the signature of {MANIFEST} by the key SHA256:{fingerprint(key)}"
        if manifest is not None and manifest.key_sha256 != fingerprint(key):
            why += f"; {MANIFEST} names the key SHA256:{manifest.key_sha256}"
        return [Difference("changed", SIGNATURE, f"{why}; or {MANIFEST} was changed")]
    return []


def _of_files(folder: Path, manifest: Manifest) -> list[Difference]:
    try:
        there = set(files_of(folder))
    except OSError as error:
        place = Path(error.filename or folder)
        raise OutcomeUnknownError(str(place), f"cannot be read: {error.strerror}") from None
    found = [Difference("missing", path) for path in manifest.files if path not in there]
    found += [Difference("added", path) for path in there if path not in manifest.files]
    for path in there.intersection(manifest.files):
        try:
            if entry_of(folder / path) != manifest.files[path]:
                found.append(Difference("changed", path))
        except OSError as error:
            found.append(Difference("unreadable", path, str(error.strerror)))
    return sorted(found, key=lambda one: (one.path, one.how))


def _once(found: Iterable[Difference]) -> list[Difference]:
    """Each file once, with the first word on it."""
    return list({(one.path, one.how): one for one in reversed(list(found))}.values())[::-1]
