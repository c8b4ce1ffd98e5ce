"""Closing a folder of evidence: its manifest, written last, and the signature of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from orchestrator import __version__
from orchestrator.adapters.files import write_whole
from orchestrator.errors import AuditError
from orchestrator.evidence.manifest.document import MANIFEST, PUBLIC_KEY, SIGNATURE, Manifest, entries_of
from orchestrator.evidence.manifest.keys import fingerprint, public_pem


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """A folder that was closed: how many files are listed, and with which key. `replaced`: SHA-256 of the
    manifest that was there before; empty where there was none.
    """

    file: Path
    files: int
    key_sha256: str
    replaced: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "file": str(self.file),
            "files": self.files,
            "key_sha256": self.key_sha256,
            "replaced": self.replaced or None,
        }

    @property
    def text(self) -> str:
        """In a line, for whoever makes it."""
        again = (
            " It takes the place of an earlier one, as the report was made again." if self.replaced else ""
        )
        return f"Signed: {self.files:,} files, key SHA256:{self.key_sha256}; {self.file}.{again}"


def sign_folder(folder: Path, key: Ed25519PrivateKey) -> Signed:
    """Write `manifest.json`, `manifest.sig` and `manifest.pub`. Nothing may be written there afterwards.

    Raises `AuditError` where a file cannot be read, or these cannot be written.
    """
    before = folder / MANIFEST
    try:
        replaced = hashlib.sha256(before.read_bytes()).hexdigest() if before.exists() else ""
        write_whole(folder / PUBLIC_KEY, public_pem(key))
        manifest = Manifest(
            made_at=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
            dcctl_version=__version__,
            key_sha256=fingerprint(key.public_key()),
            files=entries_of(folder),
            replaces=replaced,
        )
        data = manifest.text().encode()
        write_whole(folder / SIGNATURE, key.sign(data))
        write_whole(before, data)
    except OSError as error:
        place = error.filename or folder
        raise AuditError(str(place), f"cannot be written: {error.strerror}", "is the disk full?") from None
    return Signed(file=before, files=len(manifest.files), key_sha256=manifest.key_sha256, replaced=replaced)
