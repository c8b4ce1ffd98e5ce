"""Fetching from a real server: whole, broken off, broken, busy, away; and from none at all afterwards."""

from __future__ import annotations

import socket
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.adapters.java.cache import jar_path, missing_parts
from orchestrator.adapters.java.download import damaged_parts, fetch
from orchestrator.adapters.java.parts import PartSet
from orchestrator.errors import DownloadError
from tests.adapters.java.maven_repository import Repository


def test_everything_arrives_in_the_order_of_the_list(repository: Repository, tmp_path: Path) -> None:
    """A class path has an order."""
    wanted = repository.part_set("b", "a", "c")
    jars = fetch(wanted, tmp_path)
    assert [jar.name for jar in jars] == ["b-1.0.jar", "a-1.0.jar", "c-1.0.jar"]
    assert [jar.read_bytes() for jar in jars] == [repository.files[f"/{p.path}"] for p in wanted.parts]


def test_progress_reaches_the_total_and_never_runs_back(repository: Repository, tmp_path: Path) -> None:
    """What a bar needs."""
    told: list[tuple[str, int, int]] = []
    fetch(repository.part_set("a", "b"), tmp_path, lambda *now: told.append(now))
    assert told[-1] == ("example", 400_000, 400_000)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


def test_a_complete_set_needs_no_network(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offline afterwards: nobody is asked, and no address is even looked at."""
    wanted = repository.part_set("a", "b")
    fetch(wanted, tmp_path)
    monkeypatch.setenv("DCCTL_MAVEN_REPOSITORY", "not an address")
    repository.asked.clear()
    assert len(fetch(wanted, tmp_path)) == 2
    assert repository.asked == []


def test_only_what_is_missing_is_fetched(repository: Repository, tmp_path: Path) -> None:
    """Sets share parts."""
    part_a, part_b = repository.part("a"), repository.part("b")
    fetch(PartSet("one", (part_a,)), tmp_path)
    repository.asked.clear()
    fetch(PartSet("two", (part_a, part_b)), tmp_path)
    assert [path for path, _ in repository.asked] == [f"/{part_b.path}"]


def test_a_broken_connection_is_resumed_where_it_ended(repository: Repository, tmp_path: Path) -> None:
    """Within one call: the second request asks for the rest only."""
    wanted = repository.part_set("a")
    path = f"/{wanted.parts[0].path}"
    repository.cut_after[path] = 70_000
    (jar,) = fetch(wanted, tmp_path)
    assert jar.read_bytes() == repository.files[path]
    assert repository.asked == [(path, None), (path, "bytes=70000-")]


def test_an_interrupted_fetch_is_resumed_by_the_next(repository: Repository, tmp_path: Path) -> None:
    """The `.part` file of an earlier process is not thrown away."""
    wanted = repository.part_set("a")
    path = f"/{wanted.parts[0].path}"
    jar = jar_path(tmp_path, wanted.parts[0])
    jar.parent.mkdir(parents=True)
    jar.with_name(jar.name + ".part").write_bytes(repository.files[path][:150_000])
    fetch(wanted, tmp_path)
    assert jar.read_bytes() == repository.files[path]
    assert repository.asked == [(path, "bytes=150000-")]
    assert [file.name for file in jar.parent.iterdir()] == [jar.name]


def test_a_server_without_ranges_sends_everything_again(repository: Repository, tmp_path: Path) -> None:
    """Nothing is glued together wrongly."""
    repository.has_ranges = False
    wanted = repository.part_set("a")
    path = f"/{wanted.parts[0].path}"
    repository.cut_after[path] = 70_000
    (jar,) = fetch(wanted, tmp_path)
    assert jar.read_bytes() == repository.files[path]


@pytest.mark.parametrize("left_over", [b"x" * 1000, b"x" * 200_000, b"x" * 300_000])
def test_a_broken_left_over_is_thrown_away(repository: Repository, tmp_path: Path, left_over: bytes) -> None:
    """Too short, as long as it should be, too long: the second try starts from nothing."""
    wanted = repository.part_set("a")
    jar = jar_path(tmp_path, wanted.parts[0])
    jar.parent.mkdir(parents=True)
    jar.with_name(jar.name + ".part").write_bytes(left_over)
    fetch(wanted, tmp_path)
    assert jar.read_bytes() == repository.files[f"/{wanted.parts[0].path}"]


def test_a_file_that_stays_broken_is_named_and_removed(repository: Repository, tmp_path: Path) -> None:
    """Which file, what was expected, what came; one retry, and nothing broken is left behind."""
    good = repository.part("a")
    wanted = PartSet("example", (replace(good, sha256="0" * 64),))
    with pytest.raises(DownloadError) as caught:
        fetch(wanted, tmp_path)
    assert caught.value.subject == "a-1.0.jar"
    assert f"expected sha256 {'0' * 64}, got {good.sha256}" in caught.value.problem
    assert len(repository.asked) == 2
    assert not [file for file in (tmp_path / "parts").rglob("*") if file.is_file()]


def test_an_endless_answer_is_cut(repository: Repository, tmp_path: Path) -> None:
    """A proxy's page in place of the jar does not fill the disk: it ends as a wrong checksum."""
    part = repository.part("a", 300_000)
    with pytest.raises(DownloadError, match="not what it should be"):
        fetch(PartSet("example", (replace(part, size_bytes=1000),)), tmp_path)


def test_a_busy_server_is_asked_again(repository: Repository, tmp_path: Path) -> None:
    """503 and 429 pass."""
    repository.answers = [503, 429]
    assert len(fetch(repository.part_set("a"), tmp_path)) == 1
    assert len(repository.asked) == 3


def test_a_part_that_is_not_there_is_named_with_its_address(repository: Repository, tmp_path: Path) -> None:
    """Somebody's own mirror may lack it."""
    wanted = repository.part_set("a")
    repository.files.clear()
    with pytest.raises(
        DownloadError, match=r"a-1\.0\.jar: http://127.*answered 404\n.*DCCTL_MAVEN_REPOSITORY"
    ):
        fetch(wanted, tmp_path)


def test_no_network_at_first_use_says_so_and_keeps_what_there_is(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing listens; the hint says what to do."""
    wanted = repository.part_set("a", "b")
    fetch(PartSet("example", wanted.parts[:1]), tmp_path)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("DCCTL_MAVEN_REPOSITORY", f"http://127.0.0.1:{unused.getsockname()[1]}")
        with pytest.raises(
            DownloadError, match=r"b-1\.0\.jar: could not be fetched.*\n.*connect to the network"
        ):
            fetch(wanted, tmp_path)
    assert missing_parts(tmp_path, wanted.parts) == wanted.parts[1:]


def test_two_at_once_fetch_each_part_once(repository: Repository, tmp_path: Path) -> None:
    """The second waits for the first, and finds everything there."""
    wanted = repository.part_set("a", "b", "c")
    threads = [threading.Thread(target=fetch, args=(wanted, tmp_path)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(repository.asked) == 3
    assert missing_parts(tmp_path, wanted.parts) == ()


def test_a_jar_that_rotted_is_found_and_fetched_anew(repository: Repository, tmp_path: Path) -> None:
    """`dcctl parts fetch --verify`."""
    wanted = repository.part_set("a", "b")
    jars = fetch(wanted, tmp_path)
    jars[0].write_bytes(b"y" * 200_000)
    assert damaged_parts(wanted, tmp_path) == wanted.parts[:1]
    assert fetch(wanted, tmp_path)[0].read_bytes() == repository.files[f"/{wanted.parts[0].path}"]
