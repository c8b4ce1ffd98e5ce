"""Secrets are named in files and read here, at the last moment: `${env:NAME}` or `${file:PATH}`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from orchestrator.errors import DcctlError

_REFERENCE = re.compile(r"\$\{(env|file):([^}]+)\}")


def resolve_secrets(properties: Mapping[str, str], subject: str) -> dict[str, str]:
    """The same properties with every reference replaced by what it points to.

    Raises `DcctlError` naming `subject` and the property, never the secret.
    """
    return {key: _resolved(value, f"{subject}.{key}") for key, value in properties.items()}


def _resolved(value: str, subject: str) -> str:
    return _REFERENCE.sub(lambda match: _value(match[1], match[2], subject), value)


def _value(kind: str, name: str, subject: str) -> str:
    if kind == "env":
        if name not in os.environ:
            raise DcctlError(
                subject,
                f"environment variable {name} is not set",
                f"export {name}=… and run the command again",
            )
        return os.environ[name]
    try:
        return Path(name).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise DcctlError(
            subject, f"cannot read the secret file {name}: {error.strerror}", "check the path and its rights"
        ) from None
    except UnicodeDecodeError:
        raise DcctlError(
            subject, f"the secret file {name} is no text in UTF-8", "is it the right file? a secret is text"
        ) from None
