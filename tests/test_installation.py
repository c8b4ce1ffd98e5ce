"""What comes with dcctl is found, and a package that is missing is named by the extra that has it."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest

import orchestrator.installation
from orchestrator.errors import DcctlError
from orchestrator.extensions import Extensions
from orchestrator.installation import missing_package, own_folder

ROOT = Path(__file__).parents[1]
# They come with a package that is named: pydantic, Jinja2.
_COME_ALONG = {"pydantic_core", "markupsafe"}


def test_own_folders_are_those_of_the_checkout() -> None:
    """Where dcctl is installed they lie in the package: tests/test_package.py."""
    assert own_folder("playbooks") == ROOT / "playbooks"
    assert own_folder("topologies") == ROOT / "topologies"


def test_a_folder_of_somebody_else_beside_the_package_is_none_of_dcctls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installed without its playbooks, and another package has some: the path says where they should be."""
    (tmp_path / "playbooks").mkdir()
    monkeypatch.setattr(orchestrator.installation, "_CODE", tmp_path / "orchestrator")
    assert own_folder("playbooks") == tmp_path / "orchestrator" / "playbooks"


@pytest.mark.parametrize(
    ("module", "extra"),
    [("kazoo.client", "operator"), ("prometheus_client", "operator"), ("pyspark.sql", "audit")],
)
def test_a_missing_package_is_named_with_its_extra(module: str, extra: str) -> None:
    """As the distribution's own metadata has it."""
    error = missing_package(ModuleNotFoundError(f"No module named '{module}'", name=module))
    assert error is not None
    assert error.hint.endswith(f'pip install "dcctl[{extra}]"')


def test_a_missing_distribution_is_one_as_well() -> None:
    """Whoever asks for the version of PySpark."""
    error = missing_package(PackageNotFoundError("pyspark"))
    assert error is not None
    assert "dcctl[audit]" in error.hint


def test_any_other_module_is_a_bug() -> None:
    """One of dcctl's own, one of the base, one that has no name."""
    for name in ("orchestrator.nowhere", "pydantic", None):
        assert missing_package(ModuleNotFoundError("no module", name=name)) is None


@pytest.mark.parametrize(
    ("words", "missing", "expected"),
    [
        ("history FILE", "kazoo", 1),
        ("drill FILE", "kazoo", 7),  # what was not judged is unknown
        ("report RUN FILE --ledgers .", "pyspark", 7),
        ("import --bootstrap west:9092", "ansible_runner", 1),
    ],
)
def test_a_command_without_its_packages_ends_in_a_sentence(words: str, missing: str, expected: int) -> None:
    """And no traceback; in a process of its own, where it was not imported before."""
    example = str(own_folder("topologies") / "active-passive.yaml")
    program = "import sys; sys.modules[sys.argv[1]] = None; from orchestrator.cli.main import run; sys.exit(run(sys.argv[2:]))"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            program,
            missing,
            *(example if word == "FILE" else word for word in words.split()),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    extra = "audit" if missing == "pyspark" else "operator"
    assert f'pip install "dcctl[{extra}]"' in done.stderr
    assert missing.replace("_", "-") in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == expected


def test_a_brokers_guard_without_its_packages_starts_nothing(tmp_path: Path) -> None:
    """Whoever looks at the unit reads what to install."""
    options = [
        word
        for name in ("file", "cluster", "server", "data", "open", "closed")
        for word in (f"--{name}", "x")
    ]
    program = "import sys; sys.modules['psutil'] = None; from orchestrator.guards.live.boot_guard import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", program, *options, "--", "touch", str(tmp_path / "started"), "{properties}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "nothing was started: Python package psutil: is not installed" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "started").exists()


def test_what_dcctl_itself_declares_is_not_told_to_be_uninstalled() -> None:
    """A part of a kind that is built in needs a package of an extra."""
    known = Extensions(group="dcctl.tests", of=object, built_in={})

    class Missing:
        def __getattr__(self, name: str) -> None:
            raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")

    sys.modules["dcctl_part_missing"] = Missing()  # type: ignore[assignment]
    try:
        with pytest.raises(DcctlError, match=r"dcctl\[audit\]") as caught:
            known.part("spark", "dcctl_part_missing:AUDITED", object)
    finally:
        del sys.modules["dcctl_part_missing"]
    assert "uninstall" not in str(caught.value)


def imported() -> set[str]:
    """Every package outside the standard library that the code imports, whether at once or when needed."""
    found: set[str] = set()
    for path in (ROOT / "orchestrator").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"orchestrator"}


def test_every_package_that_the_code_imports_is_named() -> None:
    """By the base or by an extra, under a name from which the module's follows."""
    base = {line.partition(">")[0].lower() for line in requires("dcctl") or () if "extra ==" not in line}
    assert {"numpy", "pyyaml"} <= base
    unknown = {
        name
        for name in imported() - _COME_ALONG - {"yaml"}
        if name.replace("_", "-") not in base
        and missing_package(ModuleNotFoundError("no module", name=name)) is None
    }
    assert unknown == set()
