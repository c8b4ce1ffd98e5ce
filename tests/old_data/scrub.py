"""What belongs to the machine on which old data was made is replaced by something neutral.

Addresses become ports of loopback at which nobody listens, so that no test ever talks to a server that
happens to be there. Digests that the replacement makes wrong are replaced with it.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping

from orchestrator.runs.plan import canonical_json, digest
from orchestrator.topology.loading import dump_topology, parse_topology
from tests.old_data.samples_file import SampleRecord
from tests.old_data.tree import Node

_SECRET = re.compile(r"\$\{file:[^}]*\}")
SECRET_VARIABLE = "DCCTL_OLD_DATA_SECRET"
_ADDRESS = re.compile(r"(?:127\.0\.0\.1|localhost):\d+")


class Scrub:
    """Replaces words in texts and in nodes. `words`: what is to be replaced -> by what."""

    def __init__(self, words: Mapping[str, str], texts: Iterable[str]) -> None:
        self._words = dict(words)
        addresses = sorted({found for text in texts for found in _ADDRESS.findall(text)})
        self._addresses = {address: f"127.0.0.1:{port}" for port, address in enumerate(addresses, start=1)}
        self._digests: dict[str, str] = {}

    def learn_topology(self, text: str, path: str) -> None:
        """The digest of a topology file, before and after."""
        before, after = (digest(dump_topology(parse_topology(t, path))) for t in (text, self.text(text)))
        self._digests[before] = after

    def learn_bulk(self, nodes: Iterable[Node]) -> None:
        """The digests of what lies in parts, before and after."""
        parts: dict[str, bytes] = defaultdict(bytes)
        for node in sorted(nodes):
            if "-parts/" in node.path:
                parts[node.path.rpartition("-")[0]] += node.value
        for value in parts.values():
            data = json.loads(zlib.decompress(value))
            self._digests[digest(data)] = digest(json.loads(self.text(canonical_json(data))))

    def text(self, text: str) -> str:
        """A text with everything replaced."""
        for before, after in self._words.items():
            text = re.sub(rf"(?<![\w-]){re.escape(before)}(?![\w-])", after, text)
        for before, after in self._digests.items():
            text = text.replace(before, after)
        text = _SECRET.sub(f"${{env:{SECRET_VARIABLE}}}", text)
        return _ADDRESS.sub(lambda found: self._addresses.get(found[0], "127.0.0.1:1"), text)

    def node(self, node: Node) -> Node:
        """A node with everything replaced, in its path too."""
        return Node(self.text(node.path), self._bytes(node.value))

    def sample(self, record: SampleRecord) -> SampleRecord:
        """A record of a samples topic with everything replaced."""
        value = None if record.value is None else self._bytes(record.value)
        return SampleRecord(record.offset, self._bytes(record.key), value)

    def _bytes(self, value: bytes) -> bytes:
        try:
            return zlib.compress(self.text(zlib.decompress(value).decode()).encode())
        except zlib.error:
            return self.text(value.decode()).encode()
