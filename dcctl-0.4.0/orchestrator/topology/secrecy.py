"""Which keys and texts are secret, so that no message ever shows one."""

from __future__ import annotations

import re
from collections.abc import Iterable

_KEY = re.compile(
    r"password|passphrase|passwd|pasword|secret|credential|jaas|token|api[-_.]?key|"
    r"auth\.user\.info|private[-_.]?key|\.key\.pem$|(^|\.)keystore\.key$|access[-_.]?key",
    re.IGNORECASE,
)
# Places and kinds of secrets, which are none themselves.
_HARMLESS = re.compile(
    r"\.(location|path|file|url|uri|endpoint\.url|type|class|algorithm|seconds|ms|name)$|encoder|"
    r"credentials?\.source$",
    re.IGNORECASE,
)
WORKER_REFERENCE = re.compile(r"\$\{[A-Za-z][\w.-]*:[^}]+\}")
"""What a configuration provider of a Connect worker resolves: `${provider:[path:]key}`."""
LOOKS_LIKE_REFERENCE = re.compile(r"\$\{([^}:]*)(:?)[^}]*\}")
"""A reference, or what was meant as one: its kind, and the colon behind it."""
NOT_SHOWN = "(not shown)"
"""What stands in the place of a secret."""
_CREDENTIAL = re.compile(r"(?:password|secret|token)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s;\"']+)", re.IGNORECASE)
_TEXT = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----|(password|secret|token)\s*=\s*\S", re.IGNORECASE)


def is_secret_key(key: str) -> bool:
    """Whether the value of this property is a secret, by the key's name."""
    return bool(_KEY.search(key)) and not _HARMLESS.search(key)


def is_secret_text(text: str) -> bool:
    """Whether a text is, or contains, a secret, whatever its key is called."""
    return bool(_TEXT.search(text))


def is_literal_secret(key: str, value: str, reference: re.Pattern[str]) -> bool:
    """Whether a property's value holds a secret: all of it, or a credential within a longer text (JAAS).

    What `reference` matches only names one.
    """
    credentials = [credential.strip("\"'") for credential in _CREDENTIAL.findall(value)]
    if credentials and not reference.fullmatch(value):
        return not all(reference.fullmatch(credential) for credential in credentials)
    if key.endswith("jaas.config") and value:
        # A login module without credentials of its own (Kerberos), or the whole line by reference.
        return False
    if LOOKS_LIKE_REFERENCE.fullmatch(value):
        return False  # whether it is a good one is another question
    if is_secret_key(key):
        return bool(value)
    return is_secret_text(value)


def masked(key: str, value: str) -> str:
    """A connector's setting without the secret that it may hold.

    What a topology file may say in plain text stays as it is, so that both can be compared.
    """
    return NOT_SHOWN if is_literal_secret(key, value, WORKER_REFERENCE) else value


def hides(path: Iterable[str | int], text: str) -> bool:
    """Whether the value at this path of a file must not be shown: itself secret, or inside a secret."""
    return any(isinstance(part, str) and is_secret_key(part) for part in path) or is_secret_text(text)
