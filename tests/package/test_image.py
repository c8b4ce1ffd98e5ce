"""The image is built and is the whole product, where a Docker engine runs."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator import __version__
from tests.package.installed import ROOT

DOCKERFILE = ROOT / "docker" / "Dockerfile"
IMAGE = "dcctl-test"


def docker(*words: str, timeout_s: float = 60.0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["docker", *words], cwd=ROOT, capture_output=True, text=True, timeout=timeout_s, check=False
    )


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    """Built of this checkout, and removed again."""
    try:
        asked = docker("version", "--format", "{{.Server.Version}}")
    except (OSError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"no Docker engine answers: {error}")
    if asked.returncode != 0:
        pytest.skip(f"no Docker engine answers: {' '.join(asked.stderr.split())}")
    words = ("--file", str(DOCKERFILE), "--target", "dcctl", "--tag", IMAGE, str(ROOT))
    made = docker("build", *words, timeout_s=1700)
    assert made.returncode == 0, made.stderr
    yield IMAGE
    docker("image", "rm", "--force", IMAGE)


@pytest.mark.integration
@pytest.mark.timeout(1800)
def test_the_image_has_the_whole_product(image: str) -> None:
    """It runs as nobody special, has Java, Ansible, its playbooks and the Java parts, and keeps its state."""
    assert docker("run", "--rm", image, "--version").stdout == f"dcctl {__version__}\n"
    assert docker("run", "--rm", "--entrypoint", "id", image, "-un").stdout == "dcctl\n"
    program = (
        "from orchestrator.adapters.ansible import check_installed; check_installed()\n"
        "from orchestrator.adapters.java.detection import find_java; find_java()\n"
        "import pathlib, pyspark; pathlib.Path('/var/lib/dcctl/kept').write_text('')\n"
    )
    done = docker("run", "--rm", "--network", "none", "--entrypoint", "python", image, "-c", program)
    assert done.returncode == 0, done.stderr
    parts = docker("run", "--rm", "--network", "none", image, "parts", "fetch")
    assert parts.returncode == 0, parts.stderr


def copied() -> set[str]:
    """What the Dockerfile takes of this checkout."""
    lines = re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE)
    return {name for line in lines for name in line.split()[:-1]}


def test_the_context_is_what_the_image_is_made_of() -> None:
    """Neither a file too few, nor an environment or old evidence."""
    ignore = Path(f"{DOCKERFILE}.dockerignore").read_text(encoding="utf-8").splitlines()
    assert {line.removeprefix("!") for line in ignore if line.startswith("!")} == copied()
    assert ignore[0] == "*"
    assert [name for name in copied() if not (ROOT / name).exists()] == []


def test_no_registry_is_named() -> None:
    """Where images and packages come from is the builder's own configuration."""
    text = DOCKERFILE.read_text(encoding="utf-8")
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) == {"python:3.11-slim-bookworm"}
    assert re.findall(r"\w+://(?!\$)", text) == []
