"""The archive of Spark's driver: used when whole, and never the reason that a session does not start."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.adapters.java.class_archive import archive_name, archive_options, whole_archive
from orchestrator.adapters.spark_archive import ensure_spark_class_archive

_SESSION = """
import sys
from pathlib import Path
from orchestrator.adapters.java.runtime import spark_connector_jars
from orchestrator.adapters.spark import spark_session
spark = spark_session(
    "test", master="local[1]", jars=spark_connector_jars(), scratch=Path("a scratch"), class_archive=Path(sys.argv[1])
)
print(spark.range(7).count())
"""


def test_an_archive_that_was_cut_short_is_none(tmp_path: Path) -> None:
    """The JVM would crash on it: its name says how long it was."""
    whole = tmp_path / archive_name("driver", 10)
    whole.write_bytes(b"0123456789")
    assert whole_archive(tmp_path, "driver") == whole
    whole.write_bytes(b"01234")
    assert whole_archive(tmp_path, "driver") is None
    assert archive_options(None) == []
    assert "-XX:+VerifySharedSpaces" in archive_options(whole)


@pytest.fixture(scope="module")
def archive() -> Path:
    made = ensure_spark_class_archive()
    assert made is not None
    return made


def session(archive: Path, folder: Path, program: str = _SESSION) -> subprocess.CompletedProcess[str]:
    """A session with that archive, in a folder as a user's may be."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", program, str(archive)]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.integration
@pytest.mark.parametrize("spoilt", [False, True])
def test_a_session_starts_with_the_archive_and_without(
    archive: Path, tmp_path: Path, *, spoilt: bool
) -> None:
    """Bytes that rotted: the JVM passes the archive over, and leaves nothing in the folder one is in."""
    own = Path(shutil.copy(archive, tmp_path))
    if spoilt:
        own.chmod(0o600)
        with own.open("r+b") as file:
            file.seek(own.stat().st_size // 3)
            file.write(os.urandom(4_000_000))
    done = session(own, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "7\n"
    assert {file.name for file in tmp_path.iterdir()} == {own.name, "a scratch"}


_KILLED = _SESSION.replace(
    "print(",
    """gateway = spark.sparkContext._gateway
print(gateway.jvm.java.lang.System.getProperty("java.io.tmpdir"))
print(""",
)
_KILLED += """
import os
gateway.proc.kill()
gateway.proc.wait()
print(flush=True)
os._exit(0)
"""


@pytest.mark.integration
def test_a_killed_session_leaves_its_temporary_files_in_its_own_folder(archive: Path, tmp_path: Path) -> None:
    """Spark makes a folder there at once, and removes it only where it ends by itself."""
    scratch = tmp_path / "a scratch"
    done = session(archive, tmp_path, _KILLED)
    assert done.stdout.splitlines() == [str(scratch), "7", ""], done.stderr
    assert [path for path in scratch.iterdir() if path.name.startswith("spark-")]
