"""What needs no cluster answers at once: nothing is imported for it that talks to one, or counts, or draws.

How long it takes is measured by `make bench`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "topologies").glob("*.yaml"))
_SLOW_IMPORTS = {
    "ansible_runner",
    "confluent_kafka",
    "httpx",
    "jinja2",
    "kazoo",
    "networkx",
    "numpy",
    "py4j",
    "pyarrow",
    "pyspark",
}
_PROGRAM = """
import json, sys
from orchestrator.cli.main import run
for file in sys.argv[2:]:
    assert run([sys.argv[1], file]) == 0, file
sys.stderr.write("\\n" + json.dumps(list(sys.modules)))
"""


@pytest.mark.parametrize("command", ["validate", "explain", "graph"])
def test_an_offline_command_imports_nothing_slow(command: str) -> None:
    """Whatever the example has; what plans within a cluster takes arrays along."""
    slow = _SLOW_IMPORTS - ({"numpy"} if command == "explain" else set())
    words = [sys.executable, "-c", _PROGRAM, command, *map(str, EXAMPLES)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert len(EXAMPLES) >= 10
    modules = json.loads(done.stderr.splitlines()[-1])
    assert not {name.partition(".")[0] for name in modules} & slow
