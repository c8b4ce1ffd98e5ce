"""The pages against the code, both ways: commands, options, statuses, outcomes, gates, metrics, environment."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from typer.main import get_command

from orchestrator.cli.main import _register_commands, app
from orchestrator.errors import DcctlError
from orchestrator.runs.engine.state import RunOutcome
from orchestrator.topology.loading import load_topology
from orchestrator.watch.metrics import WatchCollector
from orchestrator.watch.within_cluster.gauges import GAUGES
from tests.gates.gate_ids import gates_of
from tests.test_docs import PAGES, ROOT, default_of, meant, shown, table

DOCS = ROOT / "docs"
OPERATING, RUNBOOK = DOCS / "operating.md", DOCS / "runbook.md"

FOREIGN = {
    "kafka-acls.sh": "run by Kafka's own tool in tests/secured/test_operator_rights.py",
    "kafka-topics.sh": "Kafka's own tool, against an estate of one's own",
    "systemctl": "needs a machine that systemd has started; the unit itself is read below",
    "journalctl": "the same",
    "rsync": "copies between two machines of an estate of one's own",
    "curl": "asks Connect of an estate of one's own",
    "python3": "tests/package installs the wheel into empty environments, by pip",
    "uv": "installs the same wheel as pip does",
    "make": "the tests themselves are run by it",
}
"""Shown commands that are not dcctl's, and why no test of these pages runs them."""

# Of others' tools, and of dcctl's programs that are no commands of its own.
FOREIGN_OPTIONS = {"--bootstrap-server", "--command-config", "--operation", "--help", "--create"}
_RUNNERS = re.compile(r"run|must|command|dcctl|_dcctl|asked|ended|killed_at|under_way|start|said|told|invoke")


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def commands() -> Iterator[tuple[str, Any]]:
    """Each command with its whole name, without those that only stand for a group's own name."""
    _register_commands()

    def walk(found: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        default = default_of(found)
        for name, command in getattr(found, "commands", {}).items():
            yield from walk(command, words if name == default else (*words, name))
        if not hasattr(found, "commands"):
            yield " ".join(words), found

    yield from walk(get_command(app), ())


def options(command: Any) -> list[list[str]]:
    """Its options, each with the names by which a page may call it."""
    context = command.make_context(command.name, [], resilient_parsing=True)
    found = (
        [*parameter.opts, *parameter.secondary_opts]
        for parameter in command.get_params(context)
        if parameter.param_type_name == "option"
    )
    return [names for names in found if "--help" not in names]


@cache
def shown_commands() -> frozenset[str]:
    """Names of dcctl's commands in the examples of all pages."""
    lines = (shlex.split(command, comments=True) for page in PAGES for command, _ in shown(page))
    return frozenset(" ".join(meant(words[1:])[0]) for words in lines if words[0] == "dcctl")


@pytest.mark.parametrize(("name", "command"), list(commands()), ids=str)
def test_every_command_is_shown_and_each_of_its_options_named(name: str, command: Any) -> None:
    """The command in an example; an option in any page."""
    assert name in shown_commands()
    everything = "\n".join(text_of(page) for page in PAGES)
    named = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", everything))
    assert [names for names in options(command) if not named.intersection(names)] == []


def test_every_option_that_a_page_names_is_there() -> None:
    """Of a command, or of the guard; the tools of others have theirs in examples alone."""
    known = {name for _, command in commands() for name in _all_names(command)} | FOREIGN_OPTIONS
    guard = text_of(ROOT / "orchestrator" / "guards" / "live" / "boot_guard.py")
    known |= set(re.findall(r'"(--[a-z-]+)"', guard))
    named: dict[str, str] = {}
    for page in (RUNBOOK, OPERATING, DOCS / "by-hand.md", DOCS / "rehearsing.md", DOCS / "gates.md"):
        for option in re.findall(r"(?<![\w-])(--[a-z][a-z-]*)", _prose(page)):
            named.setdefault(option, page.name)
    assert {option: page for option, page in named.items() if option not in known} == {}


def _all_names(command: Any) -> Iterator[str]:
    context = command.make_context(command.name, [], resilient_parsing=True)
    for parameter in command.get_params(context):
        yield from (*parameter.opts, *parameter.secondary_opts)


def _prose(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", text_of(page), flags=re.MULTILINE | re.DOTALL)


def test_what_a_page_shows_of_others_tools_has_a_reason_for_not_being_run() -> None:
    """Or is run elsewhere; nothing is shown that nobody thought of."""
    first = {shlex.split(command, comments=True)[0] for page in PAGES for command, _ in shown(page)}
    assert first - {"dcctl"} == FOREIGN.keys()


# Typed as they stand by tests/drill/test_pages.py and tests/drill/test_step_by_step.py.
_TYPED = (RUNBOOK, OPERATING, DOCS / "by-hand.md")


@cache
def run_in_tests() -> frozenset[tuple[str, ...]]:
    """The first two constant words of whatever tests call a runner with, or write as a list of words."""
    found = {tuple(shlex.split(command, comments=True)[1:3]) for page in _TYPED for command, _ in shown(page)}
    for file in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(text_of(file))):
            if isinstance(node, ast.Call):
                name = (
                    node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                )
                words = [arg for arg in node.args if isinstance(arg, ast.Constant)]
                if _RUNNERS.fullmatch(name):
                    found.add(tuple(str(word.value) for word in words[:2]))
            elif isinstance(node, ast.List | ast.Tuple):
                plain = [item.value for item in node.elts if isinstance(item, ast.Constant)]
                found.add(tuple(str(word) for word in plain[:2]))
    return frozenset(found)


# Run by a simulation itself, in each of its tests.
_BY_SIMULATIONS = {"canary producer", "canary consumer"}


@pytest.mark.parametrize("name", sorted(shown_commands()))
def test_every_command_that_a_page_shows_is_run_by_a_test(name: str) -> None:
    """By whichever; that its words are understood as the page has them is held for each line."""
    words = tuple(name.split())
    assert name in _BY_SIMULATIONS or any(found[: len(words)] == words for found in run_in_tests())


def test_every_status_and_outcome_is_in_the_runbook() -> None:
    """With the next command; none that does not exist."""
    statuses = {int(row[0]) for row in table(RUNBOOK, "## 5. Every ending") if row[0].isdigit()}
    # 130: Ctrl-C, as every shell has it.
    assert statuses == {0, 3, 8, 130} | {error.exit_status for error in _errors()}
    outcomes = {row[0].strip("`") for row in table(RUNBOOK, "A run is called by its id")}
    assert outcomes == {*get_args(RunOutcome), "refused", "declined", "nothing-to-do"}


def _errors() -> Iterator[type[DcctlError]]:
    found = [DcctlError]
    while found:
        error = found.pop()
        yield error
        found += error.__subclasses__()


def test_every_gate_of_a_failover_is_in_the_runbook_in_its_order() -> None:
    """Two of them only where a site is sick; all other verbs have theirs in docs/gates.md."""
    rows = [row[0].strip("`") for row in table(RUNBOOK, "## 3. What a refusal wants")]
    of_a_sick_site = ["source-sick", "fenceable"]
    assert [gate for gate in rows if gate not in of_a_sick_site] == list(gates_of()["failover"])
    assert set(of_a_sick_site) <= set(rows)


def test_every_metric_is_told_with_its_labels() -> None:
    """In the table that alerts are made of; alerts name no metric that there is not."""
    consumers = load_topology(ROOT / "topologies" / "active-passive.yaml").consumers
    gauges = WatchCollector([], consumers)._gauges
    rows = table(OPERATING, "## Metrics")
    told = {row[0].strip("`"): re.findall(r"`(\w+)`", row[1]) for row in rows}
    assert told == {f"dcctl_{name}": list(labels) for name, (_, labels) in gauges.items()}
    rows = table(OPERATING, "### Of one cluster")
    within = {row[0].strip("`"): re.findall(r"`(\w+)`", row[1]) for row in rows}
    assert within == {f"dcctl_{name}": list(labels) for name, (_, labels) in GAUGES.items()}
    told |= within
    named = set(re.findall(r"\bdcctl_[a-z_]+", text_of(OPERATING)))
    assert named == told.keys()


def test_the_alerts_are_rules_for_prometheus() -> None:
    """As its configuration wants them."""
    (block,) = re.findall(r"^```yaml\n(groups:.*?)^```$", text_of(OPERATING), re.MULTILINE | re.DOTALL)
    for group in yaml.safe_load(block)["groups"]:
        for rule in group["rules"]:
            assert rule.keys() == {"alert", "expr", "for"}
            assert re.fullmatch(r"\d+[sm]", rule["for"])


def environment_variables() -> set[str]:
    """All that the code reads of the environment by a name of its own, by its syntax tree."""
    found: set[str] = set()
    for file in (ROOT / "orchestrator").rglob("*.py"):
        tree = ast.parse(text_of(file))
        names = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            asked = _asked(node)
            if isinstance(asked, ast.Constant):
                found.add(str(asked.value))
            elif isinstance(asked, ast.Name) and asked.id in names:
                found.add(str(names[asked.id]))
    return found


def _asked(node: ast.AST) -> ast.expr | None:
    """What an expression asks the environment for, if it does."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        if ast.unparse(node.func.value) in ("os.environ", "environ"):
            return node.args[0]
        if ast.unparse(node.func) == "os.getenv":
            return node.args[0]
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) in ("os.environ", "environ"):
        return node.slice
    if isinstance(node, ast.Compare) and any(ast.unparse(one) == "os.environ" for one in node.comparators):
        return node.left
    return None


def test_every_environment_variable_is_told() -> None:
    """And none that nobody reads. `NAME` stands for what a topology file refers to."""
    rows = table(OPERATING, "## Environment variables")
    told = {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row[0])} - {"NAME"}
    found = environment_variables()
    assert {"DCCTL_STATE_DIR", "DCCTL_MAVEN_REPOSITORY"} <= found
    assert told == found


def test_units_call_what_there_is() -> None:
    """The command of the watcher's unit is understood, and restarts."""
    (unit,) = [block for block in _blocks(OPERATING, "ini") if "dcctl watch" in block]
    (line,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    words = shlex.split(line.replace("%i", "payments"))
    assert Path(words[0]).name == "dcctl"
    path, command, rest = meant(words[1:])
    assert path == ["watch"]
    command.make_context("watch", rest)
    assert "Restart=always" in unit


def _blocks(page: Path, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", text_of(page), re.MULTILINE | re.DOTALL)


def test_the_index_has_every_page() -> None:
    """One line each; README leads to the night first."""
    index = text_of(DOCS / "README.md")
    listed = [row.split("](")[1].split(")")[0] for row in index.splitlines() if row.startswith("| [")]
    pages = {page.name for page in DOCS.glob("*.md")} - {"README.md"}
    assert sorted(listed) == sorted(pages | {"decisions/"})
    first = re.findall(r"\]\((docs/[^)]*)\)", text_of(ROOT / "README.md"))[0]
    assert first == "docs/runbook.md"


@pytest.mark.parametrize(
    "page", [*PAGES, *sorted((DOCS / "decisions").glob("*.md"))], ids=lambda page: page.name
)
def test_every_link_leads_somewhere(page: Path) -> None:
    """Files of the repository, and headings in them."""
    for target in re.findall(r"\]\(([^)\s]+)\)", _prose(page)):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        found = (page.parent / name).resolve() if name else page
        assert found.exists(), target
        if anchor:
            assert anchor in _anchors(found), target


def _anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.*)$", _prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
