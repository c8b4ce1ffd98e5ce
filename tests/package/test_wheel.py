"""The wheel is the whole product: installed alone, away from the checkout, nothing of it is missing."""

from __future__ import annotations

import json
import shutil
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from orchestrator import __version__
from tests.package.installed import ROOT, Installed, built, installed

EXAMPLES = sorted(path.name for path in (ROOT / "topologies").glob("*.yaml"))
PLAYBOOKS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "playbooks").rglob("*.yml"))
EXAMPLE = "active-passive"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return built(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def base(packages: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """No extra; an example of the package's own lies in the folder in which commands run."""
    made = installed(packages[1], tmp_path_factory.mktemp("installed"))
    made.dcctl("examples", EXAMPLE, "-o", "my.yaml")
    return made


@pytest.fixture(scope="module")
def operator(packages: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return installed(packages[1], tmp_path_factory.mktemp("installed"), "operator")


def test_the_wheel_has_what_lies_beside_the_code(packages: tuple[Path, Path]) -> None:
    """Each playbook and each example once; no test, and nothing at the top beside the one package."""
    with zipfile.ZipFile(packages[1]) as wheel:
        names = [name for name in wheel.namelist() if ".dist-info/" not in name]
    assert {name.partition("/")[0] for name in names} == {"orchestrator"}
    assert sorted(name for name in names if name.endswith(".yml")) == [f"orchestrator/{p}" for p in PLAYBOOKS]
    assert sorted(Path(name).name for name in names if name.endswith(".yaml")) == EXAMPLES
    assert len(PLAYBOOKS) >= 4


def test_the_sdist_has_what_a_wheel_is_made_of(packages: tuple[Path, Path]) -> None:
    """And the licence; the wheel of `packages` was made of it."""
    with tarfile.open(packages[0]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"LICENSE", "CHANGELOG.md", "README.md", "setup.py", "pyproject.toml", *PLAYBOOKS} <= names
    assert not [name for name in names if name.startswith("tests")]


def test_the_metadata_say_licence_and_extras(base: Installed) -> None:
    """As `pip show` and an index read them."""
    said = base.program(
        "import importlib.metadata as m, json; d = m.metadata('dcctl'); print(json.dumps({"
        "'version': d['Version'], 'licence': d['License-Expression'], 'files': d.get_all('License-File'),"
        "'extras': d.get_all('Provides-Extra'), 'type': d['Description-Content-Type']}))"
    )
    assert json.loads(said.stdout) == {
        "version": __version__,
        "licence": "Apache-2.0",
        "files": ["LICENSE"],
        "extras": ["operator", "audit", "all", "dev"],
        "type": "text/markdown",
    }


def test_it_is_the_installed_code_that_runs(base: Installed) -> None:
    """Otherwise the other tests here would say nothing."""
    said = base.program("import orchestrator; print(orchestrator.__file__)")
    assert Path(said.stdout.strip()).is_relative_to(base.folder)
    assert base.dcctl("--version").stdout == f"dcctl {__version__}\n"


@pytest.mark.parametrize(
    "words",
    [
        "validate my.yaml",
        "explain my.yaml --nodes",
        "graph my.yaml -o my.svg",
        "graph my.yaml -o my.dot",
        "graph my.yaml -o my.mmd",
        "graph my.yaml --json",
        "rules",
        "schema",
        "examples",
    ],
)
def test_the_base_answers_all_questions_about_a_file(base: Installed, words: str) -> None:
    """Neither Kafka's client nor Ansible nor Spark is installed."""
    done = base.dcctl(*words.split())
    assert done.returncode == 0, done.stderr
    assert done.stdout or (base.work / words.rsplit(maxsplit=1)[-1]).stat().st_size


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        ("status my.yaml", "operator"),
        ("failover my.yaml --to east --attest-down west", "operator"),
        ("plan my.yaml", "operator"),
        ("watch my.yaml", "operator"),
        ("sim up my.yaml", "operator"),
        ("sim status", "operator"),
        ("drill my.yaml", "operator"),
        ("import --bootstrap west:9092", "operator"),
        ("audit .", "audit"),
    ],
)
def test_what_the_base_cannot_do_names_the_extra(base: Installed, words: str, extra: str) -> None:
    """One sentence, and the command that mends it."""
    done = base.dcctl(*words.split())
    assert done.returncode in (1, 7)
    assert f'pip install "dcctl[{extra}]"' in done.stderr
    assert "Traceback" not in done.stderr


def pure_modules() -> list[str]:
    """Those that know no IO, as the contract of that name lists their packages; and where ledgers are written."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = declared["tool"]["importlinter"]["contracts"]
    (pure,) = [each["source_modules"] for each in contracts if each["name"] == "What is pure knows no IO"]
    files = [path for name in pure for path in (ROOT / name.replace(".", "/")).rglob("*.py")]
    named = [path.relative_to(ROOT).with_suffix("").parts for path in files]
    return [".".join(parts) for parts in named if "live" not in parts] + [
        "orchestrator.evidence.clients.ledger"
    ]


def test_with_the_base_a_package_can_bring_a_kind_or_an_engine_of_its_own(base: Installed) -> None:
    """What is pure needs no extra: what declares applications, takes part in moves, translates positions."""
    names = pure_modules()
    assert "orchestrator.moves.participants" in names
    done = base.program(f"import importlib\nfor name in {names}: importlib.import_module(name)")
    assert done.returncode == 0, done.stderr


_CAN_START = "from orchestrator.adapters.ansible import check_installed; check_installed()"


def test_the_operators_dcctl_can_start_clients(operator: Installed) -> None:
    """Its own playbooks and Ansible are there; Spark is not."""
    done = operator.program(_CAN_START)
    assert done.returncode == 0, done.stderr
    assert 'pip install "dcctl[audit]"' in operator.dcctl("audit", ".").stderr


@pytest.mark.parametrize("missing", ["playbooks/stop-clients.yml", "playbooks/service-managers"])
def test_an_installation_that_is_not_whole_cannot(operator: Installed, missing: str) -> None:
    """It looks in its own folder alone, and says where the file should be."""
    (code,) = operator.folder.glob("lib/python*/site-packages/orchestrator")
    away = operator.work / "away"
    shutil.move(code / missing, away)
    try:
        done = operator.program(_CAN_START)
    finally:
        shutil.move(away, code / missing)
    assert "PlaybookError: playbook " in done.stderr
    assert str(code / missing) in done.stderr
