"""A Maven repository of our own on 127.0.0.1, with the faults that real ones have."""

from __future__ import annotations

import hashlib
import random
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from orchestrator.adapters.java.parts import Part, PartSet


@dataclass
class Repository:
    """What the server holds, how it misbehaves, and what it was asked."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    cut_after: dict[str, int] = field(default_factory=dict)  # bytes; then the connection breaks, once
    answers: list[int] = field(default_factory=list)  # statuses given before anything else
    has_ranges: bool = True
    asked: list[tuple[str, str | None]] = field(default_factory=list)  # path, Range header

    def part(self, name: str, size_bytes: int = 200_000) -> Part:
        """Put a jar there; returns its entry in a list."""
        jar = random.Random(name).randbytes(size_bytes)  # noqa: S311 - the same bytes each time
        part = Part("org.example", name, "1.0", hashlib.sha256(jar).hexdigest(), size_bytes)
        self.files[f"/{part.path}"] = jar
        return part

    def part_set(self, *names: str, size_bytes: int = 200_000) -> PartSet:
        """Put several there."""
        return PartSet("example", tuple(self.part(name, size_bytes) for name in names))


@contextmanager
def serving() -> Iterator[Repository]:
    """A repository that answers until the context ends."""
    served = Repository()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append((self.path, self.headers.get("Range")))
            if served.answers:
                return self._say(served.answers.pop(0))
            jar = served.files.get(self.path)
            if jar is None:
                return self._say(404)
            asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            start = int(asked[1]) if asked and served.has_ranges else 0
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(jar) - 1}/{len(jar)}")
            self.send_header("Content-Length", str(len(jar) - start))
            self.end_headers()
            cut = served.cut_after.pop(self.path, len(jar))
            self.wfile.write(jar[start : start + cut])
            self.close_connection = True
            return None

        def _say(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(
            self,
            format: str,  # noqa: A002 - the parent's name for it
            *args: object,
        ) -> None:
            """Tests keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
