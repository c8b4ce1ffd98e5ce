"""Brings missing jars into the cache: in parallel, resumable, and nothing unverified ever gets its name."""

from __future__ import annotations

import hashlib
import os
import ssl
import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

import certifi
import httpx
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential
from tenacity.nap import sleep_using_event

from orchestrator.adapters.java.cache import disk_errors, jar_path, missing_parts, only_writer
from orchestrator.adapters.java.parts import Part, PartSet
from orchestrator.adapters.java.progress import OnProgress, silent
from orchestrator.errors import DownloadError

_REPOSITORY_VARIABLE = "DCCTL_MAVEN_REPOSITORY"
_WORKERS = 8
_ATTEMPTS = 4
_TIMEOUT_S = 15.0
_FIRST_PAUSE_S = 0.25
_OTHER_REPOSITORY = (
    f"let {_REPOSITORY_VARIABLE} name another Maven repository, or KAFKA_HOME a Kafka installation"
)


def repository_url() -> str:
    """Base address of the Maven repository, without a slash at the end."""
    named = os.environ.get(_REPOSITORY_VARIABLE)
    if named:
        return named.rstrip("/")
    from jgo.constants import MAVEN_CENTRAL_URL  # noqa: PLC0415 - 0.4 s that only a download has to pay

    return str(MAVEN_CENTRAL_URL).rstrip("/")


def fetch(part_set: PartSet, cache: Path, on_progress: OnProgress = silent) -> tuple[Path, ...]:
    """Paths of all jars of a set, in its order; fetches what is missing, and touches no network otherwise.

    Two at the same time do not clash: the second waits, then finds everything there. Raises
    `DownloadError` for no network, a part that is not there or not what the list says, a full disk and
    missing rights; what was fetched until then is kept, and a later call goes on from there.
    """
    if missing_parts(cache, part_set.parts):
        with only_writer(cache, part_set.name, on_progress):
            missing = missing_parts(cache, part_set.parts)
            if missing:
                _fetch_all(part_set.name, missing, cache, on_progress)
    return tuple(jar_path(cache, part) for part in part_set.parts)


def damaged_parts(part_set: PartSet, cache: Path) -> tuple[Part, ...]:
    """Those jars in the cache that are not what the list says. Removed, so that `fetch` brings
    them anew."""
    damaged = []
    for part in part_set.parts:
        path = jar_path(cache, part)
        if path.exists() and _sha256(path) != part.sha256:
            path.unlink()
            damaged.append(part)
    return tuple(damaged)


class _BrokenOffError(Exception):
    """The connection ended, or the server was busy: worth another attempt."""


@dataclass(slots=True)
class _Meter:
    """Adds up what all threads have fetched."""

    what: str
    total_bytes: int
    on_progress: OnProgress
    done: dict[Part, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def set(self, part: Part, done_bytes: int) -> None:
        with self.lock:
            self.done[part] = done_bytes
            self.on_progress(self.what, sum(self.done.values()), self.total_bytes)


@dataclass(frozen=True, slots=True)
class _Fetcher:
    """What the threads share. Once `stop` is set each gives up and leaves its partial file for next time."""

    client: httpx.Client
    base: str
    cache: Path
    meter: _Meter
    stop: threading.Event

    def fetch_part(self, part: Part) -> None:
        """Bring one jar into the cache, verified."""
        target = jar_path(self.cache, part)
        partial = target.with_name(target.name + ".part")
        got = ""
        with disk_errors(partial, self.meter.total_bytes):
            partial.parent.mkdir(parents=True, exist_ok=True)
            for _ in range(2):  # a broken file is thrown away and fetched once more, from the start
                self._download(part, partial)
                if self.stop.is_set():
                    return
                got = _sha256(partial)
                if got == part.sha256:
                    partial.replace(target)
                    return
                partial.unlink()
        raise DownloadError(
            part.file_name,
            f"what {self.base} sends is not what it should be: expected sha256 {part.sha256}, got {got}",
            f"the broken file was removed; is a proxy in between? Otherwise {_OTHER_REPOSITORY}",
        )

    def _download(self, part: Part, partial: Path) -> None:
        attempts = Retrying(
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_exponential(multiplier=_FIRST_PAUSE_S, max=4),
            retry=retry_if_exception_type((_BrokenOffError, httpx.TransportError)),
            sleep=sleep_using_event(self.stop),
            reraise=True,
        )
        url = f"{self.base}/{part.path}"
        try:
            attempts(self._attempt, url, part, partial)
        except (_BrokenOffError, httpx.HTTPError, httpx.InvalidURL) as error:
            raise DownloadError(
                part.file_name,
                f"could not be fetched from {url}: {error or type(error).__name__}",
                "the Java parts are fetched once, at first use: connect to the network and run the command "
                f"again (what was fetched is kept); otherwise {_OTHER_REPOSITORY}",
            ) from None

    def _attempt(self, url: str, part: Part, partial: Path) -> None:
        done = partial.stat().st_size if partial.exists() else 0
        if done > part.size_bytes:
            partial.unlink()
            done = 0
        self.meter.set(part, done)
        if done == part.size_bytes or self.stop.is_set():
            return
        with self.client.stream("GET", url, headers={"Range": f"bytes={done}-"} if done else {}) as answer:
            if answer.status_code == httpx.codes.TOO_MANY_REQUESTS or answer.is_server_error:
                raise _BrokenOffError(f"the server answered {answer.status_code}")
            if not answer.is_success:
                raise DownloadError(part.file_name, f"{url} answered {answer.status_code}", _OTHER_REPOSITORY)
            resumed = answer.status_code == httpx.codes.PARTIAL_CONTENT
            done = done if resumed else 0  # a server without ranges sends everything again
            with partial.open("ab" if resumed else "wb") as file:
                for chunk in answer.iter_raw():
                    file.write(chunk)
                    done += len(chunk)
                    self.meter.set(part, min(done, part.size_bytes))
                    if self.stop.is_set() or done > part.size_bytes:
                        break
        if done < part.size_bytes and not self.stop.is_set():
            raise _BrokenOffError(f"the connection ended after {done} of {part.size_bytes} bytes")


def _fetch_all(what: str, parts: Sequence[Part], cache: Path, on_progress: OnProgress) -> None:
    meter = _Meter(what, sum(part.size_bytes for part in parts), on_progress)
    stop = threading.Event()
    with (
        _client() as client,
        ThreadPoolExecutor(_WORKERS, thread_name_prefix="fetch") as threads,
    ):
        fetcher = _Fetcher(client, repository_url(), cache, meter, stop)
        largest_first = sorted(parts, key=lambda part: -part.size_bytes)
        jobs = [threads.submit(fetcher.fetch_part, part) for part in largest_first]
        try:
            wait(jobs, return_when=FIRST_EXCEPTION)
        finally:
            stop.set()
            threads.shutdown(cancel_futures=True)
    for job in jobs:
        if not job.cancelled():
            job.result()


def _client() -> httpx.Client:
    # The bundle that httpx would take, and the system's own (SSL_CERT_FILE and SSL_CERT_DIR included): a
    # company's proxy is usually known only to the latter.
    context = ssl.create_default_context(cafile=certifi.where())
    context.load_default_certs()
    return httpx.Client(
        verify=context,
        timeout=_TIMEOUT_S,
        follow_redirects=True,
        limits=httpx.Limits(max_connections=_WORKERS),
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
