"""The key that evidence is signed with: an Ed25519 key of this installation, or one that is given.

The own key is made at first use, in the state folder. It says that two folders come from one installation;
who that is says only who has seen its fingerprint at the installation itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from orchestrator.errors import AuditError, OutcomeUnknownError
from orchestrator.runs.live.state_folder import state_folder

OWN_KEY = "signing-key.pem"


def signing_key(given: Path | None = None) -> Ed25519PrivateKey:
    """The key in the file that is given, or this installation's own. Raises `AuditError`."""
    return _private_key(given, f"--signing-key {given}") if given is not None else own_key(state_folder())


def own_key(folder: Path) -> Ed25519PrivateKey:
    """The key of this installation, made if there is none yet; of several that make one, all get the same.

    Raises `AuditError` where it cannot be made or read.
    """
    path = folder / OWN_KEY
    try:
        if not path.exists():
            _make(path)
    except OSError as error:
        hint = "give a key of your own with --signing-key FILE, or another place with DCCTL_STATE_DIR"
        raise AuditError(str(path), f"cannot be made: {error.strerror}", hint) from None
    return _private_key(path, str(path))


def public_pem(key: Ed25519PrivateKey) -> str:
    """The public half, as it travels with the evidence."""
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def read_public_key(data: bytes) -> Ed25519PublicKey:
    """A public key in PEM. Raises `ValueError`."""
    try:
        key = load_pem_public_key(data)
    except UnsupportedAlgorithm as error:
        raise ValueError(str(error)) from None
    if not isinstance(key, Ed25519PublicKey):
        raise ValueError("is no Ed25519 key")  # noqa: TRY004 - of a file, not of a caller
    return key


def given_public_key(file: Path) -> Ed25519PublicKey:
    """The key of whom the evidence is said to come from. Raises `OutcomeUnknownError`."""
    subject = f"--public-key {file}"
    try:
        return read_public_key(file.read_bytes())
    except OSError as error:
        raise OutcomeUnknownError(subject, f"cannot be read: {error.strerror}", _PUBLIC_HINT) from None
    except ValueError:
        raise OutcomeUnknownError(subject, "is no public Ed25519 key in PEM", _PUBLIC_HINT) from None


def fingerprint(key: Ed25519PublicKey) -> str:
    """SHA-256 of the public key in DER, as hexadecimal digits."""
    return hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


_PUBLIC_HINT = "the public half of a signing key: openssl pkey -in KEY -pubout"
_PRIVATE_HINT = "make one with: openssl genpkey -algorithm ed25519 -out FILE"


def _private_key(file: Path, subject: str) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(file.read_bytes(), password=None)
    except OSError as error:
        raise AuditError(subject, f"cannot be read: {error.strerror}", _PRIVATE_HINT) from None
    except TypeError:
        raise AuditError(subject, "is encrypted; dcctl asks for no password", _PRIVATE_HINT) from None
    except (ValueError, UnsupportedAlgorithm):
        raise AuditError(subject, "is no private key in PEM", _PRIVATE_HINT) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise AuditError(subject, "is no Ed25519 key", _PRIVATE_HINT)
    return key


def _make(path: Path) -> None:
    """Written beside its place and linked there: whole or not at all, and never over another one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    key = Ed25519PrivateKey.generate()
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # 0600 from its beginning
    beside = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):  # somebody else was faster: theirs it is
            path.hardlink_to(beside)
    finally:
        beside.unlink()
