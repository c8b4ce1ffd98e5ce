"""Makes this clone ready: Java, a virtual environment with the locked packages, the Java parts.

Run by `scripts/setup` with any Python from 3.11 on; the standard library only. Each step is skipped while
what it depends on is as it was; of two runs at the same time the second waits for the first.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMPS = VENV / ".stamps"
LOCK = ROOT / ".make" / "setup.lock"
BOOTSTRAP = ROOT / "requirements-bootstrap.lock"
PACKAGES = ROOT / "requirements.lock"
OWN_PACKAGE = (ROOT / "pyproject.toml", ROOT / "setup.py", ROOT / "orchestrator" / "__init__.py")
JAVA_LISTS = ROOT / "orchestrator" / "adapters" / "java"

NO_NETWORK = "the packages are fetched once: is there a network? Type `make setup` to try again"


class SetupError(Exception):
    """What went wrong, and what to do next. The failed command's own words stand above it."""


def main() -> int:
    """Run every step that is due; returns the exit status."""
    os.chdir(ROOT)
    try:
        with one_at_a_time():
            ensure_java()
            step("venv", [str(base_python()), str(VENV), BOOTSTRAP.read_text()], make_venv)
            step("packages", [PACKAGES.read_text()], install_packages)
            step("own-package", [path.read_text() for path in OWN_PACKAGE], install_own_package)
            compile_own_modules()
            step("java-parts", java_parts_depend_on(), fetch_java_parts)
    except SetupError as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted; the next run goes on from here")
        return 130
    return 0


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Hold the clone's lock; the operating system frees it when this process ends, however it ends."""
    LOCK.parent.mkdir(exist_ok=True)
    with LOCK.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another setup of this clone")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def step(name: str, depends_on: Sequence[str], work: Callable[[], Sequence[Path] | None]) -> None:
    """Do `work` unless it was done for the same dependencies, and every file that it named is still there.

    The stamps lie in `.venv`, so whoever removes that folder removes them.
    """
    digest = hashlib.sha256("\0".join(depends_on).encode()).hexdigest()
    stamp = STAMPS / name
    if stamp.exists():
        done, *made = stamp.read_text().splitlines()
        if done == digest and all(Path(path).exists() for path in made):
            return
        stamp.unlink()
    files = work() or ()
    STAMPS.mkdir(exist_ok=True)
    stamp.write_text("\n".join([digest, *map(str, files)]))


def ensure_java() -> None:
    """Asked every time: the machine's Java is not ours, and may have changed."""
    if run([sys.executable, "-m", "orchestrator.adapters.java.install"]) != 0:
        raise SetupError("no Java to run Kafka and Spark on (see above)")


def make_venv() -> None:
    """The clone's own Python, and uv in it: it installs several times faster than pip, and caches builds."""
    say("making .venv")
    shutil.rmtree(VENV, ignore_errors=True)
    if run([str(base_python()), "-m", "venv", str(VENV)]) != 0:
        package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
        raise SetupError(
            f"{base_python()} cannot make virtual environments\n"
            f"  on Debian and Ubuntu type: sudo apt-get install {package}"
        )
    pip = [str(PYTHON), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    if run([*pip, "install", "--require-hashes", "-r", str(BOOTSTRAP)]) != 0:
        raise SetupError(f"uv could not be installed\n  {NO_NETWORK}")


def install_packages() -> None:
    """Everything in the lock. What a package needs for its own build is locked as well."""
    say("installing the packages (PySpark is built once, which takes a minute)")
    # Each play, guard and client of a simulation is a Python process: bytecode halves the time to start one.
    locked = ["--compile-bytecode", "--require-hashes"]
    locked += ["--build-constraints", str(BOOTSTRAP), "-r", str(PACKAGES)]
    # What uv has cached is right by its hash. Asked with a network, it would build PySpark anew wherever
    # the registry cannot say that nothing changed.
    if run(uv("--offline", *locked), quiet=True, environment=uv_environment()) == 0:
        return
    talk = [] if sys.stderr.isatty() else ["--quiet"]
    if run(uv(*talk, *locked), environment=uv_environment()) != 0:
        raise SetupError(f"the packages could not be installed\n  {NO_NETWORK}")


def install_own_package() -> Sequence[Path]:
    """`dcctl` itself, editable; its build takes nothing but what is installed."""
    if run(uv("--quiet", "--offline", "--no-deps", "--no-build-isolation", "--editable", str(ROOT))) != 0:
        raise SetupError("the package itself could not be installed (see above)")
    return [VENV / "bin" / "dcctl"]


def compile_own_modules() -> None:
    """Where Python is told to write no bytecode, each process would compile all of them anew: 0.5 s to 1.5 s.

    Modules that have not changed are not compiled again, so this is done at every setup.
    """
    if sys.dont_write_bytecode:
        run([str(PYTHON), "-m", "compileall", "-q", "-j", "0", "orchestrator"])


def fetch_java_parts() -> Sequence[Path]:
    """Kafka, ZooKeeper and Spark's connector into the user's cache, and what makes them start fast."""
    say("fetching the Java parts, and preparing quick starts (once)")
    answer = subprocess.run(
        [str(VENV / "bin" / "dcctl"), "parts", "fetch", "--json"], stdout=subprocess.PIPE, check=False
    )
    if answer.returncode != 0:
        raise SetupError("the Java parts are not complete (see above)")
    made = json.loads(answer.stdout)
    return [Path(path) for path in (*made["spark_connector"], *made["archives"])]


def java_parts_depend_on() -> list[str]:
    """The lists, and whatever decides where the cache is and which Java and Kafka are used."""
    lists = [path.read_text() for path in sorted(JAVA_LISTS.glob("*.lock"))]
    variables = ("HOME", "XDG_CACHE_HOME", "JAVA_HOME", "KAFKA_HOME")
    java = shutil.which("java")
    return [
        *lists,
        *(os.environ.get(name, "") for name in variables),
        str(Path(java).resolve()) if java else "",
    ]


def base_python() -> Path:
    """The Python that this one, perhaps the one of `.venv`, was made from."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return Path(sys.base_prefix) / "bin" / version


def uv(*arguments: str) -> list[str]:
    """`uv pip install` into `.venv`."""
    return [str(VENV / "bin" / "uv"), "pip", "install", "--python", str(PYTHON), *arguments]


def uv_environment() -> dict[str, str]:
    """Lets uv follow what the user has told pip about certificates, registries and proxies."""
    answer = subprocess.run(
        [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "config", "list"],
        capture_output=True,
        text=True,
        check=False,
    )
    told = dict(re.findall(r"^[^.\s]+\.([a-z-]+)='(.*)'$", answer.stdout, re.MULTILINE))
    as_uv = {
        "UV_SYSTEM_CERTS": "1",
        "SSL_CERT_FILE": told.get("cert"),
        "UV_DEFAULT_INDEX": told.get("index-url"),
        "UV_INDEX": told.get("extra-index-url"),
        "UV_FIND_LINKS": told.get("find-links"),
        "UV_HTTP_TIMEOUT": told.get("timeout") or told.get("default-timeout"),
        "ALL_PROXY": told.get("proxy"),
    }
    return {name: value for name, value in as_uv.items() if value and name not in os.environ}


def run(command: list[str], *, quiet: bool = False, environment: dict[str, str] | None = None) -> int:
    """Run a command and return its exit status; what it says goes to stderr, or nowhere."""
    output = subprocess.DEVNULL if quiet else sys.stderr.fileno()
    return subprocess.run(
        command,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        check=False,
    ).returncode


def say(text: str) -> None:
    """A line for the user."""
    sys.stderr.write(f"setup: {text}\n")


if __name__ == "__main__":
    sys.exit(main())
