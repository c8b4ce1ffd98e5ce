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
_TEXT = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----|(password|secret|token)\s*=\s*\S", re.IGNORECASE)


def is_secret_key(key: str) -> bool:
    """Whether the value of this property is a secret, by the key's name."""
    return bool(_KEY.search(key)) and not _HARMLESS.search(key)


def is_secret_text(text: str) -> bool:
    """Whether a text is, or contains, a secret, whatever its key is called."""
    return bool(_TEXT.search(text))


def hides(path: Iterable[str | int], text: str) -> bool:
    """Whether the value at this path of a file must not be shown: itself secret, or inside a secret."""
    return any(isinstance(part, str) and is_secret_key(part) for part in path) or is_secret_text(text)
